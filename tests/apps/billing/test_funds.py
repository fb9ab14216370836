"""What may start: balance, credit and coupons, less what is owed and set aside. What was set aside comes back."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.audit.models import Record
from apps.billing.errors import AccountNotOpened, FundsTooLow
from apps.billing.models import Account, FundsHold
from apps.billing.selectors.accounts import account_get, coupons_worth, funds_of, funds_watched, ledger_sum
from apps.billing.services.bills import bill_confirm, bill_make, bill_pay
from apps.billing.services.charges import charge_close, charge_open, charge_resize, funds_check
from apps.billing.services.funds import (
    funds_end,
    funds_renew,
    funds_settle,
    funds_top_up,
    funds_wait,
    funds_watch,
    horizon_s,
    tail_s,
)
from apps.billing.services.ledger import account_open, credit_limit_set
from apps.billing.services.rating import usage_rate
from apps.billing.services.usage import usage_record
from apps.catalog.models import Commodity, Coupon, CouponActivity
from apps.catalog.selectors.prices import quote_get
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, InvalidInput
from apps.notices.models import Message
from tests.apps.billing.scene import AGENT, LABELS, books_balance, deposit, usage
from tests.apps.catalog.market import AMOUNTS, PER_HOUR, commodity_make

HOUR = 3600
PAYER = "tenant_operations_manager"


@pytest.fixture
def opened(db, acme):
    account_open(actor=SYSTEM, tenant=acme)
    return acme


def quote(tenant, count=1):
    commodity = Commodity.objects.first() or commodity_make()
    now = datetime.now(UTC)
    return quote_get(
        tenant=tenant, commodity=commodity, amounts=AMOUNTS, count=count, duration_s=HOUR, at=now
    ).as_json()


def charge(tenant, *, count=1, run_s=None):
    return charge_open(
        actor=SYSTEM,
        tenant=tenant,
        order_uid=uuid4(),
        order_no="O-1",
        workload_uid=uuid4(),
        quote=quote(tenant, count),
        labels=LABELS,
        run_s=run_s,
    )


def funds(tenant):
    return funds_of(account_get(tenant))


def ran(row, seconds, *, seq=1, begin=None):
    """It ran so long from its opening on, as its node vouches, and that is rated."""
    begin = begin or row.opened_at.replace(microsecond=0)
    report = usage(begin, seconds, seq=seq, slice_uid=f"s-{row.pk}")
    assert not usage_record(actor=AGENT, workload_uid=row.workload_uid, reports=[report]).refused
    usage_rate(actor=SYSTEM)
    return begin + timedelta(seconds=seconds)


@pytest.mark.req("ELA-1911")
def test_a_start_sets_aside_its_first_hour_and_is_refused_when_that_is_not_there(opened):
    deposit(opened, "20")
    charge(opened)
    assert (funds(opened).reserved, funds(opened).spendable) == (PER_HOUR, 20 - PER_HOUR)
    with pytest.raises(FundsTooLow) as caught:
        charge(opened, count=2)
    # 2 × 7.16 against 12.84
    assert "lacks ¥1.48" in str(caught.value.message)
    assert "Top up" in str(caught.value.cure)
    assert FundsHold.plain.count() == 1, "a refusal leaves nothing"
    charge(opened)


@pytest.mark.req("ELA-1911")
def test_work_with_a_time_sets_aside_no_more_than_that_and_its_stop_cost(opened):
    deposit(opened, "20")
    row = charge(opened, run_s=60)
    # 360 s of 7.16 an hour, up to the next cent
    assert row.funds.amount == Decimal("0.72")
    with pytest.raises(FundsTooLow):
        funds_check(actor=SYSTEM, tenant=opened, quotes=[quote(opened, 3)], run_s=HOUR)
    funds_check(actor=SYSTEM, tenant=opened, quotes=[quote(opened, 2)], run_s=HOUR)
    assert FundsHold.plain.count() == 1, "a check sets nothing aside"


@pytest.mark.req("ELA-1911")
def test_an_operator_gives_credit_with_a_reason(opened, member, operator):
    actor = operator("operations_manager").actor
    credit_limit_set(actor=actor, tenant=opened, amount=Decimal("7.16"), reason="contract 12")
    charge(opened)
    assert funds(opened).spendable == 0
    act = Record.objects.filter(name="credit_limit_set").latest("pk")
    assert (act.detail["amount"], act.detail["before"], act.detail["reason"]) == (
        "7.16",
        "0.00",
        "contract 12",
    )
    for amount, reason in (("-1", "x"), ("0.001", "x"), ("NaN", "x"), ("10000000000", "x"), ("1", " ")):
        with pytest.raises(InvalidInput):
            credit_limit_set(actor=actor, tenant=opened, amount=Decimal(amount), reason=reason)
    person = member("acme", PAYER).actor
    with pytest.raises(Forbidden):
        credit_limit_set(actor=person, tenant=opened, amount=Decimal(1), reason="for me")
    # Taken back while it is in use, it starts nothing more and is not below what is there by accident.
    credit_limit_set(actor=actor, tenant=opened, amount=Decimal(0), reason="end of contract")
    assert funds(opened).spendable == -PER_HOUR
    with pytest.raises(FundsTooLow):
        charge(opened, run_s=1)


@pytest.mark.req("ELA-1911")
def test_use_draws_what_was_set_aside_and_the_rest_comes_back_with_its_end(opened):
    deposit(opened, "10")
    with patch("django.utils.timezone.now", return_value=datetime.now(UTC) - timedelta(hours=1)):
        row = charge(opened)
    end = ran(row, 100)
    row.funds.refresh_from_db()
    used = row.funds.used
    assert used == ledger_sum("accrued", opened) == Decimal("0.1988888889")
    assert funds(opened).spendable == 10 - PER_HOUR, "what was set aside became what is owed"
    charge_close(actor=SYSTEM, workload_uid=row.workload_uid, at=end)
    assert funds_settle(actor=SYSTEM) == 1
    assert funds(opened).reserved == 0
    assert funds(opened).spendable == 10 - used
    bill = bill_make(actor=SYSTEM, tenant=opened)
    assert funds(opened).owed == bill.total
    bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
    bill_pay(actor=SYSTEM, bill_uid=bill.uid)
    assert funds(opened).owed == 0
    assert funds(opened).spendable == funds(opened).balance == 10 - bill.total
    assert books_balance()


@pytest.mark.req("ELA-1911")
def test_use_that_is_not_told_yet_stays_set_aside_until_it_cannot_come_any_more(opened):
    deposit(opened, "10")
    row = charge(opened)
    ended = row.opened_at + timedelta(seconds=30)
    charge_close(actor=SYSTEM, workload_uid=row.workload_uid, at=ended)
    assert funds_settle(actor=SYSTEM) == 0
    # Its node tells of half, which is rated: the other half may come.
    ran(row, 10)
    assert funds_settle(actor=SYSTEM) == 0
    FundsHold.plain.update(ended_at=timezone.now() - timedelta(hours=2))
    assert funds_settle(actor=SYSTEM) == 1
    # And comes after all: it is owed.
    ran(row, 10, seq=2, begin=row.opened_at.replace(microsecond=0) + timedelta(seconds=15))
    assert funds(opened).owed == ledger_sum("accrued", opened)
    assert funds(opened).spendable == 10 - funds(opened).owed


@pytest.mark.req("ELA-1911")
def test_what_never_ran_gives_all_back_at_once_and_sets_it_aside_again_when_it_is_resumed(opened):
    deposit(opened, "10")
    row = charge(opened)
    funds_end(actor=SYSTEM, workload_uid=row.workload_uid, at=timezone.now(), has_run=False)
    assert funds(opened).spendable == 10
    funds_renew(actor=SYSTEM, workload_uid=row.workload_uid, run_s=None)
    assert funds(opened).spendable == 10 - PER_HOUR
    # Twice changes nothing, nor does work without a charge.
    funds_renew(actor=SYSTEM, workload_uid=row.workload_uid, run_s=None)
    funds_renew(actor=SYSTEM, workload_uid=uuid4(), run_s=None)
    funds_end(actor=SYSTEM, workload_uid=uuid4(), at=timezone.now())
    funds_wait(actor=SYSTEM, workload_uid=uuid4(), unrated_share_s=0)
    assert funds(opened).spendable == 10 - PER_HOUR
    other = charge(opened, run_s=60)
    funds_end(actor=SYSTEM, workload_uid=row.workload_uid, at=timezone.now(), has_run=False)
    charge(opened)
    with pytest.raises(FundsTooLow):
        funds_renew(actor=SYSTEM, workload_uid=row.workload_uid, run_s=None)
    assert other.funds.amount


@pytest.mark.req("ELA-1911", "POOL-12.2")
def test_more_of_a_share_sets_more_aside_first(opened):
    deposit(opened, "10")
    row = charge(opened)
    with pytest.raises(FundsTooLow):
        charge_resize(actor=SYSTEM, workload_uid=row.workload_uid, compute_percent=100, memory_mib=10240)
    # 10 percent more at 0.05 an hour
    charge_resize(actor=SYSTEM, workload_uid=row.workload_uid, compute_percent=30, memory_mib=10240)
    assert funds(opened).reserved == PER_HOUR + Decimal("0.50")
    charge_resize(actor=SYSTEM, workload_uid=row.workload_uid, compute_percent=10, memory_mib=10240)
    assert funds(opened).reserved == PER_HOUR + Decimal("0.50"), "what was set aside stays: it lasts longer"
    assert row.funds.__class__.plain.get().hourly == PER_HOUR - Decimal("0.50")


@pytest.mark.req("ELA-1911")
def test_it_is_topped_up_while_it_runs_as_long_as_there_is_money_then_it_is_short(opened, settings):
    deposit(opened, "9")
    row = charge(opened)
    assert horizon_s() == HOUR
    # All but the tail is used: an hour more is wanted, and what is left is taken.
    state = top_up(row, unrated=HOUR - tail_s() + 1)
    assert (state.short_since, state.is_new) == (None, False)
    assert funds(opened).spendable == 0
    assert funds(opened).reserved == 9
    # That lasts until its tail.
    last = 9 / PER_HOUR * HOUR - tail_s()
    assert top_up(row, unrated=float(last) - 1).short_since is None
    state = top_up(row, unrated=float(last) + 1)
    assert state.is_new
    assert state.stops_at == state.short_since + timedelta(seconds=settings.WEIR_FUNDS_GRACE_S)
    assert account_get(opened).funds_level == "empty"
    again = top_up(row, unrated=float(last) + 2)
    assert (again.short_since, again.is_new) == (state.short_since, False)
    # Its people top up: it goes on.
    deposit(opened, "100")
    assert top_up(row, unrated=float(last) + 3).short_since is None
    assert funds(opened).reserved < 9 + PER_HOUR + 1


def top_up(row, *, unrated, left=None):
    return funds_top_up(actor=SYSTEM, workload_uid=row.workload_uid, unrated_share_s=unrated, left_s=left)


@pytest.mark.req("ELA-1911")
def test_work_near_its_ordered_end_needs_no_more_than_that(opened):
    deposit(opened, "1")
    row = charge(opened, run_s=60)
    assert top_up(row, unrated=59, left=1).short_since is None
    assert row.funds.__class__.plain.get().amount == Decimal("0.72")
    assert top_up(row, unrated=59, left=None).short_since is not None, "without an end it would need its tail"


@pytest.mark.req("ELA-1911", "PLAT-TODO-15")
def test_who_may_pay_is_told_once_of_each_level(opened, member, settings):
    olga, alice = member("acme", PAYER), member("acme", "tenant_front_line")
    deposit(opened, "200")
    row = charge(opened)
    assert funds_watched() == [opened]
    assert funds_watch(actor=SYSTEM, tenant=opened) == "enough"
    settings.WEIR_FUNDS_LOW_H = 48
    for _time in range(3):
        assert funds_watch(actor=SYSTEM, tenant=opened) == "low"
    told = Message.objects.filter(user=olga.user)
    assert [message.params for message in told] == [{"spendable": "192.84"}]
    assert told[0].link == "/billing/account/"
    assert not Message.objects.filter(user=alice.user).exists()
    FundsHold.plain.update(short_since=timezone.now())
    for _time in range(2):
        assert funds_watch(actor=SYSTEM, tenant=opened) == "empty"
    assert told.all().count() == 2
    # Better again, and worse again: it is news again.
    FundsHold.plain.update(short_since=None)
    funds_watch(actor=SYSTEM, tenant=opened)
    assert told.all().count() == 2
    funds_end(actor=SYSTEM, workload_uid=row.workload_uid, at=timezone.now(), has_run=False)
    assert funds_watched() == [opened], "until it is well again"
    assert funds_watch(actor=SYSTEM, tenant=opened) == "enough"
    assert funds_watched() == []


def coupon(remaining, ratio=100, minimum=0):
    activity = CouponActivity(ratio_percent=ratio, minimum_spend=Decimal(minimum))
    return Coupon(remaining=Decimal(remaining), activity=activity)


@pytest.mark.req("ELA-1911")
def test_a_coupon_is_worth_what_it_can_pay():
    assert coupons_worth(Decimal(0), [coupon(20)]) == 20
    assert coupons_worth(Decimal(0), [coupon(20, ratio=50)]) == 0, "nothing pays the other half"
    assert coupons_worth(Decimal(5), [coupon(20, ratio=50)]) == 5
    assert coupons_worth(Decimal(100), [coupon(20, ratio=50), coupon(30, ratio=50)]) == 50
    assert coupons_worth(Decimal(10), [coupon(20, ratio=50), coupon(20, ratio=50)]) == 10
    assert coupons_worth(Decimal(10), [coupon(20, minimum=50)]) == 0
    assert coupons_worth(Decimal(30), [coupon(20, minimum=50)]) == 20
    assert coupons_worth(Decimal(-5), [coupon(20, ratio=50)]) == 0


@pytest.mark.req("ELA-1911")
def test_without_an_account_nothing_starts(db, acme):
    commodity_make()
    with pytest.raises(AccountNotOpened):
        charge(acme)
    assert not Account.plain.exists()
