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
    """A node has left the pool with its devices, after its last slice; told whether it was silent or not."""

    node_uid: str
    device_uids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeDoubled(Event):
    """Two agent processes speak with one node's credential: the later one is heard, the other refused. `is_over`:
    the other has not been heard for a while."""

    node_uid: str
    name: str
    is_over: bool


@dataclass(frozen=True, slots=True)
class NodeClockOff(Event):
    """A node's clock is off by so much that its times are corrected by it; 0: it is right again."""

    node_uid: str
    name: str
    offset_s: int


@dataclass(frozen=True, slots=True)
class NodeMeasured(Event):
    """What a node draws, every few seconds. `power_source`: measured or modelled."""

    node_uid: str
    at: datetime
    power_w: float
    power_source: str


@dataclass(frozen=True, slots=True)
class NodeSaid(Event):
    """One line of a component's log on a node, each told once (POOL-12.18).

    `slice_uid`, `workload_uid` and `tenant` (schema) are empty where the line is about no slice.
    """

    node_uid: str
    node: str
    at: datetime
    level: str
    component: str
    slice_uid: str
    text: str
    workload_uid: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class DeviceFound(Event):
    """A device came into the pool: with its node, or because its node found it (POOL-12.25)."""

    device_uid: str
    node_uid: str
    node: str


@dataclass(frozen=True, slots=True)
class DeviceMissing(Event):
    """A node says nothing of a device any more: it takes no new slices, and leaves when it stays away."""

    device_uid: str
    node: str


@dataclass(frozen=True, slots=True)
class DeviceReturned(Event):
    """A missing device is reported again."""

    device_uid: str
    node: str


@dataclass(frozen=True, slots=True)
class DeviceLeft(Event):
    """A device is out of the pool, after its last slice. `by_operator`: not because it was missing."""

    device_uid: str
    node: str
    by_operator: bool


@dataclass(frozen=True, slots=True)
class DeviceMeasured(Event):
    """A device was measured, at most every few seconds. None: unknown. `power_source`: measured or modelled."""

    device_uid: str
    node_uid: str
    at: datetime
    utilisation_percent: float | None
    memory_used_mib: int | None
    temperature_c: float | None
    power_w: float | None
    power_source: str


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
class SliceResized(Event):
    """A running slice holds another share of its device now (POOL-12.2)."""

    slice_uid: str
    workload_uid: str
    compute_percent: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class SliceShrunk(Event):
    """What a slice gave up is free now: its node has taken it away from the work, or the work has ended."""

    slice_uid: str
    workload_uid: str


@dataclass(frozen=True, slots=True)
class SliceSaved(Event):
    """The work of a slice has said that it was saved: it can go on from there (ELA-810)."""

    slice_uid: str
    workload_uid: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SliceSized(Event):
    """The work of a slice has confirmed the size that it was told last (ELA-906)."""

    slice_uid: str
    workload_uid: str


@dataclass(frozen=True, slots=True)
class SliceMoveBegun(Event):
    """A session is to move: `target_uid` is the slice made for it, which holds its share from now on."""

    workload_uid: str
    source_uid: str
    target_uid: str
    device_uid: str


@dataclass(frozen=True, slots=True)
class SliceMoved(Event):
    """A session runs on its target now; the source is being stopped, its `SliceEnded` follows."""

    workload_uid: str
    source_uid: str
    target_uid: str
    pause_ms: float | None


@dataclass(frozen=True, slots=True)
class SliceMoveFailed(Event):
    """A session stays where it is; the target's `SliceEnded` follows."""

    workload_uid: str
    source_uid: str
    target_uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class SliceLost(Event):
    """A slice is given up with its node, before its `SliceEnded`. `requeue`: its owner wants it tried again.

    Should the node come back it is told to stop what it still runs; nothing of that is billed.
    """

    slice_uid: str
    workload_uid: str
    node_uid: str
    requeue: bool


@dataclass(frozen=True, slots=True)
class SliceEnded(Event):
    """A slice has ended and all usage it will ever vouch for was passed on: nothing more follows.

    `goes_on`: the share lives on in another slice (it moved, or this was the target of a move that failed):
    its allocation ends, its workload does not. `requeue`: it was lost and is to be tried again.
    """

    slice_uid: str
    workload_uid: str
    at: datetime
    failed: bool
    reason_code: str
    reason: str
    goes_on: bool = False
    requeue: bool = False


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
class MetricsGrew(Event):
    """A workload has written more of itself."""

    workload_uid: str


@dataclass(frozen=True, slots=True)
class ServiceObserved(Event):
    """The health of a service has changed, or it was started again."""

    workload_uid: str


@dataclass(frozen=True, slots=True)
class SliceMeasured(Event):
    """A running slice was measured (at most every few seconds): percent of the device, MiB; None: unknown."""

    workload_uid: str
    slice_uid: str
    at: datetime
    delivered_percent: float | None
    memory_used_mib: int | None


@dataclass(frozen=True, slots=True)
class GroupMade(Event):
    """There is a resource group: work for it needs a queue (PLAT-AICFG-23)."""

    code: str
    name_en: str
    name_zh: str


@dataclass(frozen=True, slots=True)
class GroupRemoved(Event):
    """A resource group ends, and with it its queue."""

    code: str


@dataclass(frozen=True, slots=True)
class OutputsSettled(Event):
    """What a share of work that is over has left is here, or never will be. `schema` is the tenant's."""

    schema: str
    workload_uid: str


@dataclass(frozen=True, slots=True)
class ContainerSaveSettled(Event):
    """What work has changed over its image is here, or never will be."""

    uid: str


@dataclass(frozen=True, slots=True)
class FolderMoved(Event):
    """How far the folder of a share is on its way from `node` to the one where its work goes on: it `waits` for that,
    was `brought`, or was `left` there and the work has begun in an empty one. `given_up` and `problem` say why:
    `lost` with its node, `silent` for too long, `refused` by its node in these words."""

    workload_uid: str
    share: int
    step: str
    node: str
    size_bytes: int
    given_up: str
    problem: str
