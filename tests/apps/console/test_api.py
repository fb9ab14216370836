"""The operators' API: tenants, their quota, the overview."""

import pytest

from apps.kernel.actor import SYSTEM
from apps.scheduling.services.quota.quotas import DEFAULTS, quota_set
from apps.telemetry.services.alarms import alarm_raise
from apps.tenancy.models import Tenant
from tests.apps.fleet.agent import Agent

pytestmark = pytest.mark.django_db
PATHS = (
    ("get", "tenants"), ("post", "tenants"), ("post", "tenants/acme/suspend"), ("post", "tenants/acme/resume"),
    ("get", "tenants/acme/quota"), ("put", "tenants/acme/quota"), ("get", "overview"),
)  # fmt: skip
FIRST = {"display_name": "Ida", "username": "ida"}


@pytest.mark.req("PLAT-GEN-11", "PLAT-TEN-2")
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_a_tenants_people_are_refused(member, method, path):
    client = member("acme", "tenant_system_administrator").api()
    assert getattr(client, method)(f"/api/v1/{path}", {}).status_code == 403
    assert Tenant.objects.get(schema_name="acme").is_active


@pytest.mark.req("PLAT-TEN-8")
def test_tenants_are_listed_provisioned_suspended_resumed(operator):
    client = operator("system_administrator").api()
    assert {row["schema"] for row in client.get("/api/v1/tenants").json()["results"]} >= {"acme", "globex"}
    made = client.post("/api/v1/tenants", {"schema": "initech", "name": "Initech", "administrator": FIRST})
    assert made.status_code == 201, made.content
    assert client.post("/api/v1/tenants/initech/suspend", {"reason": "x"}).json()["state"] == "suspended"
    again = client.post("/api/v1/tenants/initech/suspend", {})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "move_refused")
    assert client.post("/api/v1/tenants/initech/resume").json()["state"] == "active"


def test_provisioning_the_same_call_twice_makes_one_tenant(operator):
    client = operator("system_administrator").api()
    given = {"schema": "twice", "name": "Twice", "administrator": FIRST}
    answers = [
        client.post("/api/v1/tenants", given, headers={"Idempotency-Key": "k-1"}) for _again in range(2)
    ]
    assert [answer.status_code for answer in answers] == [201, 409]
    assert "held a secret" in answers[1].json()["error"]["message"]
    other = client.post("/api/v1/tenants", given | {"name": "X"}, headers={"Idempotency-Key": "k-1"})
    assert other.status_code == 409
    assert Tenant.objects.filter(name__in=["Twice", "X"]).count() == 1


@pytest.mark.parametrize("schema", ["public", "ACME", "a", "1abc", "pg_x", "acme; drop"])
def test_a_code_that_is_none_is_refused_and_makes_nothing(operator, schema):
    before = Tenant.objects.count()
    given = {"schema": schema, "name": "N", "administrator": FIRST}
    answer = operator("system_administrator").api().post("/api/v1/tenants", given)
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, ["schema"])
    assert Tenant.objects.count() == before


def test_changing_needs_the_right_and_unknown_tenants_are_not_found(operator):
    executive = operator("executive").api()
    assert executive.post("/api/v1/tenants/acme/suspend", {}).status_code == 403
    assert executive.post("/api/v1/tenants", {"schema": "new", "name": "N"}).status_code == 403
    assert executive.put("/api/v1/tenants/acme/quota", {"instances": 1}).status_code == 403
    admin = operator("system_administrator").api()
    assert admin.post("/api/v1/tenants/nobody/suspend", {}).status_code == 404
    assert admin.get("/api/v1/tenants/nobody/quota").status_code == 404


@pytest.mark.req("PLAT-TEN-10", "PLAT-TEN-11")
def test_a_quota_is_set_all_or_nothing_and_shows_its_figures(operator, acme, globex):
    quota_set(actor=SYSTEM, tenant=globex, item="instances", total=9)
    client = operator("cluster_administrator").api()
    answer = client.put("/api/v1/tenants/acme/quota", {"instances": 4, "gpu_memory_mib": 4096})
    assert answer.status_code == 200, answer.content
    figures = {row["item"]: row for row in answer.json()}
    assert figures["instances"]["total"] == figures["instances"]["left"] == 4
    for wrong in ({"instances": 5, "gpu_memory_mib": -1}, {"instances": 5, "cats": 1}, {"instances": "many"}):
        assert client.put("/api/v1/tenants/acme/quota", wrong).status_code == 400
    assert {row["item"]: row["total"] for row in client.get("/api/v1/tenants/acme/quota").json()} == {
        **DEFAULTS,
        "instances": 4,
        "gpu_memory_mib": 4096,
    }
    others = {row["item"]: row["total"] for row in client.get("/api/v1/tenants/globex/quota").json()}
    assert others == {**DEFAULTS, "instances": 9}


def test_the_overview_shows_what_the_role_may_see(operator):
    Agent("n1")
    alarm_raise(actor=SYSTEM, key="k", level="major", msgid="x")
    person = operator("executive")
    body = person.api().get("/api/v1/overview").json()
    assert body["tenants"] == 2
    assert body["nodes"] == [{"state": "ready", "count": 1}]
    assert {"level": "major", "count": 1} in body["alarms"]
    assert (body["held_percent"], body["limit_percent"]) == (0, 100)
    assert body["waiting_workloads"] == 0
    role = person.user.operator_bindings.get().role
    role.permissions = ["tenancy.view"]
    role.save()
    body = person.api().get("/api/v1/overview").json()
    assert body["alarms"] is body["nodes"] is body["cases"] is body["revenue_month"] is None
