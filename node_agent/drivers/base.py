"""The three things a driver can be: of devices, of slices, of what runs in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from node_agent.images.store import ImageStore
from node_agent.protocol.fields import Health, PowerSource
from node_agent.protocol.metrics import MetricBatch
from node_agent.protocol.slices import DesiredSession, DesiredSize, DesiredSlice, LogChunk, UsageReport
from node_agent.slice_state import LocalSlice
from node_agent.web.service_place import ServicePlace
from node_agent.web.work_socket import WorkSocket
from node_agent.work_container import Container
from node_agent.work_folders import WorkFolders


@dataclass(frozen=True, slots=True)
class SliceSize:
    """A size in which a card gives its shares, where it gives no others: so many of it when all are of this size.
    `name` is what its vendor calls it, "" for nothing."""

    compute_percent: int
    memory_mib: int
    count: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator as found. `uid` is stable across restarts; `simulated` where a driver pretends.

    `torch_device` is how PyTorch calls it when it is the only one that `visible_env` lets a process see.
    """

    uid: str
    index: int
    vendor: str
    model: str
    memory_mib: int
    cores: int
    driver_version: str
    simulated: bool = False
    slice_drivers: tuple[str, ...] = ()
    slice_sizes: tuple[SliceSize, ...] = ()
    apis: Mapping[str, str] = field(default_factory=dict)
    numa_node: int | None = None
    is_verified: bool = True
    torch_device: str = "cpu"
    visible_env: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_card(self) -> bool:
        """Whether it is a real accelerator of its own, not the CPU or what pretends on it."""
        return self.vendor != "cpu" and not self.simulated


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a device does now; None where the device does not tell."""

    utilisation_percent: float | None = None
    memory_used_mib: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_source: PowerSource = ""
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


@dataclass(frozen=True, slots=True)
class Setting:
    """What a slice driver sets for one slice.

    `env` goes into the work's environment and cannot be overridden. `is_throttled`: the shim holds compute
    by stopping and continuing the work. Who enforces a limit: "" is the shim with what the device tells it.
    `metered_uid` is what the work is measured by, where that is not the whole device. `paths` are what of the node it
    must see for that.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    is_throttled: bool = True
    memory_enforced_by: str = ""
    compute_enforced_by: str = ""
    metered_uid: str = ""
    paths: tuple[str, ...] = ()


class SliceDriver(Protocol):
    """One way of cutting a device into shares. `kinds` are the works it serves: programs, sessions."""

    kinds: frozenset[str]
    is_verified: bool

    def refusal(self, device: Device) -> str:
        """Why this device cannot be cut this way here; empty: it can. Never raises, returns at once."""
        ...

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        """Set the share up, ready for its work; may be repeated. Raises DriverError."""
        ...

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        """Change the share while its work runs. Raises DriverError, and then nothing has changed."""
        ...

    def remove(self, slice_uid: str) -> None:
        """Undo what `make` set up, of a finished slice or one that never ran. Raises DriverError."""
        ...


@runtime_checkable
class SizedSliceDriver(SliceDriver, Protocol):
    """A way of cutting that knows a few sizes only."""

    def sizes(self, device: Device) -> tuple[SliceSize, ...]:
        """The sizes of a device that it can cut. Never raises."""
        ...


class RuntimeDriver(Protocol):
    """Starts and stops work, and lists what runs: the only truth about it, also after a restart.

    `folders` are the work folders of this node; `library` is what their users may import of us.
    """

    folders: WorkFolders
    library: Path

    @property
    def images(self) -> ImageStore:
        """The images of this node."""
        ...

    def images_used(self) -> frozenset[str]:
        """The digests of the images that work of this node runs in. For any thread."""
        ...

    def folder_owner(self, key: str) -> int | None:
        """The user whose work folder this is, or is to be; None: the agent's own."""
        ...

    def folder_remove(self, key: str) -> None:
        """Delete a work folder. Raises OSError."""
        ...

    def make(self, wanted: DesiredSlice, device: Device) -> None:
        """Set the slice up, ready for its work; one already there is left as it is. Raises DriverError."""
        ...

    def resize(
        self,
        slice_uid: str,
        generation: int,
        compute_percent: int,
        memory_mib: int,
        session: DesiredSession | None,
        size: DesiredSize | None = None,
        run_timeout_s: int | None = None,
    ) -> None:
        """Change share, memory, session, size and, unless None, the run time of a running slice. Raises
        DriverError."""
        ...

    def remove(self, slice_uid: str) -> None:
        """Delete all that is kept of a finished slice. Raises DriverError."""
        ...

    def start(self, slice_uid: str) -> None:
        """Start the work of a slice made before; at most one ever runs. Raises DriverError."""
        ...

    def stop(self, slice_uid: str, generation: int, *, saves: bool = False) -> None:
        """Ask the work to end, within its grace; with `saves` to save itself first. Raises DriverError."""
        ...

    def list(self) -> tuple[LocalSlice, ...]:
        """Every slice of this node, finished ones too until they are removed. Never raises."""
        ...

    @property
    def is_reachable(self) -> bool:
        """Whether there is work here that people may reach: its web pages, or a terminal beside it."""
        ...

    def web_socket(self, slice_uid: str) -> WorkSocket | ServicePlace | None:
        """Where the work of a slice serves its web pages; None where it serves none, or has ended. For any thread."""
        ...

    def container(self, slice_uid: str) -> Container | None:
        """The container that the work of a slice runs in; None where it runs in none, or has ended. For any thread."""
        ...

    def executions(self, slice_uid: str) -> Path | None:
        """Where the keeper of a slice's work is asked to run something beside it; None where nothing is, or the work
        has ended. For any thread."""
        ...

    def usage(self, slice_uid: str, after_seq: int, limit: int) -> tuple[UsageReport, ...]:
        """Vouched intervals past the acknowledged one."""
        ...

    def log(self, slice_uid: str, offset: int) -> LogChunk | None:
        """Output from a byte offset, or None where there is no more."""
        ...

    def metrics(self, slice_uid: str) -> MetricBatch | None:
        """What its work has written of itself and the server does not have, the oldest of it; None: nothing."""
        ...

    def metrics_drop(self, slice_uid: str, seq: int) -> None:
        """The server has the batches up to this one."""
        ...
