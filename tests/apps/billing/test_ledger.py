"""The ledger's own guards, and money paid in."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.db.models import Sum
from django.utils import timezone

from apps.billing.errors import AccountNotOpened, RefundTooHigh
from apps.billing.locks import ledger_accounts
from apps.billing.models import LedgerAccount, LedgerLeg, LedgerTransaction
from apps.billing.selectors.accounts import (
    account_overview,
    balance_get,
    transaction_list,
    transactions_whole,
)
from apps.billing.selectors.bills import bill_due_list
from apps.billing.selectors.costs import cost_total
from apps.billing.services.ledger import account_deposit, account_open, account_refund
from apps.billing.services.rating import usage_rate
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from tests.apps.billing.scene import books_balance, charge_make, deposit, record
from tests.apps.catalog.racing import race


@pytest.fixture
def opened(db: None, acme: object) -> object:
    account_open(actor=SYSTEM, tenant=acme)
    return acme


def legs_write(tenant: object, *amounts: str, key: str = "test") -> None:
    accounts = ledger_accounts(tenant)
    row = LedgerTransaction.objects.create(idempotency_key=key, kind="deposit", tenant=tenant)
    for kind, amount in zip(("cash", "balance", "revenue"), amounts, strict=False):
        LedgerLeg.objects.create(transaction=row, account=accounts[kind], amount=Decimal(amount))


def committed_legs(tenant: object, *amounts: str) -> None:
    """Write legs, then run the deferred triggers as commit would."""
    legs_write(tenant, *amounts)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


@pytest.mark.req("ELA-1906")
def test_legs_that_do_not_sum_to_zero_are_refused_at_commit(opened: object) -> None:
    with pytest.raises(IntegrityError, match="sum to zero"), transaction.atomic():
        committed_legs(opened, "10", "-9.9999999999")
    committed_legs(opened, "10", "-10")


def test_a_balance_below_zero_is_refused_at_commit(opened: object) -> None:
    with pytest.raises(IntegrityError, match="would be negative"), transaction.atomic():
        committed_legs(opened, "-10", "10")


def test_legs_and_transactions_are_never_rewritten(opened: object) -> None:
    deposit(opened, "10")
    for write in (
        lambda: LedgerLeg.objects.update(amount=1),
        lambda: LedgerLeg.objects.all().delete(),
        lambda: LedgerTransaction.objects.update(reference="x"),
        lambda: connection.cursor().execute("DELETE FROM billing_ledgertransaction"),
    ):
        with pytest.raises((InternalError, IntegrityError), match="append-only"), transaction.atomic():
            write()


def test_an_idempotency_key_is_used_once(opened: object) -> None:
    legs_write(opened, "1", "-1")
    with pytest.raises(IntegrityError), transaction.atomic():
        legs_write(opened, "1", "-1")


@pytest.mark.req("PLAT-OPS-28", "PLAT-TEN-35")
def test_an_account_is_opened_once(db: None, acme: object) -> None:
    assert not account_overview(tenant=acme).is_open
    with pytest.raises(AccountNotOpened):
        deposit(acme, "1")
    first = account_open(actor=SYSTEM, tenant=acme)
    assert account_open(actor=SYSTEM, tenant=acme) == first
    assert account_overview(tenant=acme).is_open


@pytest.mark.django_db
def test_a_tenant_with_books_of_its_own_moves_nothing_of_the_centres(acme: object, globex: object) -> None:
    account_open(actor=SYSTEM, tenant=acme)
    charge = charge_make(acme)
    account_open(actor=SYSTEM, tenant=acme, has_own_books=True)
    record(charge, [100])
    record(charge_make(globex), [50])
    usage_rate(actor=SYSTEM, limit=500)
    deposit(acme, "10.00")
    assert books_balance()
    moved = {row.code: row.sum for row in LedgerAccount.objects.annotate(sum=Sum("legs__amount"))}
    assert moved["revenue:acme"] < moved["revenue"] < 0
    assert (moved["cash:acme"], moved["cash"]) == (10, None)
    assert (
        cost_total(actor=SYSTEM, tenant=None) == cost_total(actor=SYSTEM, tenant=globex) == -moved["revenue"]
    )
    assert cost_total(actor=SYSTEM, tenant=acme) == -moved["revenue:acme"]
    assert list(bill_due_list(until=timezone.now())) == [globex]


@pytest.mark.req("ELA-1909")
def test_a_deposit_counts_once(opened: object) -> None:
    first = deposit(opened, "100.50", "bank-1")
    assert deposit(opened, "100.50", "bank-1") == first
    with pytest.raises(Conflict, match=r"100\.50"):
        deposit(opened, "100.51", "bank-1")
    assert balance_get(opened) == Decimal("100.50")
    assert books_balance()


@pytest.mark.req("ELA-1909")
@pytest.mark.parametrize("amount", ["0", "-1", "0.001", "1e12", "NaN", "Infinity"])
def test_an_absurd_deposit_changes_nothing(opened: object, amount: str) -> None:
    with pytest.raises(InvalidInput):
        account_deposit(actor=SYSTEM, tenant=opened, amount=Decimal(amount), reference="r")
    assert not LedgerTransaction.objects.exists()


@pytest.mark.req("ELA-1909")
def test_only_the_operators_billing_deposits(opened: object, member, operator) -> None:
    for person in (member("acme", "tenant_operations_manager"), operator("front_line")):
        with pytest.raises(Forbidden):
            account_deposit(actor=person.actor, tenant=opened, amount=Decimal(1), reference="r")
    actor = operator("operations_manager").actor
    account_deposit(actor=actor, tenant=opened, amount=Decimal(1), reference="r")


@pytest.mark.req("PLAT-OPS-8")
def test_each_balance_follows_from_the_one_before(opened: object) -> None:
    for amount in ("5", "7.25", "0.01"):
        deposit(opened, amount)
    rows = list(transaction_list(tenant=opened).order_by("pk"))
    assert [row.balance_after for row in rows] == [5, Decimal("12.25"), Decimal("12.26")]
    assert [row.balance_change for row in rows] == [5, Decimal("7.25"), Decimal("0.01")]
    whole = transactions_whole(tenant=opened).order_by("-created_at", "-pk")
    assert [row.balance_after for row in whole] == [Decimal("12.26"), Decimal("12.25"), 5]


@pytest.mark.req("ELA-1909")
def test_parallel_deposits_of_one_payment_count_once(committed: None, acme: object) -> None:
    account_open(actor=SYSTEM, tenant=acme)
    results = race(*[lambda: deposit(acme, "10", "bank-7") for _ in range(4)])
    assert {result.pk for result in results} == {results[0].pk}
    assert balance_get(acme) == 10


def test_parallel_openings_make_one_account(committed: None, acme: object, globex: object) -> None:
    tenants = [acme, globex, acme, globex]
    results = race(*[lambda tenant=tenant: account_open(actor=SYSTEM, tenant=tenant) for tenant in tenants])
    assert [result.tenant for result in results] == tenants
    assert results[0] == results[2]


@pytest.mark.req("ELA-1909")
def test_of_parallel_refunds_no_more_is_paid_out_than_there_is(committed, acme):
    charge_make(acme)
    deposit(acme, "30")

    def refund(number):
        return account_refund(
            actor=SYSTEM, tenant=acme, amount=Decimal(6), reference=f"o-{number}", reason="asked for it"
        )

    results = race(*[lambda number=number: refund(number) for number in range(8)])
    # 30 less 7.16, which are set aside for an hour of its work.
    assert sum(isinstance(result, LedgerTransaction) for result in results) == 3
    assert all(isinstance(result, (LedgerTransaction, RefundTooHigh)) for result in results)
    assert books_balance()
