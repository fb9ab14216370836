"""A tenant's workload that is charged, and the use an agent reports of it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

from django.db.models import Sum

from apps.billing.models import Charge, LedgerLeg, LedgerTransaction, RatedItem, UsageRecord
from apps.billing.services.charges import charge_open
from apps.billing.services.ledger import account_deposit
from apps.billing.services.usage import usage_record
from apps.billing.types import CostLabels, Usage, UsageReceipt
from apps.catalog.models import Commodity
from apps.catalog.selectors.prices import quote_get
from apps.kernel.actor import SYSTEM, Actor
from apps.tenancy.models import Tenant
from tests.apps.catalog.market import AMOUNTS, commodity_make
from tests.harness.money import account_funded

AGENT = Actor(kind="agent", name="node-1", node_uid="node-1")
LABELS = CostLabels("Vision", "Research", "Ada")


def charge_make(
    tenant: Tenant, *, count: int = 1, commodity: Commodity | None = None, **labels: Any
) -> Charge:
    """An opened account, and a charge for a new workload that was opened an hour ago."""
    account_funded(tenant)
    commodity = commodity or Commodity.objects.first() or commodity_make()
    quote = quote_get(
        tenant=tenant,
        commodity=commodity,
        amounts=AMOUNTS,
        count=count,
        duration_s=3600,
        at=datetime.now(UTC),
    )
    order = uuid4()
    with patch("django.utils.timezone.now", return_value=datetime.now(UTC) - timedelta(hours=1)):
        return charge_open(
            actor=SYSTEM,
            tenant=tenant,
            order_uid=order,
            order_no=f"O-{order.hex[:6]}",
            workload_uid=uuid4(),
            quote=quote.as_json(),
            labels=replace(LABELS, **labels),
        )


def usage(start: datetime, seconds: float, *, seq: int = 1, slice_uid: str = "s-1", **changes: Any) -> Usage:
    """One report: an interval that begins `start`."""
    figures = {
        "compute_percent": 20,
        "memory_mib": 10240,
        "node_uid": "node-1",
        "device_uid": "dev-1",
        "report_id": f"{slice_uid}/{seq}",
        "cpu_seconds": Decimal("1.5"),
        "memory_peak_mib": 512,
        **changes,
    }
    return Usage(
        slice_uid=slice_uid, seq=seq, start_at=start, end_at=start + timedelta(seconds=seconds), **figures
    )


def intervals(charge: Charge, lengths: Sequence[int], *, slice_uid: str = "") -> list[Usage]:
    """Reports of adjoining intervals, the first a minute after the charge was opened."""
    name = slice_uid or f"s-{charge.workload_uid.hex[:8]}"
    start, reports = charge.opened_at + timedelta(seconds=60), []
    for seq, seconds in enumerate(lengths, start=1):
        reports.append(usage(start, seconds, seq=seq, slice_uid=name))
        start += timedelta(seconds=seconds)
    return reports


def record(charge: Charge, lengths: Sequence[int], *, slice_uid: str = "") -> UsageReceipt:
    """Record adjoining intervals. Lengths add up to 3500 s at most, else they end in the future."""
    reports = intervals(charge, lengths, slice_uid=slice_uid)
    receipt = usage_record(actor=AGENT, workload_uid=charge.workload_uid, reports=reports)
    assert not receipt.refused
    return receipt


def deposit(tenant: Tenant, amount: str, reference: str = "") -> LedgerTransaction:
    return account_deposit(
        actor=SYSTEM, tenant=tenant, amount=Decimal(amount), reference=reference or uuid4().hex
    )


def books_balance() -> bool:
    """Every transaction and the whole ledger sum to zero, and each rated item is on the ledger once."""
    sums = LedgerLeg.objects.values("transaction").annotate(sum=Sum("amount")).values_list("sum", flat=True)
    accrued = LedgerLeg.objects.filter(transaction__kind="rate", amount__gt=0).aggregate(sum=Sum("amount"))[
        "sum"
    ]
    rated = RatedItem.objects.aggregate(sum=Sum("exact"))["sum"]
    return not any(sums) and (accrued or 0) == (rated or 0)


def rated_once() -> bool:
    """Every usage record is rated: once, with one item per component and one transaction."""
    records = UsageRecord.plain.count()
    return (
        not UsageRecord.plain.filter(rated_at__isnull=True).exists()
        and RatedItem.objects.count() == records * len(AMOUNTS)
        and LedgerTransaction.objects.filter(kind="rate").count() == records
    )


def unknown() -> UUID:
    return uuid4()
