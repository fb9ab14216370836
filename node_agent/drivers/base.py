"""The three things a driver can be. One class may be several of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from node_agent.held import Held
from node_agent.protocol.fields import Health
from node_agent.protocol.slices import DesiredSlice, LogChunk, UsageReport


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator as found. `uid` is stable across restarts; `simulated` where a driver pretends."""

    uid: str
    index: int
    vendor: str
    model: str
    memory_mib: int
    cores: int
    driver_version: str
    simulated: bool = False
    slice_drivers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a device does now; None where the device does not tell."""

    utilisation_percent: float | None = None
    memory_used_mib: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    health: Health = "ok"
    health_reason: str = ""


class DriverError(Exception):
    """A driver cannot do what it was asked; the text says the cause and the cure."""


class DeviceDriver(Protocol):
    """Finds accelerators of one vendor and measures them."""

    def discover(self) -> tuple[Device, ...]:
        """The devices of this machine; none where there is no such hardware. Never raises."""
        ...

    def measure(self, device: Device) -> Measurement:
        """Use and health now; a device that does not answer is measured as failed. Never raises."""
        ...


class SliceDriver(Protocol):
    """Makes, resizes and removes a share of a device. All may be repeated; all raise DriverError."""

    def make(self, wanted: DesiredSlice, device: Device) -> None:
        """Set the share up, ready for its work."""
        ...

    def resize(self, slice_uid: str, generation: int, compute_percent: int, memory_mib: int) -> None:
        """Change the share and memory of a running slice."""
        ...

    def remove(self, slice_uid: str) -> None:
        """Delete all that is kept of a finished slice."""
        ...


class RuntimeDriver(Protocol):
    """Starts and stops work, and lists what runs: the only truth about it, also after a restart."""

    def start(self, slice_uid: str) -> None:
        """Start the work of a slice made before; at most one ever runs. Raises DriverError."""
        ...

    def stop(self, slice_uid: str, generation: int) -> None:
        """Ask the work to end, within its grace. Raises DriverError."""
        ...

    def list(self) -> tuple[Held, ...]:
        """Every slice of this node, finished ones too until they are removed. Never raises."""
        ...

    def usage(self, slice_uid: str, after_seq: int, limit: int) -> tuple[UsageReport, ...]:
        """Vouched intervals past the acknowledged one."""
        ...

    def log(self, slice_uid: str, offset: int) -> LogChunk | None:
        """Output from a byte offset, or None where there is no more."""
        ...
