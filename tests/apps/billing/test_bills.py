"""Bills: every rated item on one bill, paid once, and sums a reader can check."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, InternalError, transaction
from django.utils import timezone

from apps.billing.errors import BalanceTooLow, NothingToBill
from apps.billing.models import Bill, BillLine, BillPayment, RatedItem, UsageRecord
from apps.billing.selectors.accounts import (
    account_overview,
    balance_get,
    ledger_sum,
    transaction_list,
    transactions_whole,
)
from apps.billing.selectors.bills import (
    bill_due_list,
    bill_get,
    bill_line_get,
    bill_line_items,
    bill_lines,
    bill_list,
)
from apps.billing.services.bills import bill_confirm, bill_make, bill_pay
from apps.billing.services.ledger import account_open
from apps.billing.services.rating import usage_rate
from apps.billing.services.usage import usage_record
from apps.billing.tasks import bill_month_of
from apps.catalog.errors import CouponNotUsable
from apps.catalog.models import Coupon
from apps.catalog.services.coupons import coupon_claim
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.flow import MoveRefused
from apps.kernel.money import bill_round
from tests.apps.billing.scene import books_balance, charge_make, deposit, intervals, rated_once, record
from tests.apps.catalog.racing import race
from tests.apps.catalog.test_coupons import activity_make


def bill_made(tenant: object, lengths: tuple[int, ...] = (360,), **charge: object) -> Bill:
    record(charge_make(tenant, **charge), lengths)
    return bill_make(actor=SYSTEM, tenant=tenant)


def confirmed(tenant: object, **charge: object) -> Bill:
    return bill_confirm(actor=SYSTEM, bill_uid=bill_made(tenant, **charge).uid)


def pay(bill: Bill, coupon: Coupon | None = None) -> BillPayment:
    return bill_pay(actor=SYSTEM, bill_uid=bill.uid, coupon_uid=coupon.uid if coupon else None)


@pytest.mark.django_db
class TestMake:
    @pytest.mark.req("PLAT-OPS-32", "PLAT-OPS-55", "ELA-2001", "ELA-2002", "ELA-2004")
    def test_lines_can_be_recomputed_by_hand(self, acme: object) -> None:
        bill = bill_made(acme, (100, 80, 45))
        lines = {line.component: line for line in bill_lines(bill, SYSTEM)}
        # 225 s: 1.00 an hour, 5.60, 0.40, 0.16
        assert {name: (line.exact, line.amount) for name, line in lines.items()} == {
            "compute_share": (Decimal("0.0625"), Decimal("0.06")),
            "gpu_memory": (Decimal("0.35"), Decimal("0.35")),
            "cpu": (Decimal("0.025"), Decimal("0.03")),
            "memory": (Decimal("0.01"), Decimal("0.01")),
        }
        assert bill.total == Decimal("0.45")
        memory = bill_line_get(bill=bill, uid=lines["gpu_memory"].uid, actor=SYSTEM)
        assert memory.exact == memory.unit_amount * memory.share_seconds / 3600
        items = list(bill_line_items(memory))
        assert [item.usage.seconds for item in items] == [100, 80, 45]
        assert sum(item.exact for item in items) == memory.accrued
        assert all(item.usage.node_uid and item.usage.report_id for item in items)
        assert memory.price_line.price_version.number == 1

    @pytest.mark.req("PLAT-OPS-8")
    @pytest.mark.parametrize("seconds", [225, 224])
    def test_the_account_shows_a_bill_as_it_was_made_whichever_way_it_was_rounded(
        self, acme: object, seconds: int
    ) -> None:
        bill = bill_made(acme, (seconds,))
        accrued = sum(line.accrued for line in bill_lines(bill, SYSTEM))
        assert (accrued < bill.total) == (seconds == 225), "one is rounded up, the other down"
        assert transaction_list(tenant=acme).get().total == bill.total

    @pytest.mark.req("ELA-2006")
    def test_rounding_is_on_the_ledger(self, acme: object) -> None:
        bill = bill_made(acme, (100, 80, 45))
        accrued = sum(line.accrued for line in bill_lines(bill, SYSTEM))
        assert ledger_sum("accrued", acme) == 0
        assert ledger_sum("receivable", acme) == bill.total == Decimal("0.45")
        assert accrued != bill.total
        assert books_balance()

    @pytest.mark.req("PLAT-OPS-32")
    def test_how_use_was_cut_changes_no_amount(self, acme: object, globex: object) -> None:
        cuts = {acme: (300,), globex: (1, 2, 3, 7, 11, 13, 17, 29, 31, 37, 41, 43, 47, 18)}
        totals = {tenant: bill_made(tenant, lengths) for tenant, lengths in cuts.items()}
        assert sum(cuts[globex]) == 300
        assert totals[acme].total == totals[globex].total
        exact = [[line.exact for line in bill_lines(bill, SYSTEM)] for bill in totals.values()]
        assert exact[0] == exact[1]

    @pytest.mark.req("ELA-2005")
    def test_a_second_bill_finds_nothing(self, acme: object) -> None:
        bill_made(acme)
        with pytest.raises(NothingToBill):
            bill_make(actor=SYSTEM, tenant=acme)
        assert Bill.plain.count() == 1

    @pytest.mark.req("ELA-2005", "ELA-1808")
    def test_until_cuts_between_records(self, acme: object) -> None:
        charge = charge_make(acme)
        record(charge, [100, 80])
        edge = UsageRecord.plain.get(seq=1).end_at
        first = bill_make(actor=SYSTEM, tenant=acme, until=edge)
        second = bill_make(actor=SYSTEM, tenant=acme)
        assert [line.share_seconds for line in bill_lines(first, SYSTEM)] == [100] * 4
        assert [line.share_seconds for line in bill_lines(second, SYSTEM)] == [80] * 4
        assert (first.period_until, second.period_from) == (edge, edge)
        assert ledger_sum("accrued", acme) == 0

    @pytest.mark.req("ELA-2003")
    def test_numbers_are_sequential_without_a_gap(self, acme: object) -> None:
        first = bill_made(acme)
        with pytest.raises(NothingToBill):
            bill_make(actor=SYSTEM, tenant=acme)
        assert [first.no, bill_made(acme).no] == ["B-ACME-000001", "B-ACME-000002"]

    def test_a_bill_of_the_future_is_refused(self, acme: object) -> None:
        record(charge_make(acme), [60])
        with pytest.raises(InvalidInput):
            bill_make(actor=SYSTEM, tenant=acme, until=timezone.now() + timedelta(hours=1))

    def test_who_may_make_a_bill(self, acme: object, member, operator) -> None:
        record(charge_make(acme), [60])
        with pytest.raises(NotFound):
            bill_make(actor=member("globex", "tenant_operations_manager").actor, tenant=acme)
        for person in (member("acme", "tenant_front_line"), operator("front_line")):
            with pytest.raises(Forbidden):
                bill_make(actor=person.actor, tenant=acme)
        bill_make(actor=member("acme", "tenant_operations_manager").actor, tenant=acme)
        record(charge_make(acme), [60])
        bill_make(actor=operator("operations_manager").actor, tenant=acme)

    @pytest.mark.req("ELA-2005")
    def test_a_made_bill_is_never_rewritten(self, acme: object) -> None:
        bill_made(acme)
        for write in (
            lambda: Bill.plain.update(total=0),
            lambda: Bill.plain.update(no="B-0"),
            lambda: BillLine.objects.update(amount=0),
            lambda: BillLine.objects.all().delete(),
            lambda: RatedItem.objects.update(bill=None),
        ):
            with pytest.raises((InternalError, IntegrityError)), transaction.atomic():
                write()

    def test_the_month_is_billed_in_the_tenants_zone(self, acme: object) -> None:
        charge = charge_make(acme)
        record(charge, [60])
        now = timezone.now()
        assert [tenant.schema_name for tenant in bill_due_list(until=now)] == ["acme"]
        assert bill_month_of("acme") is False
        assert not Bill.plain.exists()

    def test_the_month_past_is_billed_once(self, acme: object, monkeypatch: pytest.MonkeyPatch) -> None:
        record(charge_make(acme), [60])
        later: datetime = timezone.now() + timedelta(days=32)
        monkeypatch.setattr("django.utils.timezone.now", lambda: later)
        assert bill_month_of("acme") is True
        assert bill_month_of("acme") is False
        assert Bill.plain.get().period_until.astimezone(timezone.get_default_timezone()).day == 1


@pytest.mark.django_db
class TestPay:
    @pytest.mark.req("PLAT-OPS-32", "PLAT-OPS-8", "PLAT-OPS-31")
    def test_from_made_to_paid_with_coupon_and_balance(self, acme: object, member) -> None:
        actor = member("acme", "tenant_operations_manager").actor
        rules = {"face_value": Decimal("0.30"), "ratio_percent": 50}
        coupon = coupon_claim(actor=actor, activity_uid=activity_make(**rules).uid)
        account_open(actor=SYSTEM, tenant=acme)
        deposit(acme, "10")
        bill = bill_made(acme)
        assert (bill.state, bill.total) == ("made", Decimal("0.72"))
        bill_confirm(actor=actor, bill_uid=bill.uid)
        payment = bill_pay(actor=actor, bill_uid=bill.uid, coupon_uid=coupon.uid)
        assert (payment.coupon_amount, payment.balance_amount) == (Decimal("0.30"), Decimal("0.42"))
        assert balance_get(acme) == Decimal("9.58")
        coupon.refresh_from_db()
        assert coupon.state == "used"
        overview = account_overview(tenant=acme)
        assert (overview.balance, overview.unpaid, overview.unbilled) == (Decimal("9.58"), 0, 0)
        assert bill_round(overview.month_cost) == Decimal("0.72")
        paid, billed, paid_in = transaction_list(tenant=acme).order_by("-pk")
        # With coupon and rounding in between, too.
        whole = transactions_whole(tenant=acme).order_by("-pk")
        assert [row.balance_after for row in whole] == [row.balance_after for row in (paid, billed, paid_in)]
        assert (paid.kind, paid.balance_change, paid.coupon_amount) == (
            "payment",
            Decimal("-0.42"),
            Decimal("0.30"),
        )
        assert (billed.balance_change, billed.total) == (0, Decimal("0.72"))
        assert paid_in.balance_after + paid.balance_change == paid.balance_after == Decimal("9.58")
        assert bill_get(actor=actor, uid=bill.uid).state == "paid"
        assert books_balance()

    def test_what_is_lacking_is_named_and_nothing_changes(self, acme: object, member) -> None:
        manager = member("acme", "tenant_operations_manager").actor
        coupon = coupon_claim(actor=manager, activity_uid=activity_make(face_value=Decimal("0.20")).uid)
        bill = confirmed(acme)
        deposit(acme, "0.50")
        with pytest.raises(BalanceTooLow, match=r"0\.02"):
            pay(bill, coupon)
        coupon.refresh_from_db()
        assert (coupon.remaining, balance_get(acme)) == (Decimal("0.20"), Decimal("0.50"))
        assert bill_get(actor=SYSTEM, uid=bill.uid).state == "confirmed"
        deposit(acme, "0.02")
        assert pay(bill, coupon).balance_amount == Decimal("0.52")
        assert balance_get(acme) == 0

    @pytest.mark.req("PLAT-OPS-32")
    def test_it_must_be_confirmed_first_and_is_paid_once(self, acme: object) -> None:
        bill = bill_made(acme)
        deposit(acme, "10")
        with pytest.raises(MoveRefused):
            pay(bill)
        bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
        with pytest.raises(MoveRefused):
            bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
        pay(bill)
        with pytest.raises(MoveRefused):
            pay(bill)
        assert balance_get(acme) == Decimal("9.28")

    def test_a_bill_of_nothing_is_paid_with_nothing(self, acme: object) -> None:
        bill = bill_made(acme, (1,))
        assert bill.total == 0
        bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
        assert pay(bill).balance_amount == 0
        assert books_balance()

    @pytest.mark.req("ELA-2007", "PLAT-TEN-2")
    def test_another_tenants_bill_is_not_found(self, acme: object, member) -> None:
        bill = bill_made(acme)
        stranger = member("globex", "tenant_operations_manager").actor
        for use in (
            lambda: bill_get(actor=stranger, uid=bill.uid),
            lambda: bill_confirm(actor=stranger, bill_uid=bill.uid),
            lambda: bill_pay(actor=stranger, bill_uid=bill.uid),
        ):
            with pytest.raises(NotFound):
                use()
        assert not bill_list(actor=stranger)

    def test_another_tenants_coupon_is_not_found(self, acme: object, member) -> None:
        other = member("globex", "tenant_operations_manager").actor
        coupon = coupon_claim(actor=other, activity_uid=activity_make().uid)
        with pytest.raises(NotFound):
            pay(confirmed(acme), coupon)

    def test_only_those_who_may_pay_pay(self, acme: object, member, operator) -> None:
        bill = confirmed(acme)
        for person in (member("acme", "tenant_decision_maker"), operator("operations_manager")):
            with pytest.raises(Forbidden):
                bill_pay(actor=person.actor, bill_uid=bill.uid)


@pytest.mark.req("PLAT-OPS-32")
def test_of_parallel_payments_of_one_bill_one_wins(committed: None, acme: object) -> None:
    bill = confirmed(acme)
    deposit(acme, "10")
    results = race(*[lambda: pay(bill) for _ in range(4)])
    assert sum(isinstance(result, BillPayment) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 3
    assert balance_get(acme) == Decimal("9.28")
    assert books_balance()


def test_who_acts_on_a_bill_second_hears_one_thing_at_once_or_later(committed: None, acme: object) -> None:
    """S26: "move_refused" or "conflict", by how close behind the second one came."""
    bill = bill_made(acme)
    deposit(acme, "10")
    for act in (lambda: bill_confirm(actor=SYSTEM, bill_uid=bill.uid), lambda: pay(bill)):
        results = [*race(*[act] * 4), *race(act)]
        refused = [result for result in results if isinstance(result, Exception)]
        assert [getattr(error, "code", error) for error in refused] == ["move_refused"] * 4


@pytest.mark.req("PLAT-OPS-32")
def test_parallel_payments_never_overdraw_the_balance(committed: None, acme: object) -> None:
    bills = [confirmed(acme) for _ in range(4)]
    deposit(acme, "1.50")
    results = race(*[lambda bill=bill: pay(bill) for bill in bills])
    assert sum(isinstance(result, BillPayment) for result in results) == 2
    assert sum(isinstance(result, BalanceTooLow) for result in results) == 2
    assert balance_get(acme) == Decimal("0.06")
    assert books_balance()


@pytest.mark.req("PLAT-OPS-26", "PLAT-OPS-32")
def test_a_coupon_used_twice_in_parallel_pays_once(committed: None, acme: object, member) -> None:
    manager = member("acme", "tenant_operations_manager").actor
    coupon = coupon_claim(actor=manager, activity_uid=activity_make(face_value=Decimal("0.72")).uid)
    bills = [confirmed(acme) for _ in range(3)]
    results = race(*[lambda bill=bill: pay(bill, coupon) for bill in bills])
    paid = [result for result in results if isinstance(result, BillPayment)]
    assert [payment.coupon_amount for payment in paid] == [Decimal("0.72")]
    assert sum(isinstance(result, CouponNotUsable) for result in results) == 2
    assert ledger_sum("receivable", acme) == Decimal("1.44")


@pytest.mark.req("ELA-2005")
def test_bills_made_while_use_comes_in_and_is_rated_bill_each_item_once(
    committed: None, acme: object
) -> None:
    charge = charge_make(acme)
    record(charge, [2] * 20)
    more = charge_make(acme)
    reports = intervals(more, [1] * 60)

    def make() -> int:
        made = 0
        for _attempt in range(6):
            try:
                bill_make(actor=SYSTEM, tenant=acme)
                made += 1
            except NothingToBill:
                continue
        return made

    def bring() -> None:
        for report in reports:
            usage_record(actor=SYSTEM, workload_uid=more.workload_uid, reports=[report])

    def rater() -> int:
        return sum(usage_rate(actor=SYSTEM, limit=3) for _attempt in range(30))

    results = race(make, bring, rater, make)
    assert not [result for result in results if isinstance(result, Exception)]
    usage_rate(actor=SYSTEM)
    race(make)
    assert rated_once()
    assert books_balance()
    assert not RatedItem.objects.filter(bill__isnull=True).exists()
    billed = sum(line.share_seconds for line in BillLine.objects.filter(component="cpu"))
    assert billed == 40 + 60
    assert ledger_sum("accrued", acme) == 0
    assert ledger_sum("receivable", acme) == sum(bill.total for bill in Bill.plain.all())
