"""What happens in the fleet. Uids are text, instants aware datetimes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class NodeLost(Event):
    """Nothing was heard from a node for `WEIR_NODE_LOST_AFTER_S`: what it runs is unvouched from here on."""

    node_uid: str
    name: str


@dataclass(frozen=True, slots=True)
class NodeReturned(Event):
    node_uid: str
    name: str


@dataclass(frozen=True, slots=True)
class NodeRemoved(Event):
    node_uid: str


@dataclass(frozen=True, slots=True)
class DeviceMismatch(Event):
    """A device reports another memory than it joined with: the old figure stays until an operator accepts it."""

    device_uid: str
    node: str
    old_mib: int
    new_mib: int


@dataclass(frozen=True, slots=True)
class DeviceAccepted(Event):
    """An operator has taken the memory that a device reports for true."""

    device_uid: str


@dataclass(frozen=True, slots=True)
class SliceStarted(Event):
    slice_uid: str
    workload_uid: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SliceEnded(Event):
    """A slice has ended and all usage it will ever vouch for was passed on: nothing more follows."""

    slice_uid: str
    workload_uid: str
    at: datetime
    failed: bool
    reason_code: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsageObserved(Event):
    """New vouched intervals of one slice, in order, each told once.

    Each of `reports` has seq, start_at, end_at, compute_percent, memory_mib, cpu_seconds, memory_peak_mib, final.
    """

    workload_uid: str
    slice_uid: str
    node_uid: str
    device_uid: str
    report_id: str
    reports: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class UsageDoubted(Event):
    """An interval that cannot be true: it is counted on the slice, never passed on, never billed."""

    workload_uid: str
    slice_uid: str
    node_uid: str
    seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class LogGrew(Event):
    workload_uid: str


@dataclass(frozen=True, slots=True)
class SliceMeasured(Event):
    """A running slice was measured (at most every few seconds): percent of the device, MiB; None: unknown."""

    workload_uid: str
    slice_uid: str
    at: datetime
    delivered_percent: float | None
    memory_used_mib: int | None
