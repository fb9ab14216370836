"""Reads: bills and their lines."""

from datetime import datetime
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum

from apps.billing.models import (
    Bill,
    BillLine,
    LedgerAccount,
    LedgerLeg,
    LedgerTransaction,
    RatedItem,
    UsageRecord,
)
from apps.billing.selectors.costs import with_own_books
from apps.catalog.selectors.ids import Id, uid_of
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.kernel.money import ZERO
from apps.kernel.reach import Records
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list


def bill_corrected(bill: Bill) -> Decimal:
    """What was given back of a paid bill."""
    legs = LedgerLeg.objects.filter(
        account__kind=LedgerAccount.Kind.REVENUE,
        transaction__kind=LedgerTransaction.Kind.CORRECTION,
        transaction__tenant=bill.tenant,
        transaction__reference=bill.no,
    )
    return legs.aggregate(sum=Sum("amount"))["sum"] or ZERO


def bill_list(*, actor: Actor, tenant: Tenant | None = None, state: str = "") -> QuerySet[Bill]:
    """Bills, newest first: of the actor's tenant; to an operator outside tenants all, or `tenant`'s."""
    rows = _bills(actor).select_related("tenant", "payment")
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    return rows.filter(state=state) if state else rows


def _bills(actor: Actor) -> QuerySet[Bill]:
    if actor.tenant:
        return Bill.objects.of(actor.tenant) if actor.reaches_all(Records.COSTS) else Bill.plain.none()
    return Bill.objects.across() if actor.kind in ("operator", "system") else Bill.plain.none()


def bill_get(*, actor: Actor, uid: Id) -> Bill:
    """One of `bill_list`; NotFound for another tenant's."""
    row = _bills(actor).select_related("tenant").filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound()
    return row


def bill_lines(bill: Bill) -> QuerySet[BillLine]:
    """The bill's lines with charge, component and price version."""
    return BillLine.objects.filter(bill=bill).select_related(
        "charge", "price_line__component", "price_line__price_version"
    )


def bill_line_get(*, bill: Bill, uid: Id) -> BillLine:
    row = bill_lines(bill).filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound()
    return row


def bill_line_items(line: BillLine) -> QuerySet[RatedItem]:
    """What a bill line is made of: one rated item per usage record, in time's order (PLAT-OPS-55)."""
    rows = RatedItem.objects.filter(
        bill=line.bill_id, charge=line.charge_id, price_line=line.price_line_id, quantity=line.quantity
    )
    return rows.select_related("usage", "transaction").order_by("usage__start_at", "pk")


def bill_due_list(*, until: datetime) -> QuerySet[Tenant]:
    """Tenants with use up to `until` that is on no bill: whom the monthly run must bill. A test's are not billed."""
    rated = RatedItem.objects.filter(bill__isnull=True, usage__end_at__lte=until).values("charge__tenant")
    unrated = UsageRecord.objects.across().filter(rated_at__isnull=True, end_at__lte=until).values("tenant")
    return (
        tenant_list()
        .filter(Q(pk__in=rated) | Q(pk__in=unrated))
        .exclude(pk__in=with_own_books().values("pk"))
    )
