"""What a tenant may still hold of each quota item, and the refusal of more.

Internal to the app's services.
"""

from dataclasses import dataclass

from django.db.models import Sum
from django.utils.translation import gettext as _

from apps.kernel.errors import QuotaExceeded
from apps.kernel.queries import Given, Kept
from apps.scheduling.item_words import item_amounts
from apps.scheduling.models import QuotaHold, TenantQuota
from apps.scheduling.states import HoldState, QuotaItem


@dataclass(slots=True)
class QuotaRoom:
    """Of one item: the tenant's limit, and what its holders hold in process or use."""

    limit: int = 0
    used: int = 0

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


_TOTALS = Kept(
    lambda: (
        TenantQuota.plain.select_for_update()
        .filter(tenant_id=Given("tenant"))
        .order_by("item", "model")
        .values_list("item", "model", "total")
    )
)
_COUNTED = (HoldState.IN_PROCESS, HoldState.USED)
_SUMS = Kept(
    lambda: (
        QuotaHold.plain.filter(tenant_id=Given("tenant"), state__in=_COUNTED)
        .values_list("item")
        .annotate(sum=Sum("amount"))
        .order_by()
    )
)


class Rooms(dict[str, QuotaRoom]):
    """By item what the tenant has left; `by_model`: what it may hold of an item on devices of a model (ELA-308)."""

    def __init__(self) -> None:
        super().__init__()
        self.by_model: dict[str, dict[str, int]] = {}


def quota_rooms(tenant_id: int) -> Rooms:
    """Each row locked until the transaction ends: parallel asks are served one after the other."""
    rows, sums = _TOTALS.all(tenant=tenant_id), dict(_SUMS.all(tenant=tenant_id))
    rooms, totals = Rooms(), {item: total for item, model, total in rows if not model}
    for item in (*totals, *QuotaItem.values):
        rooms[item] = QuotaRoom(totals.get(item, 0), sums.get(item, 0))
    for item, model, total in rows:
        if model:
            rooms.by_model.setdefault(model, {})[item] = total
    return rooms


def quota_exceeded(tenant: object, item: str, room: QuotaRoom, asked: int) -> QuotaExceeded:
    """The refusal of `asked` more of an item."""
    figures = {"limit": room.limit, "used": room.used, "asked": asked}
    return QuotaExceeded(
        _("%(tenant)s has %(left)s of %(limit)s left of %(item)s (%(used)s used), %(asked)s asked.")
        % {"tenant": tenant, **item_amounts(item, left=room.left, **figures)},
        fields={item: _("%(left)s left") % {"left": room.left}, "quota": item, **figures},
    )
