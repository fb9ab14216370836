"""Reads: bills and their lines."""

from datetime import datetime
from decimal import Decimal

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Sum

from apps.billing.models import (
    Bill,
    BillLine,
    LedgerAccount,
    LedgerLeg,
    LedgerTransaction,
    RatedItem,
    UsageRecord,
)
from apps.billing.permissions import charges_reached
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


def bill_list(
    *, actor: Actor, tenant: Tenant | str | None = None, state: str = "", no: str = ""
) -> QuerySet[Bill]:
    """Bills, newest first: of the actor's tenant; to an operator outside tenants all, or those of `tenant`, by
    itself or its code; `no` is a part of the number.

    Who reaches a part of the tenant's costs finds the bills that hold some of it, each with that part alone
    (`reached_total`).
    """
    rows = _bills(actor).select_related("tenant", "payment")
    if isinstance(tenant, Tenant):
        rows = rows.filter(tenant=tenant)
    elif tenant:
        rows = rows.filter(tenant__schema_name=tenant)
    if no:
        rows = rows.filter(no__icontains=no)
    return rows.filter(state=state) if state else rows


def _bills(actor: Actor) -> QuerySet[Bill]:
    if actor.tenant:
        rows = Bill.objects.of(actor.tenant)
        return rows if actor.reaches_all(Records.COSTS) else _in_part(rows, actor)
    return Bill.objects.across() if actor.kind in ("operator", "system") else Bill.plain.none()


def _in_part(rows: QuerySet[Bill], actor: Actor) -> QuerySet[Bill]:
    reached = BillLine.objects.filter(charges_reached(actor), bill=OuterRef("pk")).order_by()
    part = reached.values("bill").annotate(sum=Sum("amount")).values("sum")
    return rows.filter(Exists(reached)).annotate(reached_total=Subquery(part))


def bill_get(*, actor: Actor, uid: Id) -> Bill:
    """One of `bill_list`; NotFound for another tenant's."""
    row = _bills(actor).select_related("tenant").filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound()
    return row


def bill_lines(bill: Bill, actor: Actor) -> QuerySet[BillLine]:
    """The bill's lines that the actor reaches, with charge, component and price version."""
    return BillLine.objects.filter(charges_reached(actor), bill=bill).select_related(
        "charge", "price_line__component", "price_line__price_version"
    )


def bill_line_get(*, bill: Bill, uid: Id, actor: Actor) -> BillLine:
    row = bill_lines(bill, actor).filter(uid=uid_of(uid)).first()
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
