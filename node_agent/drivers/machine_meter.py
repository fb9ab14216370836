"""The machine's own CPU, measured: use, memory, heat and power (POOL-6f)."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil

from node_agent.drivers.base import Measurement
from node_agent.protocol.fields import PowerSource

CORE_IDLE_W, CORE_PEAK_W = 1.5, 8.0
"""What a core of a server draws idle and at full load, where the machine does not measure it."""
POWERCAP = Path("/sys/class/powercap")
_MIB = 1024 * 1024
_HOT_C = 100.0
_FRESH_S = 0.5


class CpuMeter:
    """One look serves all devices that are parts of this CPU. Safe to use from several threads."""

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._guard = threading.Lock()
        self._rapl = Rapl(powercap)
        self._cores = psutil.cpu_count() or 1
        self._times = _times()
        self._percent = 0.0
        self._read_s = float("-inf")
        self._last = Measurement()

    def measure(self, cores: int) -> Measurement:
        """The machine now; power is the part of so many of its cores."""
        with self._guard:
            if time.monotonic() - self._read_s > _FRESH_S:
                self._last, self._read_s = self._read(), time.monotonic()
            power_w = (self._last.power_w or 0.0) * min(cores, self._cores) / self._cores
            return replace(self._last, power_w=round(power_w, 2))

    def measure_all(self) -> Measurement:
        """The whole machine."""
        return self.measure(self._cores)

    def _read(self) -> Measurement:
        busy_s, all_s = _times()
        passed_s = all_s - self._times[1]
        if passed_s > 0:
            self._percent = min(max(100 * (busy_s - self._times[0]) / passed_s, 0.0), 100.0)
            self._times = (busy_s, all_s)
        temperature_c = _temperature_c()
        is_hot = temperature_c is not None and temperature_c >= _HOT_C
        power_w, source = self._power()
        return Measurement(
            utilisation_percent=round(self._percent, 1),
            memory_used_mib=psutil.virtual_memory().used // _MIB,
            temperature_c=temperature_c,
            power_w=power_w,
            power_source=source,
            health="degraded" if is_hot else "ok",
            health_reason=f"the CPU is at {temperature_c} °C; look at its cooling" if is_hot else "",
        )

    def _power(self) -> tuple[float, PowerSource]:
        measured_w = self._rapl.watts(time.monotonic())
        if measured_w is not None:
            return measured_w, "measured"
        return modelled_w(self._percent, self._cores), "modelled"


def modelled_w(utilisation_percent: float, cores: int) -> float:
    """Watts of so many cores at this use, between idle and peak."""
    return cores * (CORE_IDLE_W + (CORE_PEAK_W - CORE_IDLE_W) * utilisation_percent / 100)


class Rapl:
    """The processors' own energy counters, where this user may read them; they wrap around."""

    def __init__(self, root: Path) -> None:
        self._zones = sorted(root.glob("intel-rapl:[0-9]*")) if root.is_dir() else []
        self._zones = [zone for zone in self._zones if zone.name.count(":") == 1]
        self._last: tuple[float, list[int]] | None = None

    def watts(self, now_s: float) -> float | None:
        """Watts since the last call; None where nothing is readable, or at the first call."""
        try:
            joules_e6 = [int((zone / "energy_uj").read_text()) for zone in self._zones]
        except (OSError, ValueError):
            joules_e6 = []
        last, self._last = self._last, (now_s, joules_e6)
        if not joules_e6 or last is None or len(last[1]) != len(joules_e6) or now_s <= last[0]:
            return None
        used = sum(
            (now - before) if now >= before else (now + self._range(zone) - before)
            for zone, before, now in zip(self._zones, last[1], joules_e6, strict=True)
        )
        return used / 1e6 / (now_s - last[0])

    def _range(self, zone: Path) -> int:
        try:
            return int((zone / "max_energy_range_uj").read_text())
        except (OSError, ValueError):
            return 2**32


def _times() -> tuple[float, float]:
    """Busy and all CPU seconds of the machine since boot."""
    times = psutil.cpu_times()
    idle_s = times.idle + getattr(times, "iowait", 0.0)
    all_s = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return all_s - idle_s, all_s


def _temperature_c() -> float | None:
    readings = [reading.current for group in psutil.sensors_temperatures().values() for reading in group]
    sane = [reading for reading in readings if 0 < reading < 200]
    return max(sane) if sane else None
