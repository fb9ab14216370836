"""The operators' pages of money: accounts and bills of all tenants, and what is given back, refunded or written off."""

import csv
import io
from decimal import Decimal

import pytest
from django.urls import reverse

from apps.billing.models import Account, Bill
from apps.billing.selectors.accounts import balance_get
from apps.billing.services.bills import bill_confirm, bill_make, bill_pay
from apps.billing.services.ledger import account_deposit, account_open, credit_limit_set
from apps.billing.states import BillState
from apps.kernel.actor import SYSTEM
from tests.apps.billing.scene import charge_make, record

pytestmark = pytest.mark.django_db


def text(answer, status=200):
    assert answer.status_code == status, answer.content.decode()
    return " ".join(answer.content.decode().split())


def confirmed(tenant, seconds=600):
    record(charge_make(tenant), [seconds])
    return bill_confirm(actor=SYSTEM, bill_uid=bill_make(actor=SYSTEM, tenant=tenant).uid)


def paid(tenant):
    bill = confirmed(tenant)
    account_deposit(actor=SYSTEM, tenant=tenant, amount=Decimal(100), reference="D-0")
    bill_pay(actor=SYSTEM, bill_uid=bill.uid, coupon_uid=None)
    return Bill.plain.get(pk=bill.pk)


@pytest.fixture
def manager(operator):
    return operator("operations_manager").page()


@pytest.mark.req("PLAT-OPS-28")
def test_accounts_of_all_tenants_stand_with_what_is_on_them_and_what_is_owed(manager, acme, globex):
    bill = confirmed(acme)
    account_open(actor=SYSTEM, tenant=globex)
    account_deposit(actor=SYSTEM, tenant=globex, amount=Decimal("12.34"), reference="G-1")
    credit_limit_set(actor=SYSTEM, tenant=globex, amount=Decimal(500), reason="known for years")
    shown = text(manager.get("/accounts/"))
    for said in (f"{bill.total:.2f}", "12.34", "500.00", 'data-schema="acme"', 'data-schema="globex"'):
        assert said in shown, said
    narrowed = text(manager.get("/accounts/", {"search": "glob"}))
    assert 'data-schema="globex"' in narrowed
    assert 'data-schema="acme"' not in narrowed
    assert "Nothing matches" in text(manager.get("/accounts/", {"search": "nobody"}))
    level = Account.plain.get(tenant=acme).funds_level
    assert 'data-schema="acme"' in text(manager.get("/accounts/", {"level": level}))


@pytest.mark.req("PLAT-OPS-32")
def test_bills_are_narrowed_summed_and_exported_as_they_stand(manager, acme, globex):
    ours, theirs = paid(acme), confirmed(globex)
    shown = text(manager.get("/bills/"))
    assert f'data-test="bills-total">{ours.total + theirs.total:.2f}' in shown.replace("¥", "").replace(
        " CNY", ""
    )
    for query in ({"tenant": "acme"}, {"state": "paid"}, {"no": ours.no[2:]}):
        narrowed = text(manager.get("/bills/", query))
        assert f'data-no="{ours.no}"' in narrowed, query
        assert f'data-no="{theirs.no}"' not in narrowed, query
    answer = manager.get("/bills/", {"tenant": "globex", "export": "csv"})
    lines = list(csv.reader(io.StringIO(b"".join(answer).decode("utf-8-sig"))))
    assert [line[:2] for line in lines] == [["Number", "Tenant"], [theirs.no, globex.name]]
    assert lines[0][4] == "Total (CNY)"
    assert Decimal(lines[1][4]) == theirs.total


@pytest.mark.req("PLAT-OPS-32")
def test_a_bill_shows_its_lines_and_a_tenants_unpaid_one_is_written_off_with_a_reason(manager, acme):
    bill = confirmed(acme)
    shown = text(manager.get(f"/bills/{bill.uid}/"))
    assert shown.count('data-test="bill-line"') == bill.lines.count() > 0
    assert 'data-test="correct"' not in shown
    assert "required" in text(manager.post(f"/bills/{bill.uid}/write-off/", {"reason": ""}), 400)
    assert Bill.plain.get(pk=bill.pk).state == BillState.CONFIRMED
    answer = manager.post(f"/bills/{bill.uid}/write-off/", {"reason": "they went bankrupt"})
    assert answer["Location"] == f"/bills/{bill.uid}/"
    shown = text(manager.get(f"/bills/{bill.uid}/"))
    assert Bill.plain.get(pk=bill.pk).state == BillState.WRITTEN_OFF
    assert 'data-test="write-off"' not in shown
    text(manager.post(f"/bills/{bill.uid}/write-off/", {"reason": "again"}), 409)


def test_what_a_paid_bill_charged_too_much_is_given_back_once(manager, acme):
    bill = paid(acme)
    before = balance_get(acme)
    given = {"amount": "0.01", "reference": "C-1", "reason": "a wrong tariff"}
    for _again in range(2):
        assert manager.post(f"/bills/{bill.uid}/correct/", given).status_code == 302
    assert balance_get(acme) == before + Decimal("0.01")
    assert "0.01" in text(manager.get(f"/bills/{bill.uid}/")).partition('data-test="corrected"')[2][:200]
    too_much = given | {"reference": "C-2", "amount": str(bill.total)}
    text(manager.post(f"/bills/{bill.uid}/correct/", too_much), 400)
    assert balance_get(acme) == before + Decimal("0.01")


@pytest.mark.req("PLAT-OPS-28", "PLAT-OPS-32")
def test_a_tenants_page_refunds_and_bills(manager, acme):
    account_open(actor=SYSTEM, tenant=acme)
    account_deposit(actor=SYSTEM, tenant=acme, amount=Decimal(100), reference="D-1")
    given = {"amount": "40", "reference": "R-1", "reason": "they leave"}
    for _again in range(2):
        assert manager.post("/tenants/acme/refund/", given).status_code == 302
    assert balance_get(acme) == 60
    text(manager.post("/tenants/acme/bill/"), 409)
    record(charge_make(acme), [60])
    bill = manager.post("/tenants/acme/bill/")["Location"]
    assert bill == f"/bills/{Bill.plain.get(tenant=acme).uid}/"
    shown = text(manager.get("/tenants/acme/"))
    assert 'data-test="refund"' in shown
    assert f'href="{reverse("operator:bills")}?tenant=acme"' in shown


def test_who_may_only_look_is_shown_no_act_and_refused(operator, acme):
    bill = confirmed(acme)
    reader = operator("executive").page()
    shown = text(reader.get(f"/bills/{bill.uid}/"))
    assert 'data-test="write-off"' not in shown
    assert "for a role that manages money" in shown
    for path in (f"/bills/{bill.uid}/write-off/", f"/bills/{bill.uid}/correct/", "/tenants/acme/refund/"):
        assert reader.post(path, {"amount": "1", "reference": "X", "reason": "x"}).status_code == 403
    assert Bill.plain.get(pk=bill.pk).state == BillState.CONFIRMED


def test_an_installation_without_money_says_what_comes_first(manager):
    assert "No account yet" in text(manager.get("/accounts/"))
    assert "No bills yet" in text(manager.get("/bills/"))
    assert b"".join(manager.get("/bills/?export=csv")).decode("utf-8-sig").count("\n") == 1


@pytest.mark.req("PLAT-TEN-2")
def test_a_tenants_people_reach_none_of_it_and_no_words_break_it(member, manager, acme, globex):
    theirs = confirmed(globex)
    stranger = member("acme", "tenant_system_administrator").page()
    for path in ("/accounts/", "/bills/", "/bills/?export=csv", f"/bills/{theirs.uid}/"):
        for host in ("localhost", "acme.localhost"):
            answer = stranger.get(path, headers={"host": host})
            assert theirs.no.encode() not in b"".join(answer), (path, host)
            assert b"globex" not in b"".join(answer), (path, host)
    for act in ("correct", "write-off"):
        given = {"amount": "1", "reference": "x", "reason": "x"}
        answer = stranger.post(f"/bills/{theirs.uid}/{act}/", given, headers={"host": "localhost"})
        assert answer.status_code in (302, 403, 404)
    assert Bill.plain.get(pk=theirs.pk).state == BillState.CONFIRMED
    for words in ("\x00", "%' OR 1=1 --", "x" * 100_000, "'; DROP TABLE", "\ud83d"):
        for name, path in (
            ("search", "/accounts/"),
            ("no", "/bills/"),
            ("tenant", "/bills/"),
            ("state", "/bills/"),
        ):
            answer = manager.get(path, {name: words.encode("utf-8", "replace").decode()})
            assert answer.status_code in (200, 400), (path, name)
    for amount in ("-1", "0", "NaN", "1e99", "0.001", ""):
        given = {"amount": amount, "reference": "x", "reason": "x"}
        assert manager.post(f"/bills/{theirs.uid}/correct/", given).status_code in (400, 409), amount
        assert manager.post("/tenants/globex/refund/", given).status_code in (400, 409), amount
