"""A bill as a document: what it says of seller and buyer stays, its parts add up, and its files say the same."""

import io
import re
import tracemalloc
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import transaction
from django.db.utils import IntegrityError, OperationalError, ProgrammingError
from django.utils import translation
from openpyxl import load_workbook

from apps.billing.bill_document import bill_document, bill_parts, part_lengths
from apps.billing.models import Bill
from apps.billing.report.pdf import pdf_of
from apps.billing.selectors.accounts import transaction_list
from apps.billing.services.bills import bill_confirm, bill_correct, bill_make, bill_pay
from apps.billing.services.ledger import account_deposit, account_open
from apps.billing.types import BillDocument, BillPart, PartLine, Party
from apps.centre.services import centre_seller_set
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, NotFound
from apps.tenancy.services import tenant_buyer_set
from tests.apps.billing.pdf_text import pages_of
from tests.apps.billing.scene import charge_make, record

pytestmark = pytest.mark.django_db

SELLER = {
    "legal_name": "Weir Computing 有限公司",
    "address": "1 Weir Road, Shanghai 上海市堰路 1 号",
    "tax_number": "91310000MA1FL0000X",
    "bank": "Bank of Rivers, 6222 0000 1111",
}
BUYER = {"legal_name": "Acme Research Ltd.", "address": "5 Lab Street", "tax_number": "ACME-77"}


@pytest.fixture
def named(acme):
    centre_seller_set(actor=SYSTEM, **SELLER)
    return tenant_buyer_set(actor=SYSTEM, tenant=acme, **BUYER)


@pytest.fixture
def bill(named):
    record(charge_make(named), [600, 1234])
    record(charge_make(named, person="Bob"), [77])
    record(charge_make(named, person="Cid", work="train the small model"), [1800])
    return bill_make(actor=SYSTEM, tenant=named)


@pytest.mark.req("PLAT-OPS-32")
def test_seller_and_buyer_stay_as_they_were_when_the_bill_was_made(named, bill):
    centre_seller_set(actor=SYSTEM, legal_name="Another", address="", tax_number="", bank="")
    tenant_buyer_set(actor=SYSTEM, tenant=named, legal_name="", address="elsewhere", tax_number="")
    document = bill_document(Bill.plain.get(pk=bill.pk), SYSTEM)
    assert (document.seller.name, document.seller.bank) == (SELLER["legal_name"], SELLER["bank"])
    assert (document.buyer.name, document.buyer.tax_number) == (BUYER["legal_name"], BUYER["tax_number"])
    # The database keeps it, whoever writes.
    with pytest.raises((IntegrityError, OperationalError, ProgrammingError)), transaction.atomic():
        Bill.plain.filter(pk=bill.pk).update(buyer={})
    record(charge_make(named), [60])
    later = bill_document(bill_make(actor=SYSTEM, tenant=named), SYSTEM)
    assert (later.seller.name, later.buyer.name, later.buyer.address) == ("Another", named.name, "elsewhere")


@pytest.mark.req("PLAT-OPS-32", "PLAT-OPS-50")
def test_the_parts_add_up_to_the_total_and_rounding_is_told(bill):
    document, parts = bill_document(bill, SYSTEM), list(bill_parts(bill, SYSTEM))
    assert [len(part.lines) for part in parts] == part_lengths(bill, SYSTEM) == [4, 4, 4]
    assert sum(part.subtotal for part in parts) == document.total == bill.total
    assert all(part.subtotal == sum(line.amount for line in part.lines) for part in parts)
    exact = sum(line.exact for part in parts for line in part.lines)
    assert document.exact == exact
    assert document.rounding == bill.total - exact
    assert [part.name for part in parts][-1] == "train the small model"


@pytest.mark.req("PLAT-OPS-8", "PLAT-OPS-32")
def test_what_the_account_says_of_a_bill_is_the_bills_total_to_the_cent(named):
    account_open(actor=SYSTEM, tenant=named)
    account_deposit(actor=SYSTEM, tenant=named, amount=Decimal(100), reference="D-0")
    for seconds in (61, 599, 1799):
        record(charge_make(named), [seconds])
        made = bill_make(actor=SYSTEM, tenant=named)
        row = transaction_list(tenant=named).get(kind="bill", reference=made.no)
        assert row.total == made.total
        bill_confirm(actor=SYSTEM, bill_uid=made.uid)
        bill_pay(actor=SYSTEM, bill_uid=made.uid)
        paid = transaction_list(tenant=named).get(kind="payment", reference=made.no)
        assert (paid.total, paid.balance_change) == (made.total, -made.total)
        assert made.total == made.total.quantize(Decimal("0.01"))


# --- files -----------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-OPS-32")
def test_the_pdf_says_who_sells_what_to_whom_and_how_it_was_paid(bill):
    account_deposit(actor=SYSTEM, tenant=bill.tenant, amount=Decimal(100), reference="D-0")
    bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
    bill_pay(actor=SYSTEM, bill_uid=bill.uid)
    bill_correct(
        actor=SYSTEM, bill_uid=bill.uid, amount=Decimal("0.25"), reason="Node was down", reference="C-7"
    )
    kept = Bill.plain.get(pk=bill.pk)
    document = bill_document(kept, SYSTEM)
    data = pdf_of(document, part_lengths(kept, SYSTEM), bill_parts(kept, SYSTEM))
    (page,) = pages_of(data)
    for said in (
        bill.no, "Weir Computing", SELLER["tax_number"], SELLER["bank"], *BUYER.values(), "CNY", "Subtotal", "Rounding",
        "train the small model", "Bob", "Paid from the balance", "Correction", "C-7", "Node was down", "Page 1 of 1",
        f"{bill.total:,.2f}",
    ):  # fmt: skip
        assert said in page, said
    assert page.count("Page 1 of 1") == 1


@pytest.mark.req("PLAT-OPS-32", "PLAT-GEN-7")
def test_the_pdf_speaks_the_readers_language(bill):
    with translation.override("zh-hans"):
        document = bill_document(bill, SYSTEM)
        data = pdf_of(document, part_lengths(bill, SYSTEM), bill_parts(bill, SYSTEM))
    (page,) = pages_of(data)
    for said in ("账单", "销售方", "购买方", "小计", "有限公司"):
        assert said in page, said


def long_bill(count):
    cost = Decimal("1.25")
    line = PartLine(uuid4(), "Compute share", Decimal(25), "%", Decimal("0.05"), "hour", 3600, cost, cost)
    now = datetime(2026, 11, 27, tzinfo=UTC)
    party = Party("Somebody")
    document = BillDocument(
        "B-LONG-000001",
        "made",
        "Made",
        party,
        party,
        now,
        now,
        now,
        "CNY",
        line.amount * count,
        Decimal(0),
        True,
    )
    parts = (
        BillPart(f"O-{number}", "Work", "Ada", "", None, uuid4(), (line,) * 4, line.amount * 4)
        for number in range(count // 4)
    )
    return document, [4] * (count // 4), parts


def test_a_long_bill_is_drawn_as_it_is_read():
    document, lengths, parts = long_bill(2000)
    tracemalloc.start()
    pdf_of(document, lengths, parts)
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # What grows is the file itself: its pages, packed.
    assert most < 6 * 1024 * 1024, most


def test_a_bill_of_ten_thousand_lines_breaks_over_pages_with_its_head_on_each():
    document, lengths, parts = long_bill(10_000)
    pages = pages_of(pdf_of(document, lengths, parts))
    count = len(pages)
    assert count > 200
    for number in (0, 1, count // 2, count - 1):
        text = pages[number]
        assert f"Page {number + 1} of {count}" in text
        assert "B-LONG-000001" in text
    assert "Unit price" in pages[count // 2]
    assert "¥12,500.00" in pages[count - 1]


@pytest.mark.req("PLAT-OPS-32")
def test_the_workbook_has_figures_and_no_formula(named, member):
    record(charge_make(named, person="=1+1"), [600])
    bill = bill_make(actor=SYSTEM, tenant=named)
    page = member("acme", "tenant_operations_manager").page()
    answer = page.get(f"/billing/bills/{bill.uid}/xlsx/")
    assert f'filename="{bill.no}.xlsx"' in answer["Content-Disposition"]
    book = load_workbook(io.BytesIO(answer.content))
    facts = {row[0].value: row[1].value for row in book.worksheets[0].iter_rows() if len(row) > 1}
    assert Decimal(str(facts["Total"])) == bill.total
    assert facts["Seller"] == SELLER["legal_name"]
    head, *rows = book.worksheets[1].iter_rows()
    amounts = [row[len(head) - 1] for row in rows]
    assert all(cell.data_type == "n" for cell in amounts)
    assert sum(Decimal(str(cell.value)) for cell in amounts) == bill.total
    assert rows[0][2].value == "=1+1"
    assert rows[0][2].data_type == "s"


# --- pages, API, rights ----------------------------------------------------------------------------------------


def texts(answer, status=200):
    assert answer.status_code == status
    return " ".join(answer.content.decode().split())


@pytest.mark.req("PLAT-OPS-32", "PLAT-OPS-55")
def test_the_page_is_the_document_with_its_parts_and_the_total_once(bill, member):
    page = member("acme", "tenant_operations_manager").page()
    shown = texts(page.get(f"/billing/bills/{bill.uid}/"))
    assert shown.count('data-test="bill-part"') == 3
    assert shown.count('data-test="bill-total"') == 1
    for said in (bill.no, SELLER["legal_name"], BUYER["tax_number"], "train the small model"):
        assert said in shown, said
    parts = list(bill_parts(bill, SYSTEM))
    assert f'href="/orders/{parts[0].order_uid}/"' in shown
    assert page.get(f"/billing/bills/{bill.uid}/pdf/").content.startswith(b"%PDF")


@pytest.mark.req("PLAT-SEC-4", "PLAT-TEN-2")
def test_another_tenant_finds_no_file_of_it_and_who_sees_no_costs_none_at_all(bill, member, operator):
    for kind in ("pdf", "xlsx"):
        path = f"/billing/bills/{bill.uid}/{kind}/"
        assert member("globex", "tenant_operations_manager").page().get(path).status_code == 404
        assert member("acme", "tenant_system_administrator").page().get(path).status_code == 403
        there = member("globex", "tenant_operations_manager").api().get(f"/api/v1/bills/{bill.uid}/{kind}")
        assert there.status_code == 404
        manager = operator("operations_manager")
        assert manager.page().get(f"/bills/{bill.uid}/{kind}/").status_code == 200
        assert operator("cluster_administrator").page().get(f"/bills/{bill.uid}/{kind}/").status_code == 403
    api = member("acme", "tenant_operations_manager").api()
    assert api.get(f"/api/v1/bills/{bill.uid}/pdf").content.startswith(b"%PDF")
    whole = api.get(f"/api/v1/bills/{bill.uid}").json()
    assert whole["seller"]["name"] == SELLER["legal_name"]
    assert whole["buyer"]["tax_number"] == BUYER["tax_number"]


@pytest.mark.req("PLAT-OPS-32", "PLAT-SEC-4")
def test_who_pays_or_runs_the_tenant_says_what_bills_call_it(acme, globex, member, operator):
    for role in ("tenant_operations_manager", "tenant_system_administrator"):
        page = member("acme", role).page()
        assert "buyer-form" in texts(page.get("/billing/details/"))
        told = page.post("/billing/details/", {**BUYER, "legal_name": f"  {role}  Ltd. "}, follow=True)
        assert "Saved" in texts(told)
        acme.refresh_from_db()
        assert acme.legal_name == f"{role} Ltd."
        assert texts(page.post("/billing/details/", {"tax_number": "9" * 41}), 400)
    front = member("acme", "tenant_front_line")
    assert front.page().get("/billing/details/").status_code == 403
    with pytest.raises(Forbidden):
        tenant_buyer_set(actor=front.actor, tenant=acme, **BUYER)
    with pytest.raises(NotFound):
        tenant_buyer_set(actor=front.actor, tenant=globex, **BUYER)
    api = member("acme", "tenant_operations_manager").api()
    moved = api.patch("/api/v1/billing-details", {"address": "7 New Lane"}, format="json")
    assert moved.json()["address"] == "7 New Lane"
    admin = operator("system_administrator")
    answer = admin.api().patch(
        "/api/v1/tenants/globex/billing-details", {"legal_name": "Globex AG"}, format="json"
    )
    assert answer.json()["legal_name"] == "Globex AG"
    assert admin.page().post("/tenants/globex/buyer/", BUYER).status_code == 302
    globex.refresh_from_db()
    assert globex.address == BUYER["address"]
    assert operator("front_line").page().post("/tenants/globex/buyer/", BUYER).status_code == 403


@pytest.mark.req("PLAT-OPS-32")
def test_the_centres_page_and_the_api_say_what_bills_say_of_their_seller(operator):
    admin = operator("system_administrator")
    assert "seller-form" in texts(admin.page().get("/centre/"))
    assert admin.page().post("/centre/seller/", SELLER).status_code == 302
    assert admin.api().get("/api/v1/centre").json()["bank"] == SELLER["bank"]
    changed = admin.api().patch("/api/v1/centre", {"tax_number": "T-2"}, format="json").json()
    assert (changed["tax_number"], changed["legal_name"]) == ("T-2", SELLER["legal_name"])
    long = admin.page().post("/centre/seller/", {"tax_number": "9" * 41})
    assert re.search('data-test="error-tax_number"', texts(long, 400))
    assert operator("front_line").page().post("/centre/seller/", SELLER).status_code == 403
