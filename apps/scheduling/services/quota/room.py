"""What a tenant may still hold of each quota item, and the refusal of more.

Internal to the app's services.
"""

from dataclasses import dataclass

from django.db.models import BigIntegerField, Sum
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from apps.kernel.errors import QuotaExceeded
from apps.kernel.prepared_queries import Param, PreparedValues
from apps.scheduling.models import QuotaHold, TenantQuota
from apps.scheduling.states import HoldState, QuotaItem
from apps.scheduling.text.quota_items import item_amounts


@dataclass(slots=True)
class QuotaUsage:
    """Of one item: the tenant's limit, and what its holders hold in process or use."""

    limit: int = 0
    used: int = 0

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


_TOTALS = PreparedValues(
    lambda: TenantQuota.plain.select_for_update().filter(tenant_id=Param("tenant")).order_by("item", "model"),
    "item",
    "model",
    "total",
)
_COUNTED = (HoldState.IN_PROCESS, HoldState.USED)
_SUMS = PreparedValues(
    lambda: (
        QuotaHold.plain.filter(tenant_id=Param("tenant"), state__in=_COUNTED)
        .values("item")
        .annotate(sum=Cast(Sum("amount"), BigIntegerField()))
        .order_by()
    ),
    "item",
    "sum",
)


class Rooms(dict[str, QuotaUsage]):
    """By item what the tenant has left; `by_model`: what it may hold of an item on devices of a model (ELA-308)."""

    def __init__(self) -> None:
        super().__init__()
        self.by_model: dict[str, dict[str, int]] = {}


def quota_rooms(tenant_id: int) -> Rooms:
    """Each row locked until the transaction ends: parallel asks are served one after the other."""
    rows = _TOTALS.all(tenant=tenant_id)
    sums: dict[str, int] = dict(_SUMS.all(tenant=tenant_id))
    rooms, totals = Rooms(), {item: total for item, model, total in rows if not model}
    for item in (*totals, *QuotaItem.values):
        rooms[item] = QuotaUsage(totals.get(item, 0), sums.get(item, 0))
    for item, model, total in rows:
        if model:
            rooms.by_model.setdefault(model, {})[item] = total
    return rooms


def quota_exceeded(tenant: object, item: str, room: QuotaUsage, asked: int) -> QuotaExceeded:
    """The refusal of `asked` more of an item."""
    figures = {"limit": room.limit, "used": room.used, "asked": asked}
    return QuotaExceeded(
        _("%(tenant)s has %(left)s of %(limit)s left of %(item)s (%(used)s used), %(asked)s asked.")
        % {"tenant": tenant, **item_amounts(item, left=room.left, **figures)},
        fields={item: _("%(left)s left") % {"left": room.left}, "quota": item, **figures},
    )
