"""Reading money: accounts, bills down to usage records, costs by dimension. A tenant sees its own only."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery, Sum, TextField, Value
from django.db.models.functions import Cast, Coalesce, Greatest, TruncDate
from django.utils import timezone

from apps.billing.models import (
    Account,
    Bill,
    BillLine,
    Charge,
    ChargeResize,
    FundsHold,
    LedgerAccount,
    LedgerLeg,
    LedgerTransaction,
    RatedItem,
    UsageRecord,
)
from apps.billing.states import FundsLevel
from apps.billing.types import AccountOverview, CostRow, Funds
from apps.catalog.models import Coupon
from apps.catalog.pricing.price import SECONDS, PriceUnit, price
from apps.catalog.selectors import coupon_usable_list, price_lines, pricing_line, uid_of
from apps.centre.selectors import centre_zone
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.money import ZERO, MoneyField
from apps.kernel.reach import Records
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list

Id = UUID | str
Kind = LedgerAccount.Kind
_MONEY = MoneyField()
SHOWN_KINDS = (
    LedgerTransaction.Kind.DEPOSIT,
    LedgerTransaction.Kind.BILL,
    LedgerTransaction.Kind.PAYMENT,
    LedgerTransaction.Kind.REFUND,
    LedgerTransaction.Kind.CORRECTION,
    LedgerTransaction.Kind.WRITE_OFF,
)


def account_get(tenant: Tenant) -> Account | None:
    """The tenant's account; None while it is not opened (PLAT-TEN-35)."""
    return Account.objects.of(tenant).first()


def tenants_without_account(tenants: Iterable[Tenant]) -> list[Tenant]:
    """Of these tenants those whose account was never opened."""
    asked = list(tenants)
    opened = set(Account.objects.across().filter(tenant__in=asked).values_list("tenant_id", flat=True))
    return [tenant for tenant in asked if tenant.pk not in opened]


def account_list() -> QuerySet[Account]:
    """All opened accounts, each with `balance` in CNY, for operators."""
    legs = LedgerLeg.objects.filter(account__kind=Kind.BALANCE, account__tenant=OuterRef("tenant")).order_by()
    sums = legs.values("account__tenant").annotate(sum=Sum("amount")).values("sum")
    balance = -Coalesce(Subquery(sums), Value(ZERO), output_field=_MONEY)
    rows = Account.objects.across().select_related("tenant").annotate(balance=balance)
    return rows.order_by("tenant__schema_name")


def ledger_sum(kind: str, tenant: Tenant) -> Decimal:
    """The sum of one of the tenant's ledger accounts: debits minus credits."""
    legs = LedgerLeg.objects.filter(account__kind=kind, account__tenant=tenant)
    return legs.aggregate(sum=Sum("amount"))["sum"] or ZERO


def balance_get(tenant: Tenant) -> Decimal:
    """What the tenant has paid in and not spent, in CNY."""
    return -ledger_sum(Kind.BALANCE, tenant)


HOLD_STANDS = Q(billed__lt=F("amount")) | Q(billed__lt=F("used"))


def funds_of(account: Account) -> Funds:
    """What bounds what the account's tenant may start (ELA-1911). Whoever sets some of it aside holds its lock.

    What is used and what is set aside are read of the same rows by one statement: a rater that moves one to the other
    meanwhile changes nothing of their sum.
    """
    tenant = account.tenant
    legs = LedgerLeg.objects.filter(
        account__tenant=tenant, account__kind__in=[Kind.BALANCE, Kind.RECEIVABLE]
    ).order_by()
    sums = dict(legs.values_list("account__kind").annotate(sum=Sum("amount")))
    holds = FundsHold.objects.of(tenant).filter(HOLD_STANDS).order_by()
    standing = holds.aggregate(
        unbilled=Sum(F("used") - F("billed")), reserved=Sum(Greatest(F("amount") - F("used"), ZERO))
    )
    balance = -sums.get(Kind.BALANCE, ZERO)
    return Funds(
        balance=balance,
        credit_limit=account.credit_limit,
        coupons=coupons_worth(balance + account.credit_limit, coupon_usable_list(tenant=tenant)),
        unbilled=standing["unbilled"] or ZERO,
        unpaid=sums.get(Kind.RECEIVABLE, ZERO),
        reserved=standing["reserved"] or ZERO,
    )


def refundable(account: Account) -> Decimal:
    """What could be paid back now: paid in, not refunded, neither spent nor owed nor set aside."""
    cash = LedgerLeg.objects.filter(account__kind=Kind.CASH, transaction__tenant=account.tenant)
    paid = cash.aggregate(sum=Sum("amount"))["sum"] or ZERO
    funds = funds_of(account)
    free = funds.balance - funds.owed - funds.reserved
    return max(ZERO, min(paid, funds.balance, free))


def bill_corrected(bill: Bill) -> Decimal:
    """What was given back of a paid bill."""
    legs = LedgerLeg.objects.filter(
        account__kind=Kind.REVENUE,
        transaction__kind=LedgerTransaction.Kind.CORRECTION,
        transaction__tenant=bill.tenant,
        transaction__reference=bill.no,
    )
    return legs.aggregate(sum=Sum("amount"))["sum"] or ZERO


def coupons_worth(own: Decimal, coupons: Iterable[Coupon]) -> Decimal:
    """What coupons can pay beside so much of one's own: one that pays at most a part of a bill is worth no more than
    what pays the rest of it, one with a minimum spend nothing where that cannot be reached."""
    worth, left = ZERO, own
    for coupon in sorted(coupons, key=lambda each: -each.activity.ratio_percent):
        percent = coupon.activity.ratio_percent
        rest = 100 - percent
        taken = min(coupon.remaining, max(left, ZERO) * percent / rest) if rest else coupon.remaining
        if own + worth + taken >= coupon.activity.minimum_spend:
            worth += taken
            left -= taken * rest / percent
    return worth


def burn_of(tenant: Tenant) -> Decimal:
    """What an hour of all that the tenant runs, or has waiting, costs."""
    rows = FundsHold.objects.of(tenant).filter(ended_at__isnull=True)
    return rows.aggregate(sum=Sum("hourly"))["sum"] or ZERO


def funds_watched() -> list[Tenant]:
    """The tenants whose money is looked at: who run something that costs, or were told that little is left."""
    burning = FundsHold.objects.across().filter(ended_at__isnull=True, hourly__gt=0).values("tenant")
    told = Account.objects.across().exclude(funds_level=FundsLevel.ENOUGH).values("tenant")
    return list(tenant_list().filter(Q(pk__in=burning) | Q(pk__in=told)))


def funds_due(limit: int) -> list[UUID]:
    """The workloads whose money may need topping up, the longest due first. Volumes are looked at when metered."""
    rows = FundsHold.plain.filter(ended_at__isnull=True, check_at__lte=timezone.now()).order_by("check_at")
    rows = rows.exclude(charge__amounts__has_key="storage")
    return list(rows.values_list("charge__workload_uid", flat=True)[:limit])


def usage_last(slice_uid: str) -> tuple[datetime | None, int]:
    """Until when the use of one slice, or one volume, is recorded, and by which number; None and 0 before the first."""
    last = UsageRecord.plain.filter(slice_uid=slice_uid).aggregate(until=Max("end_at"), seq=Max("seq"))
    return last["until"], last["seq"] or 0


def usage_rated_until(slice_uids: Iterable[str]) -> dict[str, datetime]:
    """Until when the use of each of these slices is rated; those without any are left out."""
    rows = UsageRecord.plain.filter(slice_uid__in=list(slice_uids), rated_at__isnull=False).order_by()
    return dict(rows.values_list("slice_uid").annotate(at=Max("end_at")))


def account_overview(*, tenant: Tenant) -> AccountOverview:
    """Balance, coupons, what is owed and what was used (PLAT-OPS-7, PLAT-OPS-54)."""
    account = account_get(tenant)
    coupons = coupon_usable_list(tenant=tenant).order_by().aggregate(count=Count("pk"), sum=Sum("remaining"))
    month = timezone.localtime(timezone.now(), ZoneInfo(tenant.timezone)).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    funds = funds_of(account) if account else Funds(ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)
    return AccountOverview(
        is_open=account is not None,
        opened_at=account.opened_at if account else None,
        balance=funds.balance,
        credit_limit=funds.credit_limit,
        coupons_worth=funds.coupons,
        owed=funds.owed,
        reserved=funds.reserved,
        spendable=funds.spendable,
        funds_level=account.funds_level if account else FundsLevel.ENOUGH,
        unbilled=funds.unbilled,
        unpaid=funds.unpaid,
        coupon_count=coupons["count"],
        coupon_remaining=coupons["sum"] or ZERO,
        month_cost=cost_total(actor=SYSTEM, tenant=tenant, since=month),
        year_cost=cost_total(actor=SYSTEM, tenant=tenant, since=month.replace(month=1)),
    )


def transaction_list(*, tenant: Tenant) -> QuerySet[LedgerTransaction]:
    """Deposits, bills and payments, newest first (PLAT-OPS-8).

    Each with `total` (what was moved), `balance_change`, `coupon_amount` and `balance_after` in CNY:
    the balance before it plus its change is the balance after it.
    """
    own = LedgerLeg.objects.filter(transaction=OuterRef("pk")).order_by()
    balance = LedgerAccount.objects.filter(kind=Kind.BALANCE, tenant=tenant).values("pk")
    until = LedgerLeg.objects.filter(account__in=balance, transaction__lte=OuterRef("pk")).order_by()
    until = until.values("account").annotate(sum=Sum("amount")).values("sum")
    return LedgerTransaction.objects.filter(tenant=tenant, kind__in=SHOWN_KINDS).annotate(
        # What a bill's rounding leaves over is the centre's, and no part of what was billed.
        total=_leg_sum(own.filter(amount__gt=0).exclude(account__kind=Kind.ROUNDING)),
        balance_change=-_leg_sum(own.filter(account__kind=Kind.BALANCE)),
        coupon_amount=_leg_sum(own.filter(account__kind=Kind.PROMOTION)),
        balance_after=-Coalesce(Subquery(until), Value(ZERO), output_field=_MONEY),
    )


def _leg_sum(legs: QuerySet[LedgerLeg]) -> Coalesce:
    sums = legs.values("transaction").annotate(sum=Sum("amount")).values("sum")
    return Coalesce(Subquery(sums), Value(ZERO), output_field=_MONEY)


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


def usage_list(*, tenant: Tenant, workload_uid: Id | None = None) -> QuerySet[UsageRecord]:
    """Usage records, newest first, each with `exact` (None until it is rated: ELA-1809)."""
    rated = RatedItem.objects.filter(usage=OuterRef("pk")).order_by().values("usage")
    rows = UsageRecord.objects.of(tenant)
    if workload_uid is not None:
        rows = rows.filter(workload_uid=uid_of(workload_uid))
    sums = Subquery(rated.annotate(sum=Sum("exact")).values("sum"), output_field=_MONEY)
    return rows.annotate(exact=sums).order_by("-start_at", "-pk")


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


def with_own_books() -> QuerySet[Tenant]:
    """The tenants whose money is not the centre's: a test's."""
    own = LedgerAccount.objects.filter(kind=Kind.REVENUE, tenant__isnull=False)
    return tenant_list().filter(pk__in=own.values("tenant"))


def _items(
    actor: Actor, tenant: Tenant | None, since: datetime | None, until: datetime | None
) -> QuerySet[RatedItem]:
    wanted = actor.reaches(
        Records.COSTS,
        own=Q(charge__user_id=actor.user_id),
        organization="charge__organization_uid",
        system="charge__business_system_uid",
    )
    wanted &= ~Q(charge__tenant__in=with_own_books()) if tenant is None else Q(charge__tenant=tenant)
    if since is not None:
        wanted &= Q(usage__end_at__gt=since)
    if until is not None:
        wanted &= Q(usage__end_at__lte=until)
    return RatedItem.objects.filter(wanted).order_by()


def cost_total(
    *, actor: Actor, tenant: Tenant | None, since: datetime | None = None, until: datetime | None = None
) -> Decimal:
    """Exact CNY of rated use that the actor reaches and whose interval ended in (since, until]."""
    return _items(actor, tenant, since, until).aggregate(sum=Sum("exact"))["sum"] or ZERO


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


def workload_costs(uids: Iterable[UUID]) -> dict[UUID, Decimal]:
    """Exact CNY rated so far for each of these workloads of any tenant; the operators' side only."""
    rows = RatedItem.objects.filter(charge__workload_uid__in=list(uids)).order_by()
    sums = rows.values_list("charge__workload_uid").annotate(sum=Sum("exact"))
    return {uid: sum_ for uid, sum_ in sums if uid is not None}


def bill_due_list(*, until: datetime) -> QuerySet[Tenant]:
    """Tenants with use up to `until` that is on no bill: whom the monthly run must bill. A test's are not billed."""
    rated = RatedItem.objects.filter(bill__isnull=True, usage__end_at__lte=until).values("charge__tenant")
    unrated = UsageRecord.objects.across().filter(rated_at__isnull=True, end_at__lte=until).values("tenant")
    return (
        tenant_list()
        .filter(Q(pk__in=rated) | Q(pk__in=unrated))
        .exclude(pk__in=with_own_books().values("pk"))
    )
