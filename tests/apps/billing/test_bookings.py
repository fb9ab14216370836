"""Refund, correction and write-off are bookings of their own: with a reason, once, never more than there is."""

from decimal import Decimal

import pytest

from apps.audit.models import Record
from apps.billing.errors import CorrectionTooHigh, RefundTooHigh
from apps.billing.models import LedgerTransaction
from apps.billing.selectors.accounts import account_get, funds_of, ledger_sum
from apps.billing.services.bills import bill_confirm, bill_correct, bill_make, bill_pay, bill_write_off
from apps.billing.services.ledger import account_open, account_refund, credit_limit_set
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from tests.apps.billing.scene import books_balance, charge_make, deposit, record

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def opened(acme):
    account_open(actor=SYSTEM, tenant=acme)


def billed(tenant, seconds=3500):
    """A confirmed bill of a charge."""
    record(charge_make(tenant), [seconds])
    bill = bill_make(actor=SYSTEM, tenant=tenant)
    return bill_confirm(actor=SYSTEM, bill_uid=bill.uid)


def refund(tenant, amount, reference="out-1", reason="leaves us", actor=SYSTEM):
    return account_refund(
        actor=actor, tenant=tenant, amount=Decimal(amount), reference=reference, reason=reason
    )


def correct(bill, amount, reference="c-1", reason="node was slow", actor=SYSTEM):
    return bill_correct(
        actor=actor, bill_uid=bill.uid, amount=Decimal(amount), reference=reference, reason=reason
    )


@pytest.mark.req("ELA-1909")
def test_a_refund_is_at_most_what_was_paid_in_and_is_neither_owed_nor_set_aside(acme):
    deposit(acme, "100")
    bill = billed(acme)
    credit_limit_set(actor=SYSTEM, tenant=acme, amount=Decimal(50), reason="contract")
    held = funds_of(account_get(acme)).reserved
    most = 100 - bill.total - held
    with pytest.raises(RefundTooHigh) as caught:
        refund(acme, most.quantize(Decimal("0.01")) + Decimal("0.01"))
    assert "was paid in and is not spent" in str(caught.value.message)
    first = refund(acme, "60")
    assert refund(acme, "60") == first, "the same again is the same refund"
    with pytest.raises(Conflict):
        refund(acme, "59")
    assert -ledger_sum("balance", acme) == 40
    assert (first.kind, first.reason) == ("refund", "leaves us")
    act = Record.objects.filter(name="account_refund").earliest("pk")
    assert (act.detail["amount"], act.detail["reason"]) == ("60", "leaves us")
    assert books_balance()


@pytest.mark.req("ELA-1909")
def test_credit_is_never_paid_out(acme):
    charge_make(acme)
    assert funds_of(account_get(acme)).spendable > 1000
    with pytest.raises(RefundTooHigh):
        refund(acme, "0.01")


@pytest.mark.req("ELA-1909")
def test_a_paid_bill_is_corrected_by_at_most_what_was_paid(acme):
    deposit(acme, "100")
    bill = billed(acme)
    with pytest.raises(Conflict):
        correct(bill, "1")
    bill_pay(actor=SYSTEM, bill_uid=bill.uid)
    before = -ledger_sum("balance", acme)
    first = correct(bill, "2")
    assert correct(bill, "2") == first
    rest = bill.total - 2
    with pytest.raises(CorrectionTooHigh):
        correct(bill, rest + Decimal("0.01"), reference="c-2")
    correct(bill, rest, reference="c-2")
    with pytest.raises(CorrectionTooHigh):
        correct(bill, "0.01", reference="c-3")
    assert -ledger_sum("balance", acme) == before + bill.total
    assert ledger_sum("receivable", acme) == 0
    assert books_balance()


@pytest.mark.req("ELA-1909")
def test_a_bill_that_will_not_be_paid_is_written_off_whole_and_once(acme):
    bill = billed(acme)
    owed = funds_of(account_get(acme)).owed
    assert ledger_sum("receivable", acme) == bill.total
    bill = bill_write_off(actor=SYSTEM, bill_uid=bill.uid, reason="insolvent")
    assert (bill.state, ledger_sum("receivable", acme)) == ("written_off", 0)
    assert funds_of(account_get(acme)).owed == owed - bill.total
    for again in (
        lambda: bill_write_off(actor=SYSTEM, bill_uid=bill.uid, reason="twice"),
        lambda: bill_pay(actor=SYSTEM, bill_uid=bill.uid),
        lambda: correct(bill, "1"),
    ):
        with pytest.raises(Conflict):
            again()
    posted = LedgerTransaction.objects.get(kind="write_off")
    assert (posted.reason, posted.reference) == ("insolvent", bill.no)
    assert books_balance()


@pytest.mark.req("ELA-1909")
def test_each_wants_a_reason_a_sound_amount_and_the_right(acme, member, operator):
    deposit(acme, "100")
    bill = billed(acme)
    for amount, reference, reason in (
        ("0", "r", "x"), ("-1", "r", "x"), ("0.001", "r", "x"), ("NaN", "r", "x"), ("1", " ", "x"),
        ("1", "r" * 81, "x"), ("1", "r", " "), ("1", "r", "x" * 201),
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            refund(acme, amount, reference=reference, reason=reason)
        with pytest.raises(InvalidInput):
            correct(bill, amount, reference=reference, reason=reason)
    with pytest.raises(InvalidInput):
        bill_write_off(actor=SYSTEM, bill_uid=bill.uid, reason="")
    for actor in (
        member("acme", "tenant_operations_manager").actor,
        operator("executive").actor,
    ):
        for act in (
            lambda actor=actor: refund(acme, "1", actor=actor),
            lambda actor=actor: correct(bill, "1", actor=actor),
            lambda actor=actor: bill_write_off(actor=actor, bill_uid=bill.uid, reason="x"),
        ):
            with pytest.raises(Forbidden):
                act()


@pytest.mark.req("ELA-1909", "ELA-1911")
def test_by_the_api_and_by_the_operators_pages(acme, operator):
    charge_make(acme)
    ops = operator("operations_manager")
    api, page = ops.api(), ops.page()
    tenants = "/api/v1/tenants/acme"
    api.post(f"{tenants}/deposit", {"amount": "100", "reference": "d-1"})
    shown = api.put(f"{tenants}/credit-limit", {"amount": "50", "reason": "contract"}).json()
    assert (shown["credit_limit"], shown["funds_level"]) == ("50.00", "enough")
    assert Decimal(shown["spendable"]) == 150 - Decimal(shown["reserved"])
    assert api.put(f"{tenants}/credit-limit", {"amount": "-1", "reason": "x"}).status_code == 400
    assert api.put(f"{tenants}/credit-limit", {"amount": "1"}).status_code == 400
    body = {"amount": "10", "reference": "o-1", "reason": "asked for it"}
    for _time in range(2):
        assert api.post(f"{tenants}/refund", body).json()["balance"] == "90.00"
    assert api.post(f"{tenants}/refund", {**body, "amount": "1000", "reference": "o-2"}).status_code == 409
    record(charge_make(acme), [3500])
    bill = bill_make(actor=SYSTEM, tenant=acme)
    address = f"/api/v1/bills/{bill.uid}"
    assert api.post(f"{address}/correct", {**body, "amount": "1"}).status_code == 409
    bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
    bill_pay(actor=SYSTEM, bill_uid=bill.uid)
    assert api.post(f"{address}/correct", {**body, "amount": "1"}).status_code == 200
    assert api.post(f"{address}/write-off", {"reason": "x"}).status_code == 409

    # The pages do the same.
    def done(address, **given):
        assert page.post(address, {}).status_code == 400
        assert page.post(address, given).status_code == 302

    done("/tenants/acme/credit/", amount="70", reason="more")
    done("/tenants/acme/refund/", **body | {"reference": "o-3"})
    account = account_get(acme)
    assert account is not None
    assert account.credit_limit == 70
    done(f"/bills/{bill.uid}/correct/", **body | {"amount": "1", "reference": "c-9"})
    kinds = list(LedgerTransaction.objects.order_by("pk").values_list("kind", flat=True))
    assert (kinds.count("refund"), kinds.count("correction")) == (2, 2)
    record(charge_make(acme), [1000])
    other = bill_make(actor=SYSTEM, tenant=acme)
    done(f"/bills/{other.uid}/write-off/", reason="lost")
    other.refresh_from_db()
    assert other.state == "written_off"
