"""The scheduler as an attacker sees it: who has no right changes nothing, what is sent is refused with its cause."""

import json
import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.api.urls import urlpatterns
from apps.scheduling.models import WhatIf
from apps.scheduling.services.queues.queue_settings import policy_set, queue_change, queue_ensure, queue_make
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make, tenant_ready

ASKED = {"name": "job", "argv": ("true",), "compute_percent": 30, "memory_mib": 100}
PROGRAM = {**ASKED, "argv": ["true"]}
TOO_MANY = (400, 403, 409, 429)
WRITES = ("post", "put", "patch", "delete")


@pytest.fixture
def pool(db, acme, globex):
    node_make(devices=2)
    return tenant_ready(acme), tenant_ready(globex)


def ask(tenant, **more):
    return workload_request(actor=SYSTEM, tenant=tenant, asked=WorkloadRequest(**{**ASKED, **more}))


def fingerprint():
    """Changes with any row of the scheduler."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_app_config("scheduling").get_models():
            table = model._meta.db_table
            cursor.execute(f"SELECT count(*), sum(hashtext(t::text)::bigint) FROM {table} t")
            found[table] = cursor.fetchone()
    return found


# --- who has no right --------------------------------------------------------------------------------------------


def writes():
    """Every (route, method) of the scheduler's API that changes something."""
    for pattern in urlpatterns:
        view = pattern.callback.view_class
        for method in WRITES:
            if hasattr(view, method):
                yield pattern, method


def address(pattern, row):
    """An address of the route, with what the pattern asks for."""
    given = {
        "uid": row.uid, "rule": row.uid, "code": "default", "schema": "acme", "username": "nobody", "pk": 1,
        "item": "instances", "number": 1, "key": row.uid,
    }  # fmt: skip
    path = re.sub(r"<\w+:(\w+)>", lambda found: str(given[found[1]]), str(pattern.pattern))
    return f"/api/v1/{path}"


BODIES = {
    "workloads": PROGRAM, "workloads_bulk": {"jobs": [PROGRAM]}, "workload_dry_run": PROGRAM,
    "workload_scale": {"shares": 1}, "workload_resize": {"compute_percent": 10, "memory_mib": 10},
    "workload_stop": {"reason": "x"}, "queue": {"weight": 9}, "scheduling_policy": {"ordering": "priority"},
    "queues": {"code": "q", "name_en": "q", "name_zh": "q"}, "tenant_quota": {"item": "instances", "total": 0},
    "what_ifs": {"name": "x", "days": 1, "policy": {"ordering": "priority"}},
    "user_priority": {"priority": 1, "most_priority": 9},
    "environments": {"name": "e", "compute_percent": 1, "memory_mib": 1},
}  # fmt: skip


@pytest.mark.req("ELA-1401")
@pytest.mark.parametrize("who", ["reader", "stranger", "executive", "entered"])
def test_whoever_has_no_right_changes_nothing_by_any_route(pool, member, operator, who):
    acme, _globex = pool
    person = {
        "reader": lambda: member("acme", "tenant_decision_maker"),
        "stranger": lambda: member("globex", "tenant_front_line"),
        "executive": lambda: operator("executive"),
        "entered": lambda: operator("executive"),
    }[who]()
    # What a stranger may do at home is not asked here.
    own = ("workloads", "workloads_bulk", "workload_dry_run", "environments") if who == "stranger" else ()
    row = ask(acme)
    more = {"HTTP_WEIR_TENANT": "acme"} if who == "entered" else {}
    api, before, seen = person.api(), fingerprint(), []
    for pattern, method in writes():
        if pattern.name in own:
            continue
        body = BODIES.get(pattern.name, {})
        answer = getattr(api, method)(address(pattern, row), body, format="json", **more)
        seen.append((pattern.name, method, answer.status_code))
        assert 400 <= answer.status_code < 500, seen[-1]
        error = answer.json()["error"]
        assert error["message"], seen[-1]
        if pattern.name in BODIES:
            # A tenant's route asks an operator for the tenant first.
            assert answer.status_code in (403, 404) or who == "executive", (*seen[-1], error)
    assert len(seen) > 25
    assert fingerprint() == before


# --- bad input over the API ----------------------------------------------------------------------------------------


def refused(answer, *, status=(400, 409, 403)):
    """Refused with a cause and, where one can do something, a cure."""
    assert answer.status_code in status, (answer.status_code, answer.content[:300])
    error = answer.json()["error"]
    assert error["code"]
    assert error["message"]
    return error


@pytest.mark.req("ELA-605", "ELA-609", "ELA-404")
def test_each_kind_of_bad_input_is_refused_with_its_cause(pool, member, operator):
    acme, _globex = pool
    api, ops = member("acme", "tenant_front_line").api(), operator("cluster_administrator").api()
    queue_ensure(actor=SYSTEM)
    up = queue_make(
        actor=SYSTEM, code="up", name_en="Up", name_zh="上", changes={"guaranteed_compute_percent": 50}
    )
    queue_make(actor=SYSTEM, code="low", name_en="Low", name_zh="下", changes={"parent": up})
    policy_set(actor=SYSTEM, changes={"max_open_per_user": 3})
    ask(acme, queue="low")
    before = fingerprint()

    def change(code, **body):
        return refused(ops.patch(f"/api/v1/queues/{code}", body, format="json"))

    def submit(**body):
        return refused(api.post("/api/v1/workloads", {**PROGRAM, **body}, format="json"))

    def submit_many(count):
        body = {"jobs": [PROGRAM] * count}
        return refused(api.post("/api/v1/workloads/bulk", body, format="json"), status=TOO_MANY)

    cycle = change("up", parent="low")
    assert cycle["code"] == "queue_cycle"
    assert "up → low → up" in cycle["message"]
    beyond = change("low", guaranteed_compute_percent=60)
    assert beyond["code"] == "guarantee_too_large"
    assert "50" in beyond["message"]
    assert submit(shares=9, compute_percent=100)["code"] == "gang_too_large"
    past = submit(deadline_at=(timezone.now() - timedelta(hours=1)).isoformat())
    assert past["code"] == "deadline_impossible"
    assert submit(distinct_devices=True, shares=3)["code"] == "gang_too_large"
    assert submit(affinity="a", anti_affinity="a")["fields"]
    in_use = refused(ops.delete("/api/v1/queues/low"))
    assert in_use["code"] == "queue_in_use"
    assert in_use["cure"]
    assert "4 more" in submit_many(4)["message"]
    assert submit_many(10_001)["message"]
    assert fingerprint() == before


WRONG = [
    float("nan"), float("inf"), -1, 10**30, -(2**63), 1.5, "１２", "1e3", True, None, [], {}, [[[[[[[[[[]]]]]]]]]],
    "\x00", "x" * 100_000, {"$gt": 1}, ["a"] * 1000,
]  # fmt: skip
FIELDS = (
    "compute_percent", "memory_mib", "shares", "min_shares", "priority", "deadline_at", "earliest_start_at", "queue",
    "run_timeout_s", "labels", "argv", "env", "any_models", "node", "client_key", "name", "reservation",
)  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: repr(wrong)[:20])
def test_no_field_of_a_submission_takes_what_it_is_not(pool, member, wrong):
    api = member("acme", "tenant_front_line").api()
    for field in FIELDS:
        body = json.dumps({**PROGRAM, field: wrong})
        for path in ("workloads", "workloads/dry-run"):
            answer = api.post(f"/api/v1/{path}", body, content_type="application/json")
            assert answer.status_code < 500, (path, field, answer.content[:200])
            if answer.status_code >= 400:
                assert answer.json()["error"]["message"]
            if answer.status_code == 201:
                shown = answer.json()
                assert 1 <= shown["shares"] <= 1000, (field, wrong)
                assert 1 <= shown["compute_percent"] <= 100, (field, wrong)


def test_what_is_asked_of_a_try_is_bounded(pool, operator):
    queue_ensure(actor=SYSTEM)
    api = operator("cluster_administrator").api()
    good = {"name": "x", "days": 1, "policy": {"ordering": "priority"}}
    for wrong in (
        {"days": 31}, {"days": 10**20}, {"policy": {"grace_s": -1}}, {"policy": {"rm": 1}},
        {"queues": {"nobody": {"weight": 1}}}, {"quotas": {"acme": {"instances": 10**30}}},
        {"quotas": {"nobody": {"instances": 1}}}, {"quotas": {"acme": {"dreams": 1}}}, {"policy": {}},
        {"queues": {"default": {"parent": "default"}}}, {"name": "x" * 81}, {"quotas": {"acme": [1]}},
    ):  # fmt: skip
        answer = api.post("/api/v1/what-ifs", {**good, **wrong}, format="json")
        assert answer.status_code in (400, 404, 409), (wrong, answer.status_code, answer.content[:200])
        assert answer.json()["error"]["message"]
    assert not WhatIf.objects.exists()


@pytest.mark.parametrize("wrong", [-1, 10**30, float("nan"), float("inf"), "x", [], {}, None], ids=repr)
def test_no_setting_takes_what_it_is_not_whoever_calls_the_service(pool, wrong):
    """The API's serializers are not the only way in: pages, files and what-ifs call the same services."""
    queue = queue_ensure(actor=SYSTEM)
    before = fingerprint()
    for name in ("grace_s", "max_preemptions", "max_open_per_user", "has_backfill", "ordering", "placing"):
        with pytest.raises(InvalidInput) as refusal:
            policy_set(actor=SYSTEM, changes={name: wrong})
        assert name in refusal.value.fields
    for name in (
        "weight",
        "borrow_compute_percent",
        "guaranteed_memory_mib",
        "preempts",
        "state",
        "ordering",
    ):
        with pytest.raises(InvalidInput) as refusal:
            queue_change(actor=SYSTEM, queue=queue, changes={name: wrong})
        assert name in refusal.value.fields
    assert fingerprint() == before
