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


# --- what operators make ------------------------------------------------------------------------------------------

NAMES = {"name_zh": "算力", "name_en": "Compute"}


@pytest.mark.req("PLAT-OPS-12", "PLAT-SVC-3")
def test_categories_are_made_moved_ordered_disabled_and_deleted(operator, member) -> None:
    ops, tenant = operator("operations_manager").api(), member("acme", "tenant_front_line").api()
    made = [ops.post("/api/v1/categories", NAMES, headers={"Idempotency-Key": "k"}) for _time in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    assert ops.post("/api/v1/categories", {**NAMES, "name_en": "Cards"}).json()["position"] == 2
    below = ops.post("/api/v1/categories", {**NAMES, "name_en": "Small", "parent": "compute"}).json()
    assert (below["code"], below["parent"]) == ("small", "compute")
    moved = ops.put("/api/v1/categories/small", {**NAMES, "name_en": "Smaller", "parent": "cards"}).json()
    assert (moved["code"], moved["name_en"], moved["parent"]) == ("small", "Smaller", "cards")
    assert ops.post("/api/v1/categories/cards/up").json()["position"] == 0
    assert ops.post("/api/v1/categories/cards/disable").json()["is_enabled"] is False
    seen = {row["code"] for row in tenant.get("/api/v1/categories").json()["results"]}
    all_of_them = {row["code"] for row in ops.get("/api/v1/categories").json()["results"]}
    assert (seen, all_of_them) == ({"compute"}, {"compute", "cards", "small"})
    assert ops.delete("/api/v1/categories/cards").status_code == 409
    assert ops.delete("/api/v1/categories/small").status_code == 204
    refused = ops.post("/api/v1/categories", {**NAMES, "parent": "none"})
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"parent"})
    assert ops.post("/api/v1/categories/cards/sideways").status_code == 404
    for method, path in (("post", ""), ("put", "/cards"), ("delete", "/cards"), ("post", "/cards/up")):
        assert getattr(tenant, method)(f"/api/v1/categories{path}", NAMES).status_code == 403


@pytest.mark.req("PLAT-CFG-23")
def test_a_form_is_designed_and_nobody_overwrites_anothers_change(operator, member) -> None:
    ops = operator("operations_manager").api()
    form = ops.post("/api/v1/form-templates", {**NAMES, "kind": "new"}).json()
    address = f"/api/v1/form-templates/{form['code']}"
    field = {"kind": "choice", "label_zh": "用途", "label_en": "Purpose", "choices": ["train", "serve"]}
    form = ops.post(f"{address}/fields", {**field, "version": form["version"]}).json()
    assert ops.post(f"{address}/fields", {**field, "version": 1}).status_code == 409
    form = ops.post(
        f"{address}/fields",
        {"kind": "heading", "label_zh": "表", "label_en": "Head", "version": form["version"]},
    ).json()
    assert [one["name"] for one in form["fields_asked"]] == ["purpose", "head"]
    form = ops.post(f"{address}/fields/head/up", {"version": form["version"]}).json()
    changed = {**field, "default": "serve", "is_required": True, "version": form["version"]}
    form = ops.put(f"{address}/fields/purpose", changed).json()
    assert [(one["name"], one["default"]) for one in form["fields_asked"]] == [
        ("head", None),
        ("purpose", "serve"),
    ]
    refused = ops.put(
        f"{address}/fields/purpose", {**changed, "version": form["version"], "default": "sleep"}
    )
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"default"})
    assert ops.delete(f"{address}/fields/head").status_code == 400
    assert ops.delete(f"{address}/fields/head?version={form['version']}").status_code == 204
    assert ops.put(address, {**NAMES, "name_en": "Asked"}).json()["name_en"] == "Asked"
    assert member("acme", "tenant_front_line").api().get(address).status_code == 403
    assert ops.delete(address).status_code == 204
    assert ops.get(address).status_code == 404


@pytest.mark.req("PLAT-CFG-11", "PLAT-CFG-13", "PLAT-CFG-14", "PLAT-CFG-22")
def test_a_process_is_tied_to_a_form_published_and_kept_while_it_is_used(operator) -> None:
    commodity = commodity_make()
    ops = operator("operations_manager").api()
    used = f"/api/v1/process-applications/{commodity.process_app.uid}"
    shown = ops.get(used).json()
    assert (shown["kind"], shown["state"]) == ("new", "published")
    given = {name: shown[name] for name in ("category", "form_template", "process_template")} | NAMES
    made = ops.post("/api/v1/process-applications", given).json()
    address = f"/api/v1/process-applications/{made['uid']}"
    assert made["state"] == "draft"
    assert ops.post(f"{address}/publish").json()["state"] == "published"
    bound = {name: shown[name] for name in ("form_template", "process_template")}
    assert ops.put(address, bound).status_code == 409
    assert ops.post(f"{address}/unpublish").json()["state"] == "unpublished"
    assert ops.put(address, bound).status_code == 200
    refused = ops.put(address, {**bound, "process_template": str(commodity.uid)})
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"process_template"})
    assert ops.delete(address).status_code == 204
    ops.post(f"{used}/unpublish")
    assert ops.delete(used).status_code == 409


@pytest.mark.req("PLAT-OPS-9", "PLAT-OPS-10", "PLAT-OPS-13", "PLAT-OPS-15", "PLAT-OPS-16")
def test_a_commodity_is_made_priced_listed_changed_and_copied(operator, member) -> None:
    other = commodity_make()
    ops, tenant = operator("operations_manager").api(), member("acme", "tenant_front_line").api()
    given = {
        **NAMES,
        "kind": "work",
        "category": "gpu",
        "process_app": str(other.process_app.uid),
        "termination_app": str(other.termination_app.uid),
        "argv": ["python", "train.py", "two words"],
        "env": {"STEPS": "10"},
        "components": [{"component": "cpu", "minimum": 1, "maximum": 4, "default": 2}],
    }
    made = ops.post("/api/v1/commodities", given)
    assert made.status_code == 201, made.json()
    row = made.json()
    address = f"/api/v1/commodities/{row['uid']}"
    assert {name: row[name] for name in ("argv", "env", "kind", "is_for_all", "version")} == {
        "argv": given["argv"], "env": given["env"], "kind": "work", "is_for_all": True, "version": 1,
    }  # fmt: skip
    assert ops.post(f"{address}/list").status_code == 409
    lines = [{"component": "cpu", "tiers": [[None, "0.10"]]}]
    assert ops.post(f"{address}/prices", {"lines": lines}).status_code == 201
    assert ops.post(f"{address}/list").json()["is_listed"] is True
    assert tenant.get(address).json()["name_en"] == "Compute"
    version = ops.get(f"{address}/definition").json()["version"]
    changed = ops.put(f"{address}/definition", {**given, "argv": ["sleep", "1"], "version": version}).json()
    assert (changed["argv"], changed["version"]) == (["sleep", "1"], version + 1)
    stale = ops.put(f"{address}/definition", {**given, "version": version})
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "conflict")
    refused = ops.post("/api/v1/commodities", {**given, "queue": "none", "spec": "none"})
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"queue", "spec"})
    swapped = {"process_app": given["termination_app"], "termination_app": given["process_app"]}
    refused = ops.post("/api/v1/commodities", given | swapped)
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, set(swapped))
    only = ops.put(f"{address}/tenants", {"is_for_all": False, "tenants": ["globex"]}).json()
    assert (only["is_for_all"], only["tenants"]) == (False, ["globex"])
    assert tenant.get(address).status_code == 404
    assert ops.put(f"{address}/tenants", {"is_for_all": False, "tenants": ["none"]}).status_code == 400
    copied = ops.post(f"{address}/copy").json()
    assert (copied["uid"] != row["uid"], copied["is_listed"]) == (True, False)
    assert tenant.post("/api/v1/commodities", given).status_code == 403
    assert tenant.get(f"{address}/definition").status_code == 403
