"""The devices of this node, found again and measured in the background.

A driver that hangs or raises costs its own devices their health, never the agent its loop.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from pydantic import ValidationError

from node_agent.drivers.base import Device, DeviceDriver, Measurement, SliceDriver
from node_agent.drivers.registry import sizes_of, supported
from node_agent.protocol.join import DeviceReport

MEASURE_S = 1.0
DISCOVER_S = 3.0
FIRST_WAIT_S = 15.0
WAIT_S = 1.0
SILENT_S = 20.0
_OWN = {"torch_device", "visible_env"}

log = logging.getLogger("weir.agent")


@dataclass(frozen=True, slots=True)
class Found:
    """A device and what it did when last looked at."""

    device: Device
    measured: Measurement


class DriverWatch:
    """One driver's devices. Each look is a thread of its own, never two at once."""

    def __init__(self, vendor: str, driver: DeviceDriver, slicers: Mapping[str, SliceDriver]) -> None:
        self._vendor, self._driver, self._slicers = vendor, driver, slicers
        self._found: tuple[Found, ...] = ()
        self._devices: tuple[Device, ...] = ()
        self._discovered_s = self._began_s = float("-inf")
        self._answered_s = time.monotonic()
        self._thread: threading.Thread | None = None
        self._trouble = ""

    def begin(self) -> None:
        """Start a look, unless one is under way or has just been taken."""
        now_s = time.monotonic()
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy or now_s - self._began_s < (MEASURE_S if self._devices else DISCOVER_S):
            return
        self._began_s = now_s
        self._thread = threading.Thread(target=self._look, name=f"devices-{self._vendor}", daemon=True)
        self._thread.start()

    def found(self, until_s: float) -> tuple[Found, ...]:
        """What is known at the latest at this instant of the monotonic clock."""
        if self._thread is not None:
            self._thread.join(max(until_s - time.monotonic(), 0))
        silent_s = time.monotonic() - self._answered_s
        is_hung = self._thread is not None and self._thread.is_alive() and silent_s > SILENT_S
        if not is_hung and not self._trouble:
            return self._found
        cause = self._trouble or f"has not answered for {silent_s:.0f} s"
        bad = Measurement(health="degraded", health_reason=f"the {self._vendor} driver {cause}"[:500])
        return tuple(replace(item, measured=bad) for item in self._found)

    def _look(self) -> None:
        try:
            self._discover()
            self._found = tuple(Found(item, self._driver.measure(item)) for item in self._devices)
            self._trouble = ""
        except Exception as error:  # an outsider's driver may raise anything
            if str(error) != self._trouble:
                log.error("the %s driver fails: %s", self._vendor, error)
            self._trouble = f"fails: {error}"
        self._answered_s = time.monotonic()

    def _discover(self) -> None:
        now_s = time.monotonic()
        if now_s - self._discovered_s < DISCOVER_S:
            return
        self._devices = tuple(
            replace(
                device,
                slice_drivers=supported(self._slicers, device),
                slice_sizes=sizes_of(self._slicers, device),
            )
            for device in self._driver.discover()
        )
        self._discovered_s = now_s


class Devices:
    """All drivers' devices together."""

    def __init__(self, drivers: Mapping[str, DeviceDriver], slicers: Mapping[str, SliceDriver]) -> None:
        self._watches = [DriverWatch(vendor, driver, slicers) for vendor, driver in drivers.items()]
        self._look(FIRST_WAIT_S)

    def look(self) -> tuple[Found, ...]:
        """Every device with its last measurement; waits a second at most."""
        return self._look(WAIT_S)

    def device(self, uid: str) -> Device | None:
        """A device by its uid, as last found."""
        return next((item.device for item in self.last if item.device.uid == uid), None)

    def _look(self, wait_s: float) -> tuple[Found, ...]:
        for watch in self._watches:
            watch.begin()
        until_s = time.monotonic() + wait_s
        self.last = tuple(item for watch in self._watches for item in watch.found(until_s))
        return self.last


def report_of(found: Found) -> DeviceReport | None:
    """The device as the server is told of it; None, with a line in the log, where it makes no sense."""
    facts = {name: value for name, value in asdict(found.device).items() if name not in _OWN}
    try:
        return DeviceReport.model_validate(facts | asdict(found.measured))
    except ValidationError as error:
        log.error("device %s is left out: %s", found.device.uid, error.errors()[0]["msg"])
        return None
