"""Money over the API: the same rules, the same refusals, nothing of another tenant."""

from decimal import Decimal

import pytest

from apps.billing.models import Bill, LedgerTransaction
from apps.billing.services.bills import bill_make
from apps.billing.services.ledger import account_open
from apps.catalog.services.coupons import coupon_claim
from apps.kernel.actor import SYSTEM
from tests.apps.billing.scene import charge_make, deposit, record
from tests.apps.catalog.test_coupons import activity_make

pytestmark = pytest.mark.django_db


@pytest.mark.req("PLAT-OPS-32", "PLAT-OPS-55", "ELA-2004", "PLAT-CMP-18")
def test_from_use_to_the_paid_bill_and_down_to_its_records(acme: object, member) -> None:
    manager = member("acme", "tenant_operations_manager")
    client = manager.api()
    coupon = coupon_claim(actor=manager.actor, activity_uid=activity_make(face_value=Decimal("0.20")).uid)
    record(charge_make(acme), [100, 80, 45])
    deposit(acme, "5")
    made = client.post("/api/v1/bills", {})
    assert made.status_code == 201
    bill = made.json()
    assert (bill["total"], bill["state"], len(bill["lines"])) == ("0.45", "made", 4)
    address = f"/api/v1/bills/{bill['uid']}"
    assert client.post(f"{address}/pay", {}).status_code == 409
    assert client.post(f"{address}/confirm").json()["state"] == "confirmed"
    paid = client.post(f"{address}/pay", {"coupon": str(coupon.uid)}).json()
    assert (paid["state"], paid["payment"]["coupon_amount"], paid["payment"]["balance_amount"]) == (
        "paid",
        "0.20",
        "0.25",
    )
    line = next(line for line in bill["lines"] if line["component"] == "gpu_memory")
    whole = client.get(f"{address}/lines/{line['uid']}", {"page_size": 2}).json()
    assert (whole["unit_amount"], whole["share_seconds"], whole["exact"], whole["amount"]) == (
        "5.60",
        225,
        "0.35",
        "0.35",
    )
    assert [step["amount"] for step in whole["steps"]] == ["4.00", "1.60"]
    assert whole["price_version"]["number"] == 1
    records = whole["records"]
    assert [row["seconds"] for row in records["results"]] == [100, 80]
    assert records["results"][0]["report_id"].endswith("/1")
    assert [row["seconds"] for row in client.get(records["next"]).json()["records"]["results"]] == [45]


@pytest.mark.req("PLAT-OPS-8", "PLAT-OPS-7", "PLAT-OPS-25")
def test_account_and_transactions(acme: object, member) -> None:
    client = member("acme", "tenant_operations_manager").api()
    assert client.get("/api/v1/account").json()["is_open"] is False
    account_open(actor=SYSTEM, tenant=acme)
    for amount in ("5", "2.50"):
        deposit(acme, amount)
    assert client.get("/api/v1/account").json()["balance"] == "7.50"
    rows = client.get("/api/v1/account/transactions").json()["results"]
    assert [(row["balance_change"], row["balance_after"]) for row in rows] == [
        ("2.50", "7.50"),
        ("5.00", "5.00"),
    ]


@pytest.mark.req("PLAT-TEN-2", "ELA-2007")
def test_another_tenants_bill_answers_404(acme: object, member) -> None:
    record(charge_make(acme), [100])
    bill = bill_make(actor=SYSTEM, tenant=acme)
    line = bill.lines.first()
    stranger = member("globex", "tenant_operations_manager").api()
    address = f"/api/v1/bills/{bill.uid}"
    assert not stranger.get("/api/v1/bills").json()["results"]
    for answer in (
        stranger.get(address),
        stranger.post(f"{address}/confirm"),
        stranger.post(f"{address}/pay", {}),
        stranger.get(f"{address}/lines/{line.uid}"),
    ):
        assert answer.status_code == 404
    assert Bill.plain.get().state == "made"


def test_roles(acme: object, member, operator) -> None:
    record(charge_make(acme), [100])
    bill = bill_make(actor=SYSTEM, tenant=acme)
    staff = member("acme", "tenant_front_line").api()
    assert staff.get("/api/v1/bills").status_code == 403
    maker = member("acme", "tenant_decision_maker").api()
    assert len(maker.get("/api/v1/bills").json()["results"]) == 1
    assert maker.post(f"/api/v1/bills/{bill.uid}/confirm").status_code == 403
    assert maker.post("/api/v1/tenants/acme/deposit", {"amount": "1", "reference": "x"}).status_code == 403
    ops = operator("operations_manager").api()
    assert [row["tenant"] for row in ops.get("/api/v1/bills").json()["results"]] == ["acme"]
    assert ops.post("/api/v1/bills", {}).status_code == 400


@pytest.mark.req("ELA-1909")
def test_a_deposit_sent_twice_counts_once(acme: object, operator) -> None:
    ops = operator("operations_manager").api()
    address = "/api/v1/tenants/acme/deposit"
    body = {"amount": "12.34", "reference": "bank-9"}
    assert ops.post(address, body).status_code == 409
    assert ops.post("/api/v1/tenants/acme/account").status_code == 201
    for key in ("a", "a", "b"):
        assert ops.post(address, body, headers={"Idempotency-Key": key}).json()["balance"] == "12.34"
    assert (
        ops.post(address, {"amount": "1", "reference": "c"}, headers={"Idempotency-Key": "a"}).status_code
        == 409
    )
    assert LedgerTransaction.objects.count() == 1
    for amount in ("0", "-1", "1.001", "1e99", "NaN", "many", None):
        assert ops.post(address, {"amount": amount, "reference": "d"}).status_code == 400
    assert ops.post("/api/v1/tenants/nobody/deposit", body).status_code == 404


@pytest.mark.req("PLAT-OPS-32")
def test_a_payment_sent_twice_is_one(acme: object, member) -> None:
    client = member("acme", "tenant_operations_manager").api()
    record(charge_make(acme), [360])
    deposit(acme, "1")
    bill = client.post("/api/v1/bills", {}, headers={"Idempotency-Key": "m"}).json()
    assert client.post("/api/v1/bills", {}, headers={"Idempotency-Key": "m"}).json() == bill
    client.post(f"/api/v1/bills/{bill['uid']}/confirm")
    pay = [
        client.post(f"/api/v1/bills/{bill['uid']}/pay", {}, headers={"Idempotency-Key": "p"})
        for _ in range(2)
    ]
    assert [answer.status_code for answer in pay] == [200, 200]
    assert client.get("/api/v1/account").json()["balance"] == "0.28"


@pytest.mark.req("PLAT-OPS-32")
def test_what_is_lacking_is_named(acme: object, member) -> None:
    client = member("acme", "tenant_operations_manager").api()
    record(charge_make(acme), [360])
    bill = client.post("/api/v1/bills", {}).json()
    client.post(f"/api/v1/bills/{bill['uid']}/confirm")
    error = client.post(f"/api/v1/bills/{bill['uid']}/pay", {}, headers={"Accept-Language": "en"}).json()[
        "error"
    ]
    assert error["code"] == "balance_too_low"
    assert "0.72" in error["message"]
    assert client.post(f"/api/v1/bills/{bill['uid']}/pay", {"coupon": "x"}).status_code == 400


@pytest.mark.req("PLAT-OPS-38")
def test_costs_by_dimension(acme: object, globex: object, member, operator) -> None:
    record(charge_make(acme), [360])
    record(charge_make(globex), [360])
    for tenant in (acme, globex):
        bill_make(actor=SYSTEM, tenant=tenant)
    client = member("acme", "tenant_decision_maker").api()
    for dimension in ("resource_type", "business_system", "organization", "supplier", "tenant"):
        assert client.get("/api/v1/costs", {"dimension": dimension}).json()["total"] == "0.716"
    assert client.get("/api/v1/costs", {"dimension": "colour"}).status_code == 400
    ops = operator("executive").api().get("/api/v1/costs", {"dimension": "tenant"}).json()
    assert (ops["total"], [row["key"] for row in ops["rows"]]) == ("1.432", ["acme", "globex"])
