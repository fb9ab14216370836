"""The machine's own CPU, offered as accelerators: real work, without a card."""

from __future__ import annotations

import hashlib
import json
import platform
import socket
from pathlib import Path

import psutil

from node_agent.config import AgentSettings, CpuPlan
from node_agent.drivers.base import Device, Measurement
from node_agent.drivers.machine_meter import CpuMeter

_MIB = 1024 * 1024
_MEMORY_SHARE_PERCENT = 50
_DEVICES = 64


class CpuDriver:
    """Splits the CPU as the settings say. Devices share the machine's measurements.

    `devices_file` (JSON: count, memory_mib, cores) overrides the plan and is read again at every
    discovery, so that a card is added by an edit; a file that makes no sense leaves the last plan.
    """

    def __init__(self, settings: AgentSettings) -> None:
        self._plan, self._file = settings.devices, settings.devices_file
        self._name = settings.name
        self._memory_mib = psutil.virtual_memory().total // _MIB
        self._meter = CpuMeter()

    def discover(self) -> tuple[Device, ...]:
        self._plan = (_plan_read(self._file) if self._file else None) or self._plan
        return tuple(self._device(index) for index in range(self._plan.count))

    def _device(self, index: int) -> Device:
        count = max(self._plan.count, 1)
        share_mib = self._memory_mib * _MEMORY_SHARE_PERCENT // 100 // count
        return Device(
            uid=device_uid("cpu", self._name, index),
            index=index,
            vendor="cpu",
            model=_model(),
            memory_mib=self._plan.memory_mib or max(share_mib, 1),
            cores=self._plan.cores or max((psutil.cpu_count() or 1) // count, 1),
            driver_version=platform.release()[:64],
            apis={"cpu": platform.machine() or "CPU"},
        )

    def measure(self, device: Device) -> Measurement:
        return self._meter.measure(device.cores)


def device_uid(vendor: str, name: str, index: int) -> str:
    """Stable across restarts, different on every node."""
    digest = hashlib.sha256(f"{_machine_id()}/{name}/{index}".encode()).hexdigest()
    return f"{vendor}-{digest[:24]}"


def _plan_read(path: Path) -> CpuPlan | None:
    try:
        told = json.loads(path.read_text())
        numbers = [told["count"], told.get("cores", 0), told.get("memory_mib", 0)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    is_sane = all(type(number) is int and 0 <= number < 10**9 for number in numbers)
    return CpuPlan(*numbers) if is_sane and numbers[0] <= _DEVICES else None


def _machine_id() -> str:
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(path).read_text().strip() or socket.gethostname()
        except OSError:
            continue
    return socket.gethostname()


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine() or "CPU"
