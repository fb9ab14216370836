"""Reads: what was spent, by day, by whom and by what."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import F, Max, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Coalesce, TruncDate

from apps.billing.models import (
    LedgerAccount,
    RatedItem,
)
from apps.billing.permissions import charges_reached
from apps.billing.types import CostRow
from apps.catalog.selectors.ids import Id, uid_of
from apps.centre.selectors import centre_zone
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.errors import InvalidInput
from apps.kernel.money import ZERO, MoneyField
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list

_MONEY = MoneyField()


# By dimension: the columns that tell its values apart, and the two that name them (PLAT-OPS-38, -53).
DIMENSIONS = {
    "supplier": ("charge__supplier", "charge__supplier", "charge__supplier"),
    "tenant": ("charge__tenant__schema_name", "charge__tenant__name", "charge__tenant__name"),
    "organization": ("charge__organization_uid", "charge__organization", "charge__organization"),
    "business_system": ("charge__business_system_uid", "charge__business_system", "charge__business_system"),
    "resource_type": ("component", "price_line__component__name_zh", "price_line__component__name_en"),
    "person": ("charge__user__uid", "charge__person", "charge__person"),
    "commodity": ("charge__commodity_number", "charge__commodity_name_zh", "charge__commodity_name_en"),
    "workload": ("charge__workload_uid", "charge__order_no", "charge__order_no"),
}

_WHILE_CLOSING = timedelta(days=1)


def with_own_books() -> QuerySet[Tenant]:
    """The tenants whose money is not the centre's: a test's."""
    own = LedgerAccount.objects.filter(kind=LedgerAccount.Kind.REVENUE, tenant__isnull=False)
    return tenant_list().filter(pk__in=own.values("tenant"))


def _items(
    actor: Actor, tenant: Tenant | None, since: datetime | None, until: datetime | None
) -> QuerySet[RatedItem]:
    wanted = charges_reached(actor)
    wanted &= ~Q(charge__tenant__in=with_own_books()) if tenant is None else Q(charge__tenant=tenant)
    if since is not None:
        wanted &= Q(usage__end_at__gt=since)
        # A charge that was closed before has no use in it, but for what was counted while it closed: without this the
        # whole of the past is read for any day of it.
        wanted &= Q(charge__closed_at=None) | Q(charge__closed_at__gt=since - _WHILE_CLOSING)
    if until is not None:
        wanted &= Q(usage__end_at__lte=until)
    return RatedItem.objects.filter(wanted).order_by()


def cost_total(
    *, actor: Actor, tenant: Tenant | None, since: datetime | None = None, until: datetime | None = None
) -> Decimal:
    """Exact CNY of rated use that the actor reaches and whose interval ended in (since, until]."""
    return _items(actor, tenant, since, until).aggregate(sum=Sum("exact"))["sum"] or ZERO


def own_cost_total(*, actor: Actor, tenant: Tenant, since: datetime) -> Decimal:
    """Exact CNY of rated use since then of what the actor asked for: his own, whatever else he reaches."""
    items = _items(SYSTEM, tenant, since, None).filter(charge__user_id=actor.user_id or 0)
    return items.aggregate(sum=Sum("exact"))["sum"] or ZERO


def cost_by(
    *,
    actor: Actor,
    tenant: Tenant | None,
    dimension: str,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[CostRow]:
    """Rated use that the actor reaches by one of `DIMENSIONS`, the highest first; each adds up to the same total
    (PLAT-OPS-38).

    It is told apart by identifiers, and called what it was called last: another name makes no other row, and two of one
    name stay two. What was charged without an identifier is told apart by its name. `tenant` None sums over all
    tenants but those with books of their own: for operators only.
    """
    if dimension not in DIMENSIONS:
        raise InvalidInput(fields={"dimension": ", ".join(DIMENSIONS)})
    key, label_zh, label_en = DIMENSIONS[dimension]
    known = Coalesce(Cast(F(key), TextField()), Cast(F(label_zh), TextField()))
    groups = _items(actor, tenant, since, until).values(key=known, zh=F(label_zh), en=F(label_en))
    groups = groups.annotate(
        sum=Sum("exact"), share_seconds=Sum("seconds"), named_at=Max("charge__opened_at")
    ).order_by("-named_at")
    found: dict[str, CostRow] = {}
    for group in groups:
        newest = found.get(group["key"]) or CostRow(group["key"], group["zh"], group["en"], ZERO, 0)
        found[newest.key] = replace(
            newest,
            exact=newest.exact + group["sum"],
            share_seconds=newest.share_seconds + group["share_seconds"],
        )
    return sorted(found.values(), key=lambda row: (-row.exact, row.key))


def cost_by_day(
    *, actor: Actor, tenant: Tenant | None, since: datetime | None = None, until: datetime | None = None
) -> list[dict[str, Any]]:
    """`[{day, exact}]` in the tenant's zone, oldest first: the cost trend (PLAT-OPS-54).

    `tenant` None sums over all tenants, in the centre's zone: for operators only.
    """
    zone = ZoneInfo(tenant.timezone) if tenant else centre_zone()
    day = TruncDate("usage__end_at", tzinfo=zone)
    groups = _items(actor, tenant, since, until).annotate(day=day).values("day")
    return [
        {"day": group["day"], "exact": group["sum"]}
        for group in groups.annotate(sum=Sum("exact")).order_by("day")
    ]


def workload_cost(*, tenant: Tenant, workload_uid: Id) -> Decimal:
    """Exact CNY rated so far for one workload."""
    items = _items(SYSTEM, tenant, None, None).filter(charge__workload_uid=uid_of(workload_uid))
    return items.aggregate(sum=Sum("exact"))["sum"] or ZERO


def workloads_cost(*, tenant: Tenant, uids: Iterable[UUID]) -> Decimal:
    """Exact CNY rated so far for several workloads of a tenant, all together."""
    items = _items(SYSTEM, tenant, None, None).filter(charge__workload_uid__in=list(uids))
    return items.aggregate(sum=Sum("exact"))["sum"] or ZERO


def workload_costs(uids: Iterable[UUID]) -> dict[UUID, Decimal]:
    """Exact CNY rated so far for each of these workloads of any tenant; the operators' side only."""
    rows = RatedItem.objects.filter(charge__workload_uid__in=list(uids)).order_by()
    sums = rows.values_list("charge__workload_uid").annotate(sum=Sum("exact"))
    return {uid: sum_ for uid, sum_ in sums if uid is not None}


def tenants_costs(*, tenants: Iterable[Tenant], since: datetime) -> dict[int, Decimal]:
    """Exact CNY of each tenant's rated use whose interval ended after `since`, by the tenant's key; nothing of one that
    used nothing. For operators only."""
    charged = Q(charge__closed_at=None) | Q(charge__closed_at__gt=since - _WHILE_CLOSING)
    rows = RatedItem.objects.filter(charged, charge__tenant__in=list(tenants), usage__end_at__gt=since)
    return dict(rows.order_by().values_list("charge__tenant").annotate(sum=Sum("exact")))
