"""From usage to cost. One batch is one transaction: it happened whole, or it never did (ELA-1910)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils import timezone

from apps.billing.events import UsageRated
from apps.billing.locks import ledger_accounts
from apps.billing.models import (
    Charge,
    ChargeResize,
    LedgerAccount,
    LedgerLeg,
    LedgerTransaction,
    RatedItem,
    UsageRecord,
)
from apps.billing.services.funds import holds_draw
from apps.catalog.models import PriceLine
from apps.catalog.pricing.price import Line, cost, quantity_of, unit_amount
from apps.catalog.selectors.prices import price_lines, pricing_line
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.money import ZERO, exact
from apps.kernel.service import service
from apps.tenancy.models import Tenant

Kind = LedgerAccount.Kind


@dataclass(frozen=True, slots=True)
class Tariff:
    """One component of a charge as it is rated: the frozen quote's amount at the frozen price version."""

    row: PriceLine
    line: Line
    quantity: Decimal
    unit_amount: Decimal

    def cost(self, share_seconds: int) -> Decimal:
        """CNY to ten places for so many seconds of one share."""
        return exact(cost(self.line, self.unit_amount, share_seconds))


@service(recorded=False)
def usage_rate(*, actor: Actor, limit: int = 500) -> int:
    """Rate at most `limit` usage records that wait; how many were.

    Any number may run at once: rows another one holds are skipped, and so is use of a charge whose funds another one
    draws. Killed anywhere, nothing of the batch remains and the next one takes it. The ledger's key per record refuses
    a second rating.
    """
    rows = UsageRecord.plain.filter(rated_at__isnull=True, charge__funds__isnull=False).order_by("pk")
    rows = rows.select_related("charge__funds", "tenant")
    batch = list(rows.select_for_update(skip_locked=True, no_key=True, of=("self", "charge__funds"))[:limit])
    usage_rated(batch, actor=actor)
    return len(batch)


def usage_rated(batch: Sequence[UsageRecord], *, actor: Actor) -> None:
    """Rate locked, unrated records inside the caller's transaction.

    Each record is one slice, hence one share: the shares of a workload add up through their slices.
    """
    tariffs = _Tariffs()
    ledgers = {tenant: ledger_accounts(tenant) for tenant in {usage.tenant for usage in batch}}
    posted: list[LedgerTransaction] = []
    items: list[RatedItem] = []
    for usage in batch:
        own = [_item(usage, tariff) for tariff in tariffs.of(usage)]
        if sum((item.exact for item in own), ZERO):
            posted.append(_transaction(usage))
            for item in own:
                item.transaction = posted[-1]
        items += own
    LedgerTransaction.objects.bulk_create(posted)
    RatedItem.objects.bulk_create(items)
    LedgerLeg.objects.bulk_create(_legs(items, ledgers))
    holds_draw(items)
    UsageRecord.plain.filter(pk__in=[usage.pk for usage in batch]).update(rated_at=timezone.now())
    for tenant in ledgers:
        workloads = {str(usage.workload_uid) for usage in batch if usage.tenant_id == tenant.pk}
        emit(UsageRated(tenant.schema_name, tuple(sorted(workloads))), actor=actor)


class _Tariffs:
    """Tariffs by charge, each read and computed once in a batch."""

    def __init__(self) -> None:
        self._prices: dict[int | None, dict[str, PriceLine]] = {}
        self._amounts: dict[int, list[dict[str, int]]] = {}
        self._tariffs: dict[tuple[object, ...], list[Tariff]] = {}

    def of(self, usage: UsageRecord) -> list[Tariff]:
        charge = usage.charge
        if charge.pk not in self._amounts:
            self._amounts[charge.pk] = amounts_list(charge)
        amounts = metered_amounts(usage, self._amounts[charge.pk])
        key = (charge.pk, *sorted(amounts.items()))
        if amounts and key not in self._tariffs:
            version = charge.price_version_id
            rows = self._prices.setdefault(version, price_lines(version))
            self._tariffs[key] = [tariff_of(rows[code], amount) for code, amount in amounts.items()]
        return self._tariffs.get(key, [])


# The components that can be resized, and what a usage report says was held of them.
HELD = {"compute_share": "compute_percent", "gpu_memory": "memory_mib", "storage": "storage_gib"}


def amounts_list(charge: Charge) -> list[dict[str, int]]:
    """The amounts of a charge, newest first."""
    resizes = ChargeResize.objects.filter(charge=charge).order_by("-pk")
    return [*resizes.values_list("amounts", flat=True), charge.amounts]


def metered_amounts(usage: UsageRecord, known: Sequence[dict[str, int]]) -> dict[str, int]:
    """Those of the known amounts that the report says were held; the newest where it names none of them."""
    for amounts in known:
        if all(amounts[code] == getattr(usage, name) for code, name in HELD.items() if code in amounts):
            return amounts
    return known[0]


def tariff_of(row: PriceLine, amount: int) -> Tariff:
    line = pricing_line(row)
    return tariff_at(row, quantity_of(line, amount))


def tariff_at(row: PriceLine, quantity: Decimal) -> Tariff:
    line = pricing_line(row)
    return Tariff(row, line, quantity, unit_amount(line, quantity))


def _item(usage: UsageRecord, tariff: Tariff) -> RatedItem:
    return RatedItem(
        usage=usage,
        charge=usage.charge,
        price_line=tariff.row,
        component=tariff.line.component,
        quantity=tariff.quantity,
        unit_amount=exact(tariff.unit_amount),
        seconds=usage.seconds,
        exact=tariff.cost(usage.seconds),
    )


def _transaction(usage: UsageRecord) -> LedgerTransaction:
    return LedgerTransaction(
        idempotency_key=f"rate:{usage.uid}",
        tenant=usage.tenant,
        kind=LedgerTransaction.Kind.RATE,
        reference=f"usage:{usage.uid}",
    )


def _legs(items: Iterable[RatedItem], ledgers: dict[Tenant, dict[str, LedgerAccount]]) -> list[LedgerLeg]:
    totals: dict[LedgerTransaction, Decimal] = {}
    for item in items:
        if item.transaction is not None:
            totals[item.transaction] = totals.get(item.transaction, ZERO) + item.exact
    return [
        LedgerLeg(transaction=posted, account=ledgers[posted.tenant][kind], amount=amount)
        for posted, total in totals.items()
        for kind, amount in ((Kind.ACCRUED, total), (Kind.REVENUE, -total))
    ]
