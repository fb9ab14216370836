from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class VolumeChanged(Event):
    """A volume was deleted or has another size, or so much in it was deleted that what it holds is to be measured."""

    schema: str
    uid: str


@dataclass(frozen=True, slots=True)
class OrderedVolumeEnded(Event):
    """A volume that an order delivered is written no more: the order has ended."""

    schema: str
    volume_uid: UUID
    order_uid: UUID
    at: datetime
    reason_code: str
    reason: str


@dataclass(frozen=True, slots=True)
class OutputsChanged(Event):
    """The outputs of work are kept, wait for room, or are lost: pages that show it look again."""

    schema: str
    workload_uid: UUID
