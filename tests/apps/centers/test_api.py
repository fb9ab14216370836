"""The operators' API over centres and specifications, in the names that tables 1 to 4 print."""

import pytest

from apps.centers.adapters.base import JobMessage, Quantities
from apps.centers.adapters.kinds import kinds
from apps.centers.models import Center, ResourceSpec
from apps.centers.services.remote_tasks import remote_task_request
from apps.kernel.actor import SYSTEM

pytestmark = pytest.mark.django_db
TABLE_1 = ("ai_center_id", "name", "region", "status", "geometry", "created_at", "updated_at")
TABLE_2 = ("cpu", "gpu", "npu", "mlu", "memory", "storage", "user_define")
TABLE_3 = (
    "resource_spec_id", "resource_spec_name", "resource_quantity", "service_type", "price", "computing_center_list",
    "created_at", "updated_at",
)  # fmt: skip
TABLE_4 = (
    "center_name", "running_task_num", "waiting_task_num", "cpu_used", "cpu_free", "npu_used", "npu_free", "gpu_used",
    "gpu_free", "mlu_used", "mlu_free", "memory_used", "memory_free", "storage_used", "storage_free",
    "defineres_used", "defineres_free",
)  # fmt: skip


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").api()


@pytest.fixture
def body(telling):
    return {
        "ai_center_id": "lake",
        "name": "湖畔智算中心",
        "region": "华东",
        "geometry": [120.15, 30.28],
        "kind": "telling",
        "settings": {"address": str(telling.path)},
        "credential": {"token": "right"},
    }


def test_the_kinds_say_what_is_to_be_filled_in(admin, telling):
    found = {kind["code"]: kind for kind in admin.get("/api/v1/center-kinds").json()}
    assert set(found) == set(kinds()) >= {"local", "ray", "slurm", "telling"}
    token = {field["name"]: field for field in found["telling"]["inputs"]}["token"]
    assert (token["is_secret"], token["is_required"]) == (True, True)
    assert "is_secret" in found["slurm"]["inputs"][0]


@pytest.mark.req(
    "JC-6.1.1-1", "JC-6.1.1-T1.1", "JC-6.1.1-T1.2", "JC-6.1.1-T1.3", "JC-6.1.1-T1.4", "JC-6.1.1-T1.5",
    "JC-6.1.1-T1.6", "JC-6.1.1-T1.7",
)  # fmt: skip
def test_a_centre_is_joined_read_changed_and_removed(admin, body):
    made = admin.post("/api/v1/centers", body)
    assert made.status_code == 201, made.json()
    row = made.json()
    assert set(TABLE_1) <= set(row)
    assert [row[name] for name in TABLE_1[:5]] == ["lake", "湖畔智算中心", "华东", 1, [120.15, 30.28]]
    assert "credential" not in row
    assert "right" not in made.content.decode()
    assert admin.get("/api/v1/centers").json()["results"] == [row]
    changed = admin.patch("/api/v1/centers/lake", {"region": "华北", "geometry": None}).json()
    assert (changed["region"], changed["geometry"]) == ("华北", None)
    assert admin.post("/api/v1/centers/lake/drain").json()["is_drained"] is True
    assert admin.post("/api/v1/centers/lake/undrain").json()["is_drained"] is False
    assert admin.delete("/api/v1/centers/lake").status_code == 204
    assert admin.get("/api/v1/centers/lake").status_code == 404


@pytest.mark.req(
    "JC-6.1.1-2", "JC-6.1.1-T2.1", "JC-6.1.1-T2.2", "JC-6.1.1-T2.3", "JC-6.1.1-T2.4", "JC-6.1.1-T2.5",
    "JC-6.1.1-T2.6", "JC-6.1.1-T2.7", "JC-6.1.3-T4.1", "JC-6.1.3-T4.2", "JC-6.1.3-T4.3", "JC-6.1.3-T4.4",
    "JC-6.1.3-T4.5", "JC-6.1.3-T4.6", "JC-6.1.3-T4.7", "JC-6.1.3-T4.8", "JC-6.1.3-T4.9", "JC-6.1.3-T4.10",
    "JC-6.1.3-T4.11", "JC-6.1.3-T4.12", "JC-6.1.3-T4.13", "JC-6.1.3-T4.14", "JC-6.1.3-T4.15", "JC-6.1.3-T4.16",
    "JC-6.1.3-T4.17",
)  # fmt: skip
def test_what_a_centre_holds_is_told_by_tables_2_and_4(admin, body, telling):
    total = dict(zip(TABLE_2, (64, 8, 4, 2, 262_144, 1000, 5), strict=True))
    used = dict(zip(TABLE_2, (16, 3, 1, 2, 65_536, 10, 0), strict=True))
    telling.say(total=total, used=used)
    row = admin.post("/api/v1/centers", body).json()
    assert row["resources"] == total
    says = row["monitoring"]
    assert set(TABLE_4) <= set(says)
    assert (says["center_name"], says["running_task_num"], says["waiting_task_num"]) == ("湖畔智算中心", 3, 1)
    for name in TABLE_2:
        printed = "defineres" if name == "user_define" else name
        assert says[f"{printed}_used"] == used[name]
        assert says[f"{printed}_used"] + says[f"{printed}_free"] == total[name]
    telling.say(used=used | {"gpu": 8})
    assert admin.post("/api/v1/centers/lake/sample").json()["monitoring"]["gpu_free"] == 0


def test_the_same_key_joins_once(admin, body):
    answers = [admin.post("/api/v1/centers", body, HTTP_IDEMPOTENCY_KEY="j1") for _time in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert Center.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "says", "status", "code"),
    [
        ({}, {"token": "another"}, 400, "center_refused"),
        ({}, {"trouble": "unreachable"}, 409, "center_unreachable"),
        ({}, {"trouble": "broken"}, 409, "center_broken"),
        ({"kind": "abacus"}, {}, 400, "invalid_input"),
        ({"name": "湖" * 22}, {}, 400, "invalid_input"),
        ({"geometry": [1]}, {}, 400, "invalid_input"),
        ({"geometry": [200, 0]}, {}, 400, "invalid_input"),
        ({"settings": {"address": ["a"]}}, {}, 400, "invalid_input"),
        ({"credential": {"token": "a\x00b"}}, {}, 400, "invalid_input"),
        ({"ai_center_id": "lake/../sea"}, {}, 400, "invalid_input"),
    ],
)
def test_what_cannot_be_joined_is_refused_with_cause_and_cure(
    admin, body, telling, change, says, status, code
):
    telling.say(**says)
    answer = admin.post("/api/v1/centers", body | change)
    assert answer.status_code == status, answer.json()
    error = answer.json()["error"]
    assert (error["code"], bool(error["message"]), bool(error["cure"])) == (code, True, True)
    assert not Center.objects.exists()


def test_a_credential_is_set_and_never_told(admin, body, telling):
    admin.post("/api/v1/centers", body)
    telling.say(token="new")
    refused = admin.put("/api/v1/centers/lake/credential", {"credential": {"token": "old"}})
    assert refused.json()["error"]["code"] == "center_refused"
    assert admin.put("/api/v1/centers/lake/credential", {"credential": {"token": "new"}}).status_code == 200
    assert admin.post("/api/v1/centers/lake/sample").json()["status"] == 1


@pytest.mark.req(
    "JC-6.1.2-1", "JC-6.1.2-2", "JC-6.1.2-T3.1", "JC-6.1.2-T3.2", "JC-6.1.2-T3.3", "JC-6.1.2-T3.4", "JC-6.1.2-T3.5",
    "JC-6.1.2-T3.6", "JC-6.1.2-T3.7", "JC-6.1.2-T3.8",
)  # fmt: skip
def test_a_specification_is_made_mapped_and_removed_by_table_3(admin, body):
    admin.post("/api/v1/centers", body)
    given = {
        "resource_spec_id": "gpu-1",
        "resource_spec_name": "One GPU",
        "resource_quantity": {"cpu": "4", "memory": "16Gi", "gpu": "1"},
        "service_type": "batch,interactive",
        "price": 1200,
    }
    made = admin.post("/api/v1/resource-specs", given)
    assert made.status_code == 201, made.json()
    assert set(TABLE_3) <= set(made.json())
    assert {name: made.json()[name] for name in given} == given | {"service_type": "interactive,batch"}
    offer = admin.put(
        "/api/v1/resource-specs/gpu-1/offers/lake", {"price": 1000, "cost": 700, "performance": 1.5}
    ).json()
    assert offer["cost"] == 700
    assert (offer["free_count"], offer["price"], offer["performance"]) == (5, 1000, 1.5)
    row = admin.get("/api/v1/resource-specs/gpu-1").json()
    assert row["computing_center_list"] == "lake"
    assert row["offers"][0]["free_count"] == 5
    refused = admin.patch("/api/v1/resource-specs/gpu-1", {"resource_quantity": {"gpu": "2"}})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "resource_spec_in_use")
    assert admin.patch("/api/v1/resource-specs/gpu-1", {"price": 5}).json()["price"] == 5
    assert admin.delete("/api/v1/centers/lake").json()["error"]["code"] == "center_in_use"
    assert admin.delete("/api/v1/resource-specs/gpu-1/offers/lake").status_code == 204
    assert admin.delete("/api/v1/resource-specs/gpu-1").status_code == 204
    assert admin.get("/api/v1/resource-specs").json()["results"] == []


@pytest.mark.parametrize(
    "change", [{"price": -1}, {"service_type": "x"}, {"resource_quantity": {"cpu": "-1"}}]
)
def test_a_wrong_specification_is_refused(admin, change):
    given = {"resource_spec_id": "a", "resource_spec_name": "A", "resource_quantity": {"cpu": "1"}}
    answer = admin.post("/api/v1/resource-specs", given | change)
    assert answer.json()["error"]["code"] == "invalid_input"
    assert not ResourceSpec.objects.exists()


def test_who_may_not_is_refused(operator, member, acme, body):
    reader, tenant = operator("front_line").api(), member("acme", "tenant_front_line").api()
    assert reader.get("/api/v1/centers").status_code == 200
    assert tenant.get("/api/v1/centers").status_code == 403
    assert operator("operations_manager").api().get("/api/v1/centers").status_code == 403
    assert reader.post("/api/v1/centers", body).status_code == 403
    assert reader.post("/api/v1/resource-specs", {}).status_code in (400, 403)
    assert reader.delete("/api/v1/centers/lake").status_code == 403
    assert not Center.objects.exists()


@pytest.mark.req("JC-7.1.3")
def test_the_work_of_a_centre_is_told_without_its_secrets(admin, join):
    center = join()
    message = JobMessage("run hunter2", Quantities(cpu=1), {"TOKEN": "s3cret"})
    for key in ("weir-1", "weir-2"):
        remote_task_request(actor=SYSTEM, center=center, key=key, message=message, owner="replica 1")
    answer = admin.get("/api/v1/centers/lake/remote-tasks")
    assert [row["key"] for row in answer.json()["results"]] == ["weir-2", "weir-1"]
    row = answer.json()["results"][0]
    assert (row["state"], row["desired"], row["owner"], row["is_left"]) == ("new", "run", "replica 1", False)
    for secret in ("hunter2", "s3cret", "sealed"):
        assert secret not in answer.content.decode()
    assert admin.get("/api/v1/centers/lake").json()["disbelieved_count"] == 0
    assert admin.get("/api/v1/centers/none/remote-tasks").status_code == 404
