"""What scheduling tells the apps above it. `schema` is the tenant's; instants are UTC."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class WorkloadSubmitted(Event):
    """It waits, for the first time or again. `no`: what people call it."""

    schema: str
    workload_uid: UUID
    no: str
    priority: int


@dataclass(frozen=True, slots=True)
class WorkloadStarted(Event):
    """All its shares run. `order_uid` is None of work that was submitted directly."""

    schema: str
    workload_uid: UUID
    order_uid: UUID | None
    at: datetime


@dataclass(frozen=True, slots=True)
class WorkloadEnded(Event):
    """None of its shares runs any more, and all their usage has arrived. `started`: whether it ever ran. `outputs`:
    the volume that is to keep what it left."""

    schema: str
    workload_uid: UUID
    order_uid: UUID | None
    at: datetime
    started: bool
    failed: bool
    reason_code: str
    reason: str
    outputs: UUID | None = None


@dataclass(frozen=True, slots=True)
class WorkloadAwaited(Event):
    """It has started or ended, and other work waits for that."""

    workload_uid: UUID


@dataclass(frozen=True, slots=True)
class ArrayFreed(Event):
    """A task of an array has ended or was put aside, or the array is to end: the next ones have their turn."""

    array_pk: int


@dataclass(frozen=True, slots=True)
class WorkloadChanged(Event):
    """Its state, place in the queue or reason changed: pages that show it look again."""

    schema: str
    workload_uid: UUID


@dataclass(frozen=True, slots=True)
class QueueChanged(Event):
    """A queue was made, changed or removed: what waits may be judged otherwise, and pages show it."""

    code: str


@dataclass(frozen=True, slots=True)
class WorkloadsChanged(Event):
    """`WorkloadChanged` of many at once: (tenant's schema, workload)."""

    workloads: tuple[tuple[str, UUID], ...]


@dataclass(frozen=True, slots=True)
class WhatIfAsked(Event):
    """Settings are to be tried on the past."""

    uid: UUID


@dataclass(frozen=True, slots=True)
class WhatIfEnded(Event):
    """It is known what would have been, or why nobody can say."""

    uid: UUID


@dataclass(frozen=True, slots=True)
class WorkloadPreempted(Event):
    """It made room for other work and waits again. `card_seconds`: the work that it lost; `times`: how often it did
    so, this time included."""

    schema: str
    workload_uid: UUID
    user_id: int | None
    at: datetime
    card_seconds: int
    times: int


@dataclass(frozen=True, slots=True)
class ReservationChanged(Event):
    """Something was reserved or given back: pages show it."""

    uid: UUID


@dataclass(frozen=True, slots=True)
class HookSettled(Event):
    """A call of a hook was made, given up, or is to be made again after that: pages show it."""

    uid: UUID


@dataclass(frozen=True, slots=True)
class HookDue(Event):
    """A hook is to be called (ELA-1102)."""

    workload_uid: UUID


@dataclass(frozen=True, slots=True)
class WorkloadSized(Event):
    """A share of elastic work has started, confirmed or ended: an open change of its size may go on (ELA-906)."""

    workload_uid: UUID


@dataclass(frozen=True, slots=True)
class WorkloadsSubmitted(Event):
    """`WorkloadSubmitted` of many at once."""

    schema: str
    count: int


@dataclass(frozen=True, slots=True)
class ResourceTicketAsked(Event):
    """Somebody asks to hold more for a time: it has to be decided on."""

    schema: str
    ticket_uid: UUID


@dataclass(frozen=True, slots=True)
class ResourceTicketWithdrawn(Event):
    """Its applicant takes it back: it is not to be decided on any more."""

    schema: str
    ticket_uid: UUID
