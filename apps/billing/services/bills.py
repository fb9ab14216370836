"""Bills: made from rated use, confirmed, paid from a coupon and the balance (PLAT-OPS-32), corrected, written off."""

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Min, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.bill_document import buyer_now, seller_now
from apps.billing.errors import BalanceTooLow, CorrectionTooHigh, NothingToBill
from apps.billing.events import BalanceChanged, BillConfirmed, BillMade, BillPaid
from apps.billing.locks import account_locked
from apps.billing.models import (
    Account,
    Bill,
    BillLine,
    BillPayment,
    Charge,
    LedgerAccount,
    LedgerTransaction,
    RatedItem,
    UsageRecord,
)
from apps.billing.permissions import BillingPermission as P
from apps.billing.permissions import books_check
from apps.billing.selectors.accounts import balance_get
from apps.billing.selectors.bills import bill_corrected, bill_get
from apps.billing.services.funds import holds_bill, holds_lock
from apps.billing.services.ledger import (
    amount_problems,
    ledger_post,
    posted_find,
    reason_problems,
    reference_problems,
)
from apps.billing.services.rating import tariff_at, usage_rated
from apps.billing.states import BILL, BillState
from apps.catalog.models import PriceLine
from apps.catalog.selectors.coupons import coupon_get
from apps.catalog.services.coupons import coupon_redeem
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.money import ZERO, bill_round
from apps.kernel.service import service
from apps.tenancy.models import Tenant

Kind = LedgerAccount.Kind


@service()
def bill_make(*, actor: Actor, tenant: Tenant, until: datetime | None = None) -> Bill:
    """Bill all use that ended by `until` (now) and is on no bill yet; NothingToBill when there is none.

    Each rated item comes on exactly one bill (ELA-2005). The total is the sum of lines rounded half up to two
    places; what rounding moves is on the ledger too.
    """
    _may_settle(actor, tenant)
    now = timezone.now()
    until = until or now
    if until > now:
        reason = _("A bill cannot cover time to come.")
        raise InvalidInput(reason, fields={"until": reason})
    account = account_locked(tenant)
    _pending_rate(tenant, until, actor)
    bill_id = _items_take(tenant, until)
    lines = _lines(bill_id)
    if not lines:
        raise NothingToBill()
    bill = _bill(account, bill_id, lines, until, now)
    act_subject("bill", bill.uid, no=bill.no, total=bill.total)
    emit(BillMade(tenant.schema_name, str(bill.uid), bill.no), actor=actor)
    return bill


def _may_settle(actor: Actor, tenant: Tenant) -> None:
    """The tenant's own people with the right to pay, or the operator's with the right to manage billing."""
    if actor.kind == "user" and actor.tenant != tenant.schema_name:
        raise NotFound()
    if not actor.may(P.PAY) and not actor.may(P.MANAGE):
        raise Forbidden(fields={"permission": P.PAY})
    books_check(actor)


def _pending_rate(tenant: Tenant, until: datetime, actor: Actor) -> None:
    rows = UsageRecord.plain.filter(tenant=tenant, rated_at__isnull=True, end_at__lte=until)
    rows = rows.select_related("charge", "tenant").order_by("pk")
    pending = list(rows.select_for_update(no_key=True, of=("self",)))
    holds_lock(tenant)
    usage_rated(pending, actor=actor)


def _items_take(tenant: Tenant, until: datetime) -> int:
    """Give all unbilled items to a bill's key, in one statement; the bill's row follows with its figures.

    The foreign key is checked at commit, and a bill's figures never change once written.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('billing_bill', 'id'))")
        bill_id = cursor.fetchone()[0]
    items = RatedItem.objects.filter(bill__isnull=True, charge__tenant=tenant, usage__end_at__lte=until)
    items.update(bill_id=bill_id)
    return bill_id


def _lines(bill_id: int) -> list[BillLine]:
    groups = RatedItem.objects.filter(bill_id=bill_id).order_by("charge", "price_line", "quantity")
    groups = groups.values("charge", "price_line", "quantity").annotate(
        share_seconds=Sum("seconds"), accrued=Sum("exact")
    )
    found = list(groups)
    prices = PriceLine.objects.select_related("component").in_bulk([group["price_line"] for group in found])
    charges = Charge.plain.in_bulk([group["charge"] for group in found])
    return [_line(bill_id, group, charges[group["charge"]], prices[group["price_line"]]) for group in found]


def _line(bill_id: int, group: dict[str, Any], charge: Charge, row: PriceLine) -> BillLine:
    """Priced from the whole of its seconds: how use was cut into intervals makes no difference."""
    tariff = tariff_at(row, group["quantity"])
    whole = tariff.cost(group["share_seconds"])
    return BillLine(
        bill_id=bill_id,
        charge=charge,
        price_line=row,
        component=tariff.line.component,
        quantity=tariff.quantity,
        unit_amount=tariff.unit_amount,
        share_seconds=group["share_seconds"],
        exact=whole,
        accrued=group["accrued"],
        amount=bill_round(whole),
    )


def _bill(account: Account, bill_id: int, lines: list[BillLine], until: datetime, now: datetime) -> Bill:
    account.bill_count += 1
    account.save(update_fields=["bill_count"])
    tenant = account.tenant
    bill = Bill(
        pk=bill_id,
        tenant=tenant,
        no=f"B-{tenant.schema_name.upper()}-{account.bill_count:06d}",
        period_from=RatedItem.objects.filter(bill_id=bill_id).aggregate(at=Min("usage__start_at"))["at"],
        period_until=until,
        total=sum((line.amount for line in lines), ZERO),
        seller=seller_now().as_json(),
        buyer=buyer_now(tenant).as_json(),
        made_at=now,
    )
    bill.save(force_insert=True)
    BillLine.objects.bulk_create(lines)
    by_charge: dict[int, Decimal] = {}
    for line in lines:
        by_charge[line.charge_id] = by_charge.get(line.charge_id, ZERO) + line.accrued
    holds_bill(by_charge)
    accrued = sum(by_charge.values(), ZERO)
    ledger_post(
        tenant=tenant,
        kind=LedgerTransaction.Kind.BILL,
        key=f"bill:{bill.uid}",
        reference=bill.no,
        legs={Kind.RECEIVABLE: bill.total, Kind.ACCRUED: -accrued, Kind.ROUNDING: accrued - bill.total},
    )
    return bill


@service(P.PAY)
def bill_confirm(*, actor: Actor, bill_uid: UUID | str) -> Bill:
    """The tenant agrees to the bill; only then it can be paid. Forbidden for who reaches a part of it."""
    books_check(actor)
    bill = bill_get(actor=actor, uid=bill_uid)
    BILL.move(bill, BillState.CONFIRMED, actor=actor, confirmed_at=timezone.now())
    act_subject("bill", bill.uid, no=bill.no)
    emit(BillConfirmed(bill.tenant.schema_name, str(bill.uid)), actor=actor)
    return bill


@service(P.PAY)
def bill_pay(*, actor: Actor, bill_uid: UUID | str, coupon_uid: UUID | str | None = None) -> BillPayment:
    """Pay a confirmed bill: what the coupon may, then the rest from the balance, all or nothing.

    BalanceTooLow names what is lacking; CouponNotUsable which condition is not met. Of parallel payments one
    wins, and the balance is never below 0. Forbidden for who reaches a part of the bill.
    """
    books_check(actor)
    bill = bill_get(actor=actor, uid=bill_uid)
    tenant = bill.tenant
    account_locked(tenant)
    BILL.move(bill, BillState.PAID, actor=actor, paid_at=timezone.now())
    taken = ZERO
    if coupon_uid:
        taken = coupon_redeem(
            actor=actor, tenant=tenant, coupon_uid=coupon_uid, amount=bill.total, reference=f"bill:{bill.uid}"
        )
    payment = _payment(bill, taken, coupon_uid)
    act_subject("bill", bill.uid, no=bill.no, coupon=taken, balance=payment.balance_amount)
    emit(BillPaid(tenant.schema_name, str(bill.uid), bill.no), actor=actor)
    emit(BalanceChanged(tenant.schema_name), actor=actor)
    return payment


@service(P.MANAGE)
def bill_correct(
    *, actor: Actor, bill_uid: UUID | str, amount: Decimal, reason: str, reference: str
) -> LedgerTransaction:
    """Give back to the balance what a paid bill charged too much: at most what was paid of it and not given back yet.

    The bill stays as it is. `reference` makes it happen once: the same again is the same correction. Raises
    CorrectionTooHigh, Conflict for a bill that is not paid.
    """
    fields = amount_problems(amount) | reason_problems(reason) | reference_problems(reference)
    if fields:
        raise InvalidInput(fields=fields)
    bill = bill_get(actor=actor, uid=bill_uid)
    account_locked(bill.tenant)
    act_subject("bill", bill.uid, no=bill.no, amount=amount, reference=reference, reason=reason)
    if bill.state != BillState.PAID:
        raise Conflict(
            _("%(no)s is %(state)s: only what was paid is given back.")
            % {"no": bill.no, "state": bill.get_state_display()},
            cure=_("A bill that will not be paid is written off."),
        )
    key = f"correction:{bill.no}:{reference}"
    known = posted_find(key, Kind.BALANCE, -amount)
    if known is not None:
        return known
    most = bill.total - bill_corrected(bill)
    if amount > most:
        raise CorrectionTooHigh(bill_no=bill.no, wanted=amount, most=most)
    posted = ledger_post(
        tenant=bill.tenant,
        kind=LedgerTransaction.Kind.CORRECTION,
        key=key,
        reference=bill.no,
        reason=reason,
        legs={Kind.REVENUE: amount, Kind.BALANCE: -amount},
    )
    assert posted is not None, "a correction is never 0"
    emit(BalanceChanged(bill.tenant.schema_name), actor=actor)
    return posted


@service(P.MANAGE)
def bill_write_off(*, actor: Actor, bill_uid: UUID | str, reason: str) -> Bill:
    """Give up a bill that will not be paid: the tenant owes it no more, and the centre bears it. The whole bill, so
    never more than is owed; a paid one is refused, and so is a second time."""
    if problems := reason_problems(reason):
        raise InvalidInput(fields=problems)
    bill = bill_get(actor=actor, uid=bill_uid)
    account_locked(bill.tenant)
    BILL.move(bill, BillState.WRITTEN_OFF, actor=actor, written_off_at=timezone.now())
    ledger_post(
        tenant=bill.tenant,
        kind=LedgerTransaction.Kind.WRITE_OFF,
        key=f"write_off:{bill.uid}",
        reference=bill.no,
        reason=reason,
        legs={Kind.WRITE_OFF: bill.total, Kind.RECEIVABLE: -bill.total},
    )
    act_subject("bill", bill.uid, no=bill.no, total=bill.total, reason=reason)
    emit(BalanceChanged(bill.tenant.schema_name), actor=actor)
    return bill


def _payment(bill: Bill, taken: Decimal, coupon_uid: UUID | str | None) -> BillPayment:
    rest = bill.total - taken
    balance = balance_get(bill.tenant)
    if rest > balance:
        raise BalanceTooLow(balance=balance, wanted=rest)
    posted = ledger_post(
        tenant=bill.tenant,
        kind=LedgerTransaction.Kind.PAYMENT,
        key=f"pay:{bill.uid}",
        reference=bill.no,
        legs={Kind.BALANCE: rest, Kind.PROMOTION: taken, Kind.RECEIVABLE: -bill.total},
    )
    coupon = coupon_get(tenant=bill.tenant, uid=coupon_uid) if coupon_uid else None
    return BillPayment.plain.create(
        tenant=bill.tenant,
        bill=bill,
        coupon_uid=coupon.uid if coupon else None,
        coupon_code=coupon.code if coupon else "",
        coupon_amount=taken,
        balance_amount=rest,
        transaction=posted,
    )
