"""The catalogue over the API."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.catalog.models import Coupon, PriceVersion
from tests.apps.catalog.market import DEFINITIONS, PRICES, commodity_make
from tests.apps.catalog.test_coupons import activity_make

pytestmark = pytest.mark.django_db


@pytest.mark.req("PLAT-SVC-1", "PLAT-SVC-4")
def test_the_catalogue(member) -> None:
    commodity = commodity_make()
    client = member("acme", "tenant_front_line").api()
    found = client.get("/api/v1/commodities", {"search": "GPU"}).json()["results"]
    assert [row["number"] for row in found] == ["GPU-1"]
    one = client.get(f"/api/v1/commodities/{commodity.uid}").json()
    assert (one["supplier"], one["category"]["parent"], len(one["components"])) == ("Weir", "compute", 4)
    assert not client.get("/api/v1/commodities", {"search": "boat"}).json()["results"]
    assert {row["code"] for row in client.get("/api/v1/categories").json()["results"]} == {"compute", "gpu"}


@pytest.mark.req("PLAT-OPS-13", "PLAT-OPS-14")
def test_an_operator_delists_and_the_tenant_sees_it_gone(member, operator) -> None:
    commodity = commodity_make()
    address = f"/api/v1/commodities/{commodity.uid}"
    client, ops = member("acme", "tenant_front_line").api(), operator("operations_manager").api()
    assert client.post(f"{address}/delist").status_code == 403
    assert ops.post(f"{address}/delist").json()["is_listed"] is False
    assert client.get(address).status_code == 404
    assert ops.get(address).json()["number"] == "GPU-1"
    assert len(ops.get("/api/v1/commodities").json()["results"]) == 1
    assert ops.post(f"{address}/sell").status_code == 404


@pytest.mark.req("PLAT-OPS-50")
def test_prices_are_published_and_refused(operator, member) -> None:
    commodity = commodity_make()
    address = f"/api/v1/commodities/{commodity.uid}/prices"
    lines = [
        {"component": line.component, "tiers": line.tiers, "tier_method": line.tier_method} for line in PRICES
    ]
    ops = operator("operations_manager").api()
    assert ops.post(address, {"lines": lines}).status_code == 201
    lines[1] = {**lines[1], "tiers": [["8", "1"], ["4", "2"]]}
    refused = ops.post(address, {"lines": lines})
    assert refused.status_code == 400
    assert "gpu_memory" in refused.json()["error"]["fields"]
    assert ops.post(address, {"lines": [{"component": "cpu", "tiers": [[None, None]]}]}).status_code == 400
    client = member("acme", "tenant_front_line").api()
    assert client.post(address, {"lines": lines}).status_code == 403
    assert [row["number"] for row in client.get(address).json()["results"]] == [2, 1]
    assert PriceVersion.objects.count() == 2


@pytest.mark.req("PLAT-OPS-29", "PLAT-OPS-30", "PLAT-OPS-31")
def test_a_coupon_is_claimed_once_however_often_it_is_sent(member) -> None:
    activity = activity_make(per_tenant_limit=2)
    client = member("acme", "tenant_operations_manager").api()
    seen = client.get("/api/v1/coupon-activities", {"claimable": "true"}).json()["results"]
    assert [(row["face_value"], row["left_count"]) for row in seen] == [("50.00", 3)]
    address = f"/api/v1/coupon-activities/{activity.uid}/claim"
    answers = [client.post(address, headers={"Idempotency-Key": "k1"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert Coupon.plain.count() == 1
    assert client.get("/api/v1/coupons").json()["results"][0]["remaining"] == "50.00"
    other = member("globex", "tenant_operations_manager").api()
    assert not other.get("/api/v1/coupons").json()["results"]
    assert member("acme", "tenant_front_line").api().post(address).status_code == 403


@pytest.mark.req("PLAT-CFG-21")
def test_a_process_is_imported_and_one_with_code_refused(operator) -> None:
    ops = operator("operations_manager").api()
    xml = sorted(DEFINITIONS.glob("*.bpmn"))[0].read_bytes()

    def send(data: bytes) -> object:
        file = SimpleUploadedFile("p.bpmn", data, "application/xml")
        return ops.post("/api/v1/process-templates", {"key": "mine", "file": file}, format="multipart")

    assert send(xml).status_code == 201
    refused = send(
        xml.replace(b"</process>", b'<scriptTask id="Evil_1"/></process>').replace(
            b"</bpmn:process>", b'<bpmn:scriptTask id="Evil_1"/></bpmn:process>'
        )
    )
    assert refused.status_code == 400
    assert "Evil_1" in refused.content.decode()
    assert send(b"x" * 600_000).status_code == 400
    assert len(ops.get("/api/v1/process-templates").json()["results"]) == 1
