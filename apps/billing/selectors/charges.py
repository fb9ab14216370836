"""Reads: what is charged for running work, and the usage that it is charged by."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from uuid import UUID

from django.db.models import Max, OuterRef, QuerySet, Subquery, Sum

from apps.billing.models import (
    Charge,
    ChargeResize,
    RatedItem,
    UsageRecord,
)
from apps.billing.states import ChargeState
from apps.catalog.pricing.price import SECONDS, PriceUnit, price
from apps.catalog.selectors.ids import Id, uid_of
from apps.catalog.selectors.prices import price_lines, pricing_line
from apps.kernel.errors import NotFound
from apps.kernel.money import ZERO, MoneyField
from apps.tenancy.models import Tenant

_MONEY = MoneyField()


def usage_last(slice_uid: str) -> tuple[datetime | None, int]:
    """Until when the use of one slice, or one volume, is recorded, and by which number; None and 0 before the first."""
    last = UsageRecord.plain.filter(slice_uid=slice_uid).aggregate(until=Max("end_at"), seq=Max("seq"))
    return last["until"], last["seq"] or 0


def usage_rated_until(slice_uids: Iterable[str]) -> dict[str, datetime]:
    """Until when the use of each of these slices is rated; those without any are left out."""
    rows = UsageRecord.plain.filter(slice_uid__in=list(slice_uids), rated_at__isnull=False).order_by()
    return dict(rows.values_list("slice_uid").annotate(at=Max("end_at")))


def charge_prices(workload_uids: Iterable[UUID]) -> dict[UUID, int]:
    """What one share of each workload costs by its charge and the amounts it has now, in millionths of CNY an hour.
    One statement, and one more for each price that was not asked for before."""
    newest = ChargeResize.objects.filter(charge=OuterRef("pk")).order_by("-pk").values("amounts")[:1]
    rows = Charge.plain.filter(workload_uid__in=list(workload_uids))
    found = rows.values_list("workload_uid", "price_version_id", "amounts", Subquery(newest))
    return {
        uid: int(hourly_cost(version, resized or amounts) * 1_000_000)
        for uid, version, amounts, resized in found
    }


def hourly_cost(price_version_id: int, amounts: Mapping[str, int]) -> Decimal:
    """What one share of these amounts costs an hour, exactly."""
    return _hourly_cost(price_version_id, tuple(sorted(amounts.items())))


# Prices once published are never changed.
@lru_cache(maxsize=4096)
def _hourly_cost(price_version_id: int, amounts: tuple[tuple[str, int], ...]) -> Decimal:
    lines = [pricing_line(row) for row in price_lines(price_version_id).values()]
    return price(lines, dict(amounts), 1, SECONDS[PriceUnit.HOUR]).total


def charge_get(*, tenant: Tenant, workload_uid: Id) -> Charge:
    """The charge of a workload; NotFound for another tenant's."""
    row = (
        Charge.objects.of(tenant)
        .select_related("price_version")
        .filter(workload_uid=uid_of(workload_uid))
        .first()
    )
    if row is None:
        raise NotFound()
    return row


def charge_amounts(*, tenant: Tenant, workload_uid: Id) -> tuple[dict[str, int], int]:
    """What a workload is charged as: the amounts of a share by component, and how many shares; nothing without one."""
    row = Charge.objects.of(tenant).filter(workload_uid=uid_of(workload_uid)).first()
    return (dict(row.amounts), row.count) if row else ({}, 0)


def usages_of(workload_uids: Iterable[UUID]) -> dict[UUID, list[UsageRecord]]:
    """What was metered of these workloads, whose tenants do not matter, by workload and oldest first."""
    found: dict[UUID, list[UsageRecord]] = {}
    for record in UsageRecord.plain.filter(workload_uid__in=list(workload_uids)).order_by("start_at", "pk"):
        found.setdefault(record.workload_uid, []).append(record)
    return found


def usage_list(*, tenant: Tenant, workload_uid: Id | None = None) -> QuerySet[UsageRecord]:
    """Usage records, newest first, each with `exact` (None until it is rated: ELA-1809)."""
    rated = RatedItem.objects.filter(usage=OuterRef("pk")).order_by().values("usage")
    rows = UsageRecord.objects.of(tenant)
    if workload_uid is not None:
        rows = rows.filter(workload_uid=uid_of(workload_uid))
    sums = Subquery(rated.annotate(sum=Sum("exact")).values("sum"), output_field=_MONEY)
    return rows.annotate(exact=sums).order_by("-start_at", "-pk")


def job_charges_open() -> QuerySet[Charge, str]:
    """The jobs over centres with a charge that is still open, in no order."""
    rows = Charge.plain.filter(state=ChargeState.OPEN).exclude(job_id="").order_by()
    return rows.values_list("job_id", flat=True)


def slice_cost(slice_uid: str) -> tuple[Decimal, int]:
    """What the rated use of one slice, or of one attempt of a job's replica, came to: exact CNY, and its seconds."""
    sums = RatedItem.objects.filter(usage__slice_uid=slice_uid).aggregate(
        exact=Sum("exact"), seconds=Sum("seconds")
    )
    return sums["exact"] or ZERO, sums["seconds"] or 0
