"""What nodes and slices did. All uids are text."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class NodeJoined(Event):
    node_uid: str
    name: str


@dataclass(frozen=True, slots=True)
class NodeLost(Event):
    """Nobody has heard of the node for a while: nothing is vouched for until it is back."""

    node_uid: str
    name: str


@dataclass(frozen=True, slots=True)
class NodeReturned(Event):
    node_uid: str
    name: str


@dataclass(frozen=True, slots=True)
class NodeChanged(Event):
    """Drained, resumed, removed, or a device of it enabled, disabled, ill or well again."""

    node_uid: str


@dataclass(frozen=True, slots=True)
class DeviceMismatch(Event):
    """A device reports another memory than is known of it (MiB)."""

    device_uid: str
    node_uid: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class SliceStarting(Event):
    slice_uid: str
    workload_uid: str


@dataclass(frozen=True, slots=True)
class SliceStarted(Event):
    slice_uid: str
    workload_uid: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SliceEnded(Event):
    """`failed`: the work did not end as it was meant to."""

    slice_uid: str
    workload_uid: str
    at: datetime
    failed: bool
    reason_code: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsageObserved(Event):
    """Vouched intervals of one slice, contiguous and new: each is told exactly once."""

    workload_uid: str
    slice_uid: str
    node_uid: str
    device_uid: str
    reports: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class LogGrew(Event):
    workload_uid: str
    schema: str


@dataclass(frozen=True, slots=True)
class SliceMeasured(Event):
    """The figures of a running slice changed."""

    workload_uid: str
    schema: str
