"""What a tenant and its organizations may still hold of each quota item, and the refusal of more.

Internal to the app's services.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import BigIntegerField, Sum
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from apps.centre.selectors import quotas_are_kept
from apps.kernel.errors import QuotaExceeded
from apps.kernel.prepared_queries import Param, PreparedValues
from apps.scheduling.models import OrganizationQuota, QuotaHold, QuotaOrganization, TenantQuota
from apps.scheduling.selectors.entitlements.quotas import line_above
from apps.scheduling.states import HoldState, QuotaItem
from apps.scheduling.text.quota_items import item_amounts


@dataclass(slots=True)
class QuotaUsage:
    """Of one item: the limit, what its holders hold in process or use, and of which organization; "": the tenant."""

    limit: int = 0
    used: int = 0
    organization: str = ""

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
        .values("organization_id", "item")
        .annotate(sum=Cast(Sum("amount"), BigIntegerField()))
        .order_by()
    ),
    "organization_id",
    "item",
    "sum",
)
_BOUNDS = PreparedValues(
    lambda: OrganizationQuota.plain.filter(tenant_id=Param("tenant")).order_by(),
    "organization_id",
    "item",
    "total",
)
_TREE = PreparedValues(
    lambda: QuotaOrganization.plain.filter(tenant_id=Param("tenant")).order_by(), "uid", "parent_id", "name"
)


class Rooms(dict[str, QuotaUsage]):
    """By item what the tenant has left; `by_model`: what it may hold of an item on devices of a model (ELA-308);
    `by_organization`: what organizations have left of the items of which they have a quota (PLAT-TEN-18)."""

    def __init__(self, *, are_kept: bool = True) -> None:
        super().__init__()
        self._are_kept = are_kept
        self.by_model: dict[str, dict[str, int]] = {}
        self.by_organization: dict[UUID, dict[str, QuotaUsage]] = {}
        self.above: dict[UUID, UUID | None] = {}

    def short(self, organization: UUID | None, asked: Mapping[str, int]) -> tuple[str, QuotaUsage] | None:
        """The first item of which so much more is not left, and where: in the organization, in one above it, or in
        the tenant. None where the centre keeps no quotas."""
        if not self._are_kept:
            return None
        for item, amount in sorted(asked.items()):
            if amount > 0:
                for usage in self._levels(organization, item):
                    if amount > usage.left:
                        return item, usage
        return None

    def take(self, organization: UUID | None, item: str, more: int) -> None:
        """So much more of it is used, at every level."""
        for usage in self._levels(organization, item):
            usage.used += more

    def _levels(self, organization: UUID | None, item: str) -> Iterator[QuotaUsage]:
        for uid in line_above(organization, self.above):
            if usage := self.by_organization.get(uid, {}).get(item):
                yield usage
        yield self[item]


def quota_rooms(tenant_id: int) -> Rooms:
    """The tenant's rows are locked until the transaction ends: parallel asks and changes are served one by one."""
    rows = _TOTALS.all(tenant=tenant_id)
    sums = _SUMS.all(tenant=tenant_id)
    are_kept = quotas_are_kept()
    rooms, totals = Rooms(are_kept=are_kept), {item: total for item, model, total in rows if not model}
    for item in (*totals, *QuotaItem.values):
        rooms[item] = QuotaUsage(totals.get(item, 0))
    for item, model, total in rows:
        if model and are_kept:
            rooms.by_model.setdefault(model, {})[item] = total
    if bounds := _BOUNDS.all(tenant=tenant_id):
        names: dict[UUID, str] = {}
        for uid, parent_uid, name in _TREE.all(tenant=tenant_id):
            rooms.above[uid], names[uid] = parent_uid, name
        for uid, item, total in bounds:
            rooms.by_organization.setdefault(uid, {})[item] = QuotaUsage(total, organization=names[uid])
    for uid, item, amount in sums:
        rooms.take(uid, item, amount)
    return rooms


def quota_exceeded(tenant: object, item: str, room: QuotaUsage, asked: int) -> QuotaExceeded:
    """The refusal of `asked` more of an item, by the name of the organization or tenant that has too little left."""
    figures = {"limit": room.limit, "used": room.used, "asked": asked}
    named = {"organization": room.organization} if room.organization else {}
    return QuotaExceeded(
        _("%(tenant)s has %(left)s of %(limit)s left of %(item)s (%(used)s used), %(asked)s asked.")
        % {"tenant": room.organization or tenant, **item_amounts(item, left=room.left, **figures)},
        fields={item: _("%(left)s left") % {"left": room.left}, "quota": item, **named, **figures},
    )
