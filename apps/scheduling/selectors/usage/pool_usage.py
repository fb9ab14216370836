"""One pool's figures: a resource group's devices, what is given out and kept of them (ELA-311)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from apps.fleet.models import Device
from apps.fleet.selectors import device_list, group_get
from apps.scheduling.models import Queue, Reservation

MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class PoolQueue:
    """A queue that the pool serves, with its bounds in percent of devices; None is no bound."""

    code: str
    max_percent: int | None
    guaranteed_percent: int


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """In percent of devices. Of devices out of service nothing counts in the total, but what is held on them does."""

    code: str
    name_en: str
    name_zh: str
    kind: str
    devices: int
    total_percent: int
    allocated_percent: int
    reserved_percent: int
    queues: tuple[PoolQueue, ...]

    @property
    def available_percent(self) -> int:
        return max(0, self.total_percent - self.allocated_percent - self.reserved_percent)

    @property
    def utilisation_percent(self) -> int:
        """Allocated of total, rounded; 0 of nothing."""
        return round(100 * self.allocated_percent / self.total_percent) if self.total_percent else 0


def pool_figures(code: str) -> PoolFigures:
    """The pool's figures now. Raises NoSuchGroup."""
    group, now = group_get(code), timezone.now()
    cards = list(device_list().filter(group=group))
    rows = Queue.objects.filter(resource_group=code, retired_at=None).order_by("code")
    return PoolFigures(
        code=group.code,
        name_en=group.name_en,
        name_zh=group.name_zh,
        kind=_kind(cards),
        devices=len(cards),
        total_percent=sum(card.room_percent for card in cards if card.is_open),
        allocated_percent=sum(_allocated_percent(card) for card in cards),
        reserved_percent=_reserved(code, [card for card in cards if card.is_open], now),
        queues=tuple(PoolQueue(q.code, q.max_compute_percent, q.guaranteed_compute_percent) for q in rows),
    )


def _kind(cards: Collection[Device]) -> str:
    """The one vendor of its devices, or that there are several."""
    vendors = {card.vendor for card in cards}
    return vendors.pop() if len(vendors) == 1 else MIXED if vendors else ""


def _allocated_percent(card: Device) -> int:
    return card.room_percent if card.whole_held else card.held_percent


def _reserved(code: str, cards: Collection[Device], now: datetime) -> int:
    """What is kept now and not given out yet: of named devices all that is free, else so much for the pool's queues."""
    rows = Reservation.objects.filter(cancelled_at=None, from_at__lte=now, to_at__gt=now).select_related(
        "queue"
    )
    free = {card.uid: card.room_percent - _allocated_percent(card) for card in cards}
    named = {uid for row in rows for uid in row.device_uids if uid in free}
    for_queues = [row for row in rows if row.queue is not None and row.queue.resource_group == code]
    counted = sum(row.count * row.compute_percent for row in for_queues if not row.device_uids)
    left = sum(percent for uid, percent in free.items() if uid not in named)
    return sum(free[uid] for uid in named) + min(counted, left)
