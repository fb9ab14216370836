"""Reads: accounts, their funds and transactions."""

from collections.abc import Iterable
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum, Value, Window
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from apps.billing.models import (
    Account,
    Bill,
    FundsHold,
    LedgerAccount,
    LedgerLeg,
    LedgerTransaction,
)
from apps.billing.selectors.costs import cost_total
from apps.billing.states import BillState, FundsLevel
from apps.billing.types import AccountOverview, Funds
from apps.catalog.models import Coupon
from apps.catalog.selectors.coupons import coupon_usable_list
from apps.kernel.actor import SYSTEM
from apps.kernel.money import ZERO, MoneyField
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list

SHOWN_KINDS = (
    LedgerTransaction.Kind.DEPOSIT,
    LedgerTransaction.Kind.BILL,
    LedgerTransaction.Kind.PAYMENT,
    LedgerTransaction.Kind.REFUND,
    LedgerTransaction.Kind.CORRECTION,
    LedgerTransaction.Kind.WRITE_OFF,
)

_MONEY = MoneyField()


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
    legs = LedgerLeg.objects.filter(
        account__kind=LedgerAccount.Kind.BALANCE, account__tenant=OuterRef("tenant")
    ).order_by()
    sums = legs.values("account__tenant").annotate(sum=Sum("amount")).values("sum")
    balance = -Coalesce(Subquery(sums), Value(ZERO), output_field=_MONEY)
    rows = Account.objects.across().select_related("tenant").annotate(balance=balance)
    return rows.order_by("tenant__schema_name")


def balances_of(tenants: Iterable[Tenant]) -> dict[int, Decimal]:
    """The balances in CNY of those of the tenants that have an account, by the tenant's key."""
    rows = account_list().filter(tenant__in=list(tenants)).order_by()
    return {row.tenant_id: row.balance for row in rows}  # type: ignore[attr-defined]


def account_filtered(*, search: str = "", level: str = "") -> QuerySet[Account]:
    """Those of `account_list` whose tenant's name or code contains `search`, with funds at `level`; "" is any.

    Each with `unpaid`, what bills that are neither paid nor written off come to.
    """
    owed = Bill.objects.across().filter(
        tenant=OuterRef("tenant"), state__in=(BillState.MADE, BillState.CONFIRMED)
    )
    sums = owed.order_by().values("tenant").annotate(sum=Sum("total")).values("sum")
    rows = account_list().annotate(unpaid=Coalesce(Subquery(sums), Value(ZERO), output_field=_MONEY))
    if search:
        rows = rows.filter(Q(tenant__name__icontains=search) | Q(tenant__schema_name__icontains=search))
    return rows.filter(funds_level=level) if level else rows


def ledger_sum(kind: str, tenant: Tenant) -> Decimal:
    """The sum of one of the tenant's ledger accounts: debits minus credits."""
    legs = LedgerLeg.objects.filter(account__kind=kind, account__tenant=tenant)
    return legs.aggregate(sum=Sum("amount"))["sum"] or ZERO


def balance_get(tenant: Tenant) -> Decimal:
    """What the tenant has paid in and not spent, in CNY."""
    return -ledger_sum(LedgerAccount.Kind.BALANCE, tenant)


HOLD_STANDS = Q(billed__lt=F("amount")) | Q(billed__lt=F("used"))


def funds_of(account: Account) -> Funds:
    """What bounds what the account's tenant may start (ELA-1911). Whoever sets some of it aside holds its lock.

    What is used and what is set aside are read of the same rows by one statement: a rater that moves one to the other
    meanwhile changes nothing of their sum.
    """
    tenant = account.tenant
    legs = LedgerLeg.objects.filter(
        account__tenant=tenant, account__kind__in=[LedgerAccount.Kind.BALANCE, LedgerAccount.Kind.RECEIVABLE]
    ).order_by()
    sums = dict(legs.values_list("account__kind").annotate(sum=Sum("amount")))
    holds = FundsHold.objects.of(tenant).filter(HOLD_STANDS).order_by()
    standing = holds.aggregate(
        unbilled=Sum(F("used") - F("billed")), reserved=Sum(Greatest(F("amount") - F("used"), ZERO))
    )
    balance = -sums.get(LedgerAccount.Kind.BALANCE, ZERO)
    return Funds(
        balance=balance,
        credit_limit=account.credit_limit,
        coupons=coupons_worth(balance + account.credit_limit, coupon_usable_list(tenant=tenant)),
        unbilled=standing["unbilled"] or ZERO,
        unpaid=sums.get(LedgerAccount.Kind.RECEIVABLE, ZERO),
        reserved=standing["reserved"] or ZERO,
    )


def refundable(account: Account) -> Decimal:
    """What could be paid back now: paid in, not refunded, neither spent nor owed nor set aside."""
    cash = LedgerLeg.objects.filter(account__kind=LedgerAccount.Kind.CASH, transaction__tenant=account.tenant)
    paid = cash.aggregate(sum=Sum("amount"))["sum"] or ZERO
    funds = funds_of(account)
    free = funds.balance - funds.owed - funds.reserved
    return max(ZERO, min(paid, funds.balance, free))


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
    rows = rows.filter(charge__job_id="").exclude(charge__amounts__has_key="storage")
    return list(rows.values_list("charge__workload_uid", flat=True)[:limit])


def funds_due_jobs(limit: int) -> list[tuple[UUID, str]]:
    """The charges of jobs over centres whose money may need topping up, each with its job, the longest due first."""
    rows = FundsHold.plain.filter(ended_at__isnull=True, check_at__lte=timezone.now()).order_by("check_at")
    rows = rows.exclude(charge__job_id="")
    return list(rows.values_list("charge__workload_uid", "charge__job_id")[:limit])


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
    balance = LedgerAccount.objects.filter(kind=LedgerAccount.Kind.BALANCE, tenant=tenant).values("pk")
    until = LedgerLeg.objects.filter(account__in=balance, transaction__lte=OuterRef("pk")).order_by()
    until = until.values("account").annotate(sum=Sum("amount")).values("sum")
    return _moved(tenant).annotate(balance_after=-Coalesce(Subquery(until), Value(ZERO), output_field=_MONEY))


def transactions_whole(*, tenant: Tenant) -> QuerySet[LedgerTransaction]:
    """All deposits, bills and payments of a tenant, for who reads every one: each with `total`, `balance_change`,
    `coupon_amount` and `balance_after` in CNY, the balance added up once from the first on."""
    # Use alone moves no balance and is not shown: what is shown adds up to it.
    after = Window(Sum("balance_change"), order_by="pk")
    return _moved(tenant).annotate(balance_after=after)


def _moved(tenant: Tenant) -> QuerySet[LedgerTransaction]:
    own = LedgerLeg.objects.filter(transaction=OuterRef("pk")).order_by()
    return LedgerTransaction.objects.filter(tenant=tenant, kind__in=SHOWN_KINDS).annotate(
        # What a bill's rounding leaves over is the centre's, and no part of what was billed.
        total=_leg_sum(own.filter(amount__gt=0).exclude(account__kind=LedgerAccount.Kind.ROUNDING)),
        balance_change=-_leg_sum(own.filter(account__kind=LedgerAccount.Kind.BALANCE)),
        coupon_amount=_leg_sum(own.filter(account__kind=LedgerAccount.Kind.PROMOTION)),
    )


def _leg_sum(legs: QuerySet[LedgerLeg]) -> Coalesce:
    sums = legs.values("transaction").annotate(sum=Sum("amount")).values("sum")
    return Coalesce(Subquery(sums), Value(ZERO), output_field=_MONEY)
