"""Work submitted directly through the API: what is refused at once, what it gets, what it holds and costs."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.audit.models import Record
from apps.billing.models import Charge
from apps.catalog.pricing.price import price
from apps.catalog.selectors.prices import price_lines, pricing_line
from apps.fleet.models import Device, Slice
from apps.fleet.services import groups, specs
from apps.identity.models import User
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.notices.models import Message
from apps.orgs.services.business_systems import (
    business_system_create,
    business_system_member_add,
    business_system_member_remove,
    business_systems_delete,
)
from apps.orgs.services.organizations import organization_create
from apps.scheduling.models import QuotaHold, Workload
from apps.scheduling.selectors.entitlements.hourly_price import hourly_price
from apps.scheduling.selectors.workloads import quota_get, workload_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import direct_commodity_set, queue_change, queue_ensure
from apps.scheduling.services.quota.quotas import quota_defaults, quota_set
from apps.scheduling.services.workloads.slice_reports import slice_ended
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant
from tests.apps.catalog.market import PRICES, RANGES, commodity_make
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_cycles import ended, started
from tests.harness.money import account_ready

API = "/api/v1/workloads"
PROGRAM = {"name": "train", "argv": ["python", "-c", "print(1)"], "compute_percent": 30, "memory_mib": 1024}
SESSION = {"name": "lab", "kind": "session", "compute_percent": 30, "memory_mib": 1024}


@pytest.fixture
def pool(db, acme, globex):
    """Two nodes of two devices, and tenants with quota and account."""
    for tenant in (acme, globex):
        quota_defaults(actor=SYSTEM, tenant=tenant)
        account_ready(tenant)
    return node_make("n1", devices=2), node_make("n2", devices=2)


@pytest.fixture
def alice(pool, member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def api(alice):
    return alice.api()


def submit(api, body=PROGRAM, *, expect=201, **more):
    response = api.post(API, {**body, **more}, format="json")
    assert response.status_code == expect, response.content
    return response.json() if expect == 201 else response.json()["error"]


def row_of(found):
    return Workload.objects.across().get(uid=found["uid"])


def test_a_field_nobody_knows_is_refused_by_its_name(api):
    error = submit(api, expect=400, typo_field=3, command=["x"])
    assert error["fields"] == {"command": "There is no such field.", "typo_field": "There is no such field."}
    answer = api.post(f"{API}/bulk", {"jobs": [PROGRAM, {**PROGRAM, "shard": 2}]}, format="json")
    assert answer.json()["error"]["fields"] == {"jobs[1].shard": "There is no such field."}
    assert not Workload.objects.across().exists()


def test_when_it_would_start_is_answered_without_a_program(api):
    """`weir eta --share 30 --memory 4096`."""
    asked = {"name": "dry run", "compute_percent": 30, "memory_mib": 1024}
    answer = api.post(f"{API}/dry-run", asked, format="json")
    assert answer.status_code == 200, answer.content
    assert answer.json()["compute_percent"] == 30


@pytest.mark.req("POOL-5-1", "POOL-7.1a", "ELA-210")
def test_a_program_is_taken_in_placed_and_shown_with_what_it_holds(api, acme):
    found = submit(api)
    assert (found["state"], found["kind"], found["order_uid"], found["grants"]) == (
        "pending",
        "program",
        None,
        [],
    )
    cycle_run(actor=SYSTEM)
    (grant,) = api.get(f"{API}/{found['uid']}").json()["grants"]
    assert (grant["compute_percent"], grant["memory_mib"], grant["mounted"]) == (30, 1024, False)
    assert grant["node"] in ("n1", "n2")
    assert api.get(f"/api/v1/workloads/{found['uid']}").json()["grants"] == [grant]
    assert [row["uid"] for row in api.get(f"{API}?state=placed").json()["results"]] == [found["uid"]]
    assert api.get(f"{API}?queue=nobody").json()["results"] == []


@pytest.mark.req("ELA-402")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"compute_percent": 0}, "share_too_large"),
        ({"compute_percent": 101}, "share_too_large"),
        ({"memory_mib": 8193}, "share_too_large"),
        ({"memory_mib": 10**12}, "share_too_large"),
        ({"shares": 9, "compute_percent": 100}, "gang_too_large"),
        ({"shares": 3, "compute_percent": 100, "single_node": True}, "gang_too_large"),
        ({"shares": 5, "distinct_devices": True}, "gang_too_large"),
        ({"shares": 0}, "invalid_input"),
        ({"model": "H100"}, "no_such_model"),
        ({"vendor": "acme"}, "no_such_model"),
        ({"node": "n9"}, "no_such_node"),
        ({"local_node": "n9"}, "no_such_node"),
        ({"placing": "local"}, "invalid_input"),
        ({"placing": "somewhere"}, "invalid_input"),
        ({"device": "n1-d9"}, "no_such_device"),
        ({"queue": "fast"}, "no_such_queue"),
        ({"spec": "small"}, "no_such_spec"),
        ({"environment": "lab"}, "invalid_input"),
        ({"resource_group": "lab"}, "no_such_group"),
        ({"kind": "dance"}, "invalid_input"),
        ({"argv": []}, "invalid_input"),
        ({"affinity": "a", "shares": 2}, "invalid_input"),
        ({"priority": 10**6}, "invalid_input"),
        ({"run_timeout_s": 0}, "invalid_input"),
    ],
)
def test_what_could_never_run_is_refused_by_name_and_leaves_nothing(api, wrong, code):
    assert submit(api, expect=400, **wrong)["code"] == code
    assert not Workload.objects.across().exists()
    assert not QuotaHold.plain.exists()
    assert not Charge.plain.exists()


def test_only_who_operates_resources_submits(pool, member):
    assert submit(member("acme", "tenant_decision_maker").api(), expect=403)["code"] == "forbidden"


@pytest.mark.req("POOL-12.7", "POOL-12.8", "POOL-7.2c", "POOL-7.2d")
def test_a_named_model_node_and_device_are_the_ones_it_gets(api, pool):
    Device.objects.filter(uid="n2-d1").update(model="Other")
    for wish, device in (
        ({"model": "Other"}, "n2-d1"),
        ({"node": "n1"}, None),
        ({"device": "n1-d1"}, "n1-d1"),
    ):
        found = submit(api, **wish)
        cycle_run(actor=SYSTEM)
        (grant,) = api.get(f"{API}/{found['uid']}").json()["grants"]
        assert grant["device_uid"] == device if device else grant["node"] == "n1"
    pool[1].state = "drained"
    pool[1].save()
    assert submit(api, expect=409, node="n2")["code"] == "node_unavailable"


# --- environments and specs --------------------------------------------------------------------------------------


@pytest.mark.req("POOL-12.1")
def test_work_in_a_fixed_environment_gets_the_environments_amounts(api):
    body = {"name": "one", "compute_percent": 7, "memory_mib": 333}
    made = api.post("/api/v1/environments", body, format="json").json()
    assert (made["is_fixed"], made["shares"]) == (True, 1)
    found = submit(api, environment="one", compute_percent=90, memory_mib=4000, shares=2)
    assert (found["compute_percent"], found["memory_mib"], found["shares"]) == (7, 333, 1)
    assert found["environment"] == "one"
    cycle_run(actor=SYSTEM)
    assert Slice.plain.get().memory_mib == 333
    refused = api.post(f"{API}/{found['uid']}/resize", {"compute_percent": 50}, format="json")
    assert refused.json()["error"]["code"] == "amounts_fixed"
    again = api.post("/api/v1/environments", body, format="json")
    assert again.status_code == 409


@pytest.mark.req("POOL-12.1")
def test_another_environment_only_fills_in_and_a_retired_one_is_gone(api, member):
    made = api.post(
        "/api/v1/environments",
        {"name": "two", "is_fixed": False, "compute_percent": 7, "memory_mib": 333},
        format="json",
    ).json()
    found = submit(api, {"name": "x", "argv": ["a"], "environment": made["uid"], "memory_mib": 500})
    assert (found["compute_percent"], found["memory_mib"]) == (7, 500)
    path = f"/api/v1/environments/{made['uid']}"
    assert member("globex", "tenant_front_line").api().get(path).status_code == 404
    assert api.delete(path).status_code == 204
    assert api.get(path).status_code == 404
    assert api.get("/api/v1/environments").json()["results"] == []
    assert submit(api, expect=400, environment="two")["code"] == "invalid_input"


@pytest.mark.req("POOL-12.14")
def test_a_specification_decides_whatever_else_is_asked(api):
    specs.spec_make(actor=SYSTEM, code="small", name_en="Small", compute_percent=11, memory_mib=222)
    found = submit(api, spec="small", env={"WEIR_SHARE": "90", "WEIR_MEMORY": "8000"})
    assert (found["compute_percent"], found["memory_mib"], found["spec"]) == (11, 222, "small")
    specs.spec_disable(actor=SYSTEM, code="small")
    assert submit(api, expect=400, spec="small")["code"] == "no_such_spec"


# --- quota and charge --------------------------------------------------------------------------------------------


@pytest.mark.req("POOL-12.6")
def test_beyond_the_quota_is_refused_with_quota_limit_used_and_asked(api, acme, operator):
    ops = operator("cluster_administrator").api()
    path = f"/api/v1/quotas/{acme.schema_name}"
    assert ops.put(path, {"item": "compute_percent", "total": 50}, format="json").status_code == 200
    submit(api)
    error = submit(api, expect=409)
    assert error["code"] == "quota_exceeded"
    figures = {name: error["fields"][name] for name in ("quota", "limit", "used", "asked")}
    assert figures == {"quota": "compute_percent", "limit": "50", "used": "30", "asked": "30"}
    assert Workload.objects.across().count() == 1
    waits = submit(api, wait_for_quota=True)
    cycle_run(actor=SYSTEM)
    shown = api.get(f"{API}/{waits['uid']}").json()
    assert (shown["state"], shown["reason_code"], shown["position"]) == ("pending", "tenant_quota", 1)
    assert "50" in shown["reason"]


@pytest.mark.req("ELA-507")
def test_work_beyond_the_quota_as_a_whole_is_refused_though_it_would_wait_for_quota(api):
    quota_set(actor=SYSTEM, tenant=Tenant.objects.get(schema_name="acme"), item="compute_percent", total=50)
    error = submit(api, expect=409, compute_percent=60, wait_for_quota=True)
    assert error["code"] == "quota_exceeded"
    assert not Workload.objects.across().exists()


@pytest.mark.req("POOL-12.6", "ELA-310")
def test_of_parallel_submissions_for_the_last_quota_exactly_one_wins(committed, alice_committed):
    tenant = Tenant.objects.get(schema_name="acme")
    quota_set(actor=SYSTEM, tenant=tenant, item="instances", total=1)

    def ask(_number):
        try:
            asked = WorkloadRequest(name="x", argv=("a",), compute_percent=10, memory_mib=10)
            return workload_request(actor=alice_committed.actor, tenant=tenant, asked=asked)
        except QuotaExceeded:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        won = [row for row in threads.map(ask, range(8)) if row]
    assert len(won) == 1
    assert Workload.objects.across().count() == 1


@pytest.fixture
def alice_committed(committed, member):
    tenant = Tenant.objects.get(schema_name="acme")
    quota_defaults(actor=SYSTEM, tenant=tenant)
    account_ready(tenant)
    queue_ensure(actor=SYSTEM)
    return member("acme", "tenant_front_line")


def test_its_quota_goes_from_in_process_to_used_and_back_and_its_charge_closes(api, acme, alice):
    found = submit(api)
    assert quota_get(acme)["compute_percent"].in_process == 30
    cycle_run(actor=SYSTEM)
    assert (quota_get(acme)["compute_percent"].used, quota_get(acme)["compute_percent"].in_process) == (30, 0)
    row = row_of(found)
    started(row)
    ended(row, code="idle_timeout")
    assert quota_get(acme)["compute_percent"].used == 0
    charge = Charge.plain.get()
    assert (charge.state, charge.funds.amount, charge.order_uid) == ("closed", 0, None)
    told = Message.objects.get(user=alice.user)
    assert "nothing used its device" in told.title
    assert told.link == f"/resources/{row.uid}/"


def test_it_is_charged_by_the_direct_commodity(api):
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    submit(api)
    charge = Charge.plain.get()
    assert charge.price_version.commodity.number == "GPU-1"
    assert charge.amounts == {"compute_share": 30, "gpu_memory": 1024}


def test_what_it_has_of_its_node_is_charged_too(api):
    commodity = commodity_make()
    direct_commodity_set(actor=SYSTEM, commodity=commodity)
    found = submit(api, host_cpu_milli=1500, host_memory_mib=512)
    amounts = {"compute_share": 30, "gpu_memory": 1024, "cpu": 2, "memory": 512}
    assert Charge.plain.get().amounts == amounts, "a core that is begun is charged whole"
    lines = [pricing_line(line) for line in price_lines(Charge.plain.get().price_version_id).values()]
    assert hourly_price(row_of(found)) == price(lines, amounts, 1, 3600).total


def test_it_may_run_on_a_host_alone_and_is_charged_for_its_cores(api):
    nothing = {"compute_percent": 0, "memory_mib": 0}
    assert submit(api, expect=400, **nothing)["code"] == "share_too_large"
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    row = row_of(submit(api, host_cpu_milli=1500, host_memory_mib=512, **nothing))
    assert (row.is_on_host, row.driver) == (True, "host")
    assert Charge.plain.get().amounts == {"cpu": 2, "memory": 512}
    lines = [pricing_line(line) for line in price_lines(Charge.plain.get().price_version_id).values()]
    assert hourly_price(row) == price(lines, {"cpu": 2, "memory": 512}, 1, 3600).total
    assert quota_get(row.tenant)["host_cpu_milli"].in_process == 1500


@pytest.mark.req("ELA-1907", "ELA-1911")
def test_what_it_has_of_its_node_is_not_free_by_omission(api):
    no_memory = commodity_make(components=RANGES[:3], prices=PRICES[:3])
    direct_commodity_set(actor=SYSTEM, commodity=no_memory)
    error = submit(api, expect=409, host_cpu_milli=1000, host_memory_mib=512)
    assert error["code"] == "direct_work_unpriced"
    assert "of its node: Main memory" in error["message"]
    assert "has GPU development environment sell it too, with a price" in error["cure"]
    assert not Workload.objects.across().exists()
    submit(api, host_cpu_milli=1000)


@pytest.mark.req("ELA-1907", "ELA-1911")
def test_without_a_price_it_is_refused_and_says_which_setting_lacks(api):
    direct_commodity_set(actor=SYSTEM, commodity=None)
    error = submit(api, expect=409)
    assert error["code"] == "direct_work_unpriced"
    assert "direct work is charged as" in error["cure"]
    assert not Workload.objects.across().exists()


# --- resize ------------------------------------------------------------------------------------------------------


@pytest.mark.req("POOL-12.2")
def test_a_running_share_is_resized_with_its_quota_and_charge(api, acme):
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    found = submit(api, device="n1-d0")
    cycle_run(actor=SYSTEM)
    row = row_of(found)
    started(row)
    shown = api.post(f"{API}/{found['uid']}/resize", {"compute_percent": 60}, format="json").json()
    assert (shown["compute_percent"], shown["memory_mib"], shown["state"]) == (60, 1024, "running")
    part = Slice.plain.get()
    assert (part.compute_percent, part.memory_mib, part.generation) == (60, 1024, 2)
    assert Device.objects.get(uid="n1-d0").held_percent == 60
    assert quota_get(acme)["compute_percent"].used == 60
    assert Charge.plain.get().resizes.get().amounts == {"compute_share": 60, "gpu_memory": 1024}
    # What is given up stays held until the node has taken it away: see test_shrinking.
    api.post(f"{API}/{found['uid']}/resize", {"compute_percent": 10, "memory_mib": 64}, format="json")
    assert (quota_get(acme)["compute_percent"].used, quota_get(acme)["gpu_memory_mib"].used) == (60, 1024)


@pytest.mark.req("POOL-12.2")
def test_a_resize_that_has_no_room_or_quota_changes_nothing(api, acme, operator):
    first, second = submit(api, device="n1-d0"), submit(api, device="n1-d0", compute_percent=60)
    cycle_run(actor=SYSTEM)
    path = f"{API}/{first['uid']}/resize"
    refused = api.post(path, {"compute_percent": 50}, format="json")
    assert refused.json()["error"]["code"] == "device_unavailable"
    assert (
        api.post(path, {"compute_percent": 101}, format="json").json()["error"]["code"] == "share_too_large"
    )
    quota_set(actor=SYSTEM, tenant=acme, item="compute_percent", total=90)
    other = api.post(f"{API}/{second['uid']}/resize", {"compute_percent": 61}, format="json")
    assert other.json()["error"]["code"] == "quota_exceeded"
    assert Device.objects.get(uid="n1-d0").held_percent == 90
    assert quota_get(acme)["compute_percent"].used == 90
    assert workload_get(acme, second["uid"], actor=SYSTEM).compute_percent == 60


# --- groups, queues, whole cards, affinity -------------------------------------------------------------------------


@pytest.mark.req("POOL-12.13")
def test_a_group_serves_the_clients_it_was_granted_to_and_refusals_are_on_record(api, alice, acme, member):
    groups.group_make(actor=SYSTEM, code="lab", name_en="Lab")
    groups.group_devices_set(actor=SYSTEM, code="lab", devices=["n2-d1"])
    groups.group_grant(actor=SYSTEM, code="lab", tenant=acme, members=[alice.user.username])
    found = submit(api, resource_group="lab")
    cycle_run(actor=SYSTEM)
    assert api.get(f"{API}/{found['uid']}").json()["grants"][0]["device_uid"] == "n2-d1"
    for stranger in (member("acme", "tenant_front_line"), member("globex", "tenant_front_line")):
        error = submit(stranger.api(), expect=403, resource_group="lab")
        assert error["code"] == "not_authorised_for_group"
        entry = Record.objects.filter(name="group_refusal_record").latest("pk")
        assert (entry.subject_id, entry.actor_name) == ("lab", stranger.actor.name)
    groups.group_revoke(actor=SYSTEM, code="lab", tenant=acme)
    assert submit(api, expect=403, resource_group="lab")["code"] == "not_authorised_for_group"


@pytest.mark.req("POOL-12.13")
def test_no_queue_leads_round_a_group_s_grants_and_none_taken_back_still_counts(api, alice, acme):
    groups.group_make(actor=SYSTEM, code="lab", name_en="Lab")
    groups.group_devices_set(actor=SYSTEM, code="lab", devices=["n2-d1"])
    queue = queue_ensure(actor=SYSTEM, code="fast")
    queue_change(actor=SYSTEM, queue=queue, changes={"resource_group": "lab"})
    assert submit(api, expect=403, queue="fast")["code"] == "not_authorised_for_group"
    assert Record.objects.filter(name="group_refusal_record").latest("pk").subject_id == "lab"
    groups.group_grant(actor=SYSTEM, code="lab", tenant=acme, members=[alice.user.username])
    found = submit(api, queue="fast")
    groups.group_revoke(actor=SYSTEM, code="lab", tenant=acme)
    cycle_run(actor=SYSTEM)
    ended_row = row_of(found)
    assert (ended_row.state, ended_row.reason_code) == ("failed", "not_authorised_for_group")
    assert not Slice.objects.across().exists()
    assert quota_get(acme)["compute_percent"].used == 0


@pytest.mark.req("ELA-608")
def test_a_queue_that_names_tenants_admits_no_others(api, globex, operator):
    ops = operator("cluster_administrator").api()
    body = {"code": "fast", "name_en": "Fast", "name_zh": "快", "priority": 9, "tenants": ["globex"]}
    made = ops.post("/api/v1/queues", body, format="json").json()
    assert (made["priority"], made["tenants"]) == (9, ["globex"])
    assert submit(api, expect=403, queue="fast")["code"] == "not_admitted"
    changed = ops.patch("/api/v1/queues/fast", {"tenants": [], "ordering": "priority"}, format="json").json()
    assert (changed["tenants"], changed["ordering"], changed["priority"]) == ([], "priority", 9)
    submit(api, queue="fast")
    assert [row["code"] for row in ops.get("/api/v1/queues").json()] == ["fast", "default"]
    assert ops.patch("/api/v1/queues/fast", {"placing": "x"}, format="json").status_code == 400
    assert ops.patch("/api/v1/queues/fast", {"resource_group": "x"}, format="json").status_code == 400
    assert ops.post("/api/v1/queues", body, format="json").status_code == 409


@pytest.mark.req("POOL-12.10")
def test_waiting_work_is_served_by_priority_and_shows_place_and_reason(api, operator):
    queue_change(actor=SYSTEM, queue=queue_ensure(actor=SYSTEM), changes={"ordering": "priority"})
    wish = {"device": "n1-d0", "compute_percent": 100}
    first = submit(api, **wish)
    cycle_run(actor=SYSTEM)
    low, high = submit(api, **wish, priority=1), submit(api, **wish, priority=5)
    cycle_run(actor=SYSTEM)
    shown = [api.get(f"{API}/{each['uid']}").json() for each in (high, low)]
    assert [(each["state"], each["position"], each["reason_code"]) for each in shown] == [
        ("pending", 1, "compute_percent"),
        ("pending", 2, "compute_percent"),
    ]
    assert "100 %" in shown[0]["reason"]
    api.post(f"{API}/{first['uid']}/stop", {"reason": "enough"}, format="json")
    cycle_run(actor=SYSTEM)
    states = [api.get(f"{API}/{each['uid']}").json()["state"] for each in (first, high, low)]
    assert states == ["finished", "placed", "pending"]


@pytest.mark.req("POOL-12.27", "POOL-7.2b")
def test_the_global_policy_is_set_and_a_task_may_have_its_own(api, operator):
    ops = operator("cluster_administrator").api()
    path = "/api/v1/scheduling-policy"
    assert ops.patch(path, {"placing": "device_compact"}, format="json").json()["placing"] == "device_compact"
    assert ops.get(path).json()["ordering"] == "first_come"
    assert ops.patch(path, {"placing": "pack"}, format="json").status_code == 400
    compact = [submit(api, compute_percent=10) for _ in range(3)]
    own = [submit(api, compute_percent=10, placing="local", local_node="n2", memory_mib=64) for _ in range(2)]
    cycle_run(actor=SYSTEM)
    devices = [api.get(f"{API}/{each['uid']}").json()["grants"][0] for each in (*compact, *own)]
    assert len({each["device_uid"] for each in devices[:3]}) == 1
    assert {each["node"] for each in devices[3:]} == {"n2"}
    reader = operator("executive").api()
    assert reader.patch(path, {"placing": "spread"}, format="json").status_code == 403


@pytest.mark.django_db
@pytest.mark.req("PLAT-OPS-12")
def test_what_work_without_an_order_is_charged_as_is_said_by_its_number(operator):
    ops, path = operator("cluster_administrator").api(), "/api/v1/scheduling-policy"
    number = commodity_make().number
    named = {"direct_commodity": number, "ordering": "priority"}
    assert ops.patch(path, named, format="json").json()["direct_commodity"] == number
    unknown = ops.patch(path, {"direct_commodity": "NONE-1", "ordering": "first_come"}, format="json")
    assert unknown.json()["error"]["fields"] == {"direct_commodity": "There is no commodity NONE-1."}
    assert ops.get(path).json()["ordering"] == "priority"
    assert ops.patch(path, {"direct_commodity": None}, format="json").json()["direct_commodity"] == ""


@pytest.mark.req("POOL-12.4", "POOL-12.15")
def test_whole_cards_are_given_with_all_their_memory_on_one_node_or_not_at_all(api, acme):
    Device.objects.filter(node__name="n2").update(is_sliced=False)
    found = submit(api, {"name": "x", "argv": ["a"]}, whole_cards=True, shares=2, single_node=True)
    cycle_run(actor=SYSTEM)
    grants = api.get(f"{API}/{found['uid']}").json()["grants"]
    assert {(each["node"], each["compute_percent"], each["memory_mib"]) for each in grants} == {
        ("n2", 100, 8192)
    }
    assert quota_get(acme)["gpu_memory_mib"].used == 2 * 8192
    third = submit(api, {"name": "x", "argv": ["a"]}, whole_cards=True)
    cycle_run(actor=SYSTEM)
    shown = api.get(f"{API}/{third['uid']}").json()
    assert (shown["state"], shown["reason_code"]) == ("pending", "card_not_idle")


@pytest.mark.req("POOL-12.15")
def test_whole_cards_are_charged_with_all_their_memory_however_little_was_asked_for(api):
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    Device.objects.filter(node__name="n2").update(is_sliced=False)
    found = submit(api, {"name": "x", "argv": ["a"], "memory_mib": 1}, whole_cards=True)
    cycle_run(actor=SYSTEM)
    assert Slice.plain.get(workload_uid=found["uid"]).memory_mib == 8192
    held = Charge.plain.get(workload_uid=found["uid"]).resizes.get()
    assert held.amounts == {"compute_share": 100, "gpu_memory": 8192}


@pytest.mark.req("POOL-12.9", "POOL-12.5")
def test_affine_work_of_one_tenant_shares_a_device_that_is_oversold(api, member):
    Device.objects.update(oversubscribe_permille=2000, memory_oversubscribe_permille=2000)
    wish = {"compute_percent": 100, "memory_mib": 5000, "affinity": "pair"}
    mine = [submit(api, **wish) for _ in range(2)]
    theirs = submit(member("globex", "tenant_front_line").api(), **wish)
    cycle_run(actor=SYSTEM)
    parts = [Slice.plain.get(workload_uid=each["uid"]).device_id for each in (*mine, theirs)]
    assert parts[0] == parts[1] != parts[2]


# --- sessions, losses ------------------------------------------------------------------------------------------


@pytest.mark.req("POOL-12.3")
def test_only_who_submitted_a_session_gets_its_key(api, alice, member, operator):
    found = submit(api, SESSION, idle_timeout_s=30)
    path = f"{API}/{found['uid']}/session"
    assert api.get(path).json() == {"state": "pending", "reason_code": "", "reason": "", "shares": []}
    cycle_run(actor=SYSTEM)
    part = Slice.plain.get()
    assert (part.kind, part.idle_timeout_s) == ("session", 30)
    told = api.get(path)
    assert told.headers["Cache-Control"] == "no-store", "it names the session's key"
    (share,) = told.json()["shares"]
    assert (share["index"], share["slice"], len(share["token"]) > 20) == (0, str(part.uid), True)
    assert member("acme", "tenant_front_line").api().get(path).status_code == 403
    assert member("globex", "tenant_front_line").api().get(path).status_code == 404
    ops = operator("system_administrator").api()
    assert ops.get(path, headers={"weir-tenant": "acme"}).status_code == 403
    assert api.get(f"{API}/{submit(api)['uid']}/session").status_code == 404
    api.post(f"{API}/{found['uid']}/stop", {}, format="json")
    assert api.get(path).json()["shares"] == []


def test_lost_work_is_queued_again_where_it_asked_for_it_and_keeps_quota_and_first_start(api, acme):
    found = submit(api, requeue_on_loss=True)
    cycle_run(actor=SYSTEM)
    row = row_of(found)
    started(row)
    first = row_of(found).started_at
    lose(row)
    row.refresh_from_db()
    assert (row.state, row.attempt, row.started_at) == ("pending", 2, first)
    assert quota_get(acme)["compute_percent"].used == 30
    cycle_run(actor=SYSTEM)
    started(row)
    row.refresh_from_db()
    assert (row.state, row.started_at) == ("running", first)
    ended(row)
    assert row_of(found).state == "finished"


def lose(row):

    part = row.allocations.get(state="active")
    Slice.plain.filter(uid=part.slice_uid).update(state="lost", final_at="2026-01-01T00:00Z")
    slice_ended(
        actor=SYSTEM, workload_uid=row.uid, slice_uid=part.slice_uid, at=row.created_at, failed=True,
        reason_code="lost", reason="gone", requeue=row.requeue_on_loss,
    )  # fmt: skip


def test_tenants_and_strangers_reach_only_their_own(api, member, operator):
    found = submit(api)
    stranger = member("globex", "tenant_front_line").api()
    for act in ("", "/stop", "/resize", "/migrate"):
        call = stranger.post if act else stranger.get
        assert call(f"{API}/{found['uid']}{act}").status_code == 404
    ops = operator("cluster_administrator").api()
    assert ops.get(f"{API}/across").json()["results"][0]["uid"] == found["uid"]
    assert ops.get(f"{API}/{found['uid']}").json()["uid"] == found["uid"]
    assert (
        ops.post(f"{API}/{found['uid']}/migrate", {}, format="json").json()["error"]["code"] == "not_movable"
    )
    assert ops.post(API, PROGRAM, format="json").status_code == 400
    assert api.get(f"{API}/across").status_code == 403


@pytest.mark.req("PLAT-TEN-20", "PLAT-OPS-38")
def test_work_is_for_the_business_system_it_names_else_for_the_default_and_costs_are_told_under_it(
    api, alice
):
    with in_tenant("acme"):
        physics = organization_create(actor=SYSTEM, name="Physics")
        made = [
            business_system_create(actor=SYSTEM, name=name, number=number, organization=physics)
            for name, number in (("Speech", "N-1"), ("Vision", "N-2"), ("Hidden", "N-3"))
        ]
        for row in made[:2]:
            business_system_member_add(actor=SYSTEM, business_system=row, user=alice.user)
    assert row_of(submit(api)).business_system_uid is None
    api.put("/api/v1/business-systems/default", {"business_system": "N-1"}, format="json")
    default, named = row_of(submit(api)), row_of(submit(api, business_system="N-2"))
    assert (default.business_system_uid, named.business_system_uid) == (made[0].uid, made[1].uid)
    assert api.get(f"{API}/{named.uid}").json()["labels"]["business_system"] == "Vision"
    assert [Charge.plain.get(workload_uid=row.uid).business_system for row in (default, named)] == [
        "Speech",
        "Vision",
    ]
    refused = submit(api, business_system="N-3", expect=400)
    assert refused["fields"]["business_system"] == "There is no business system N-3 that you take part in."
    with in_tenant("acme"):
        business_system_member_remove(actor=SYSTEM, business_system=made[0], user=alice.user)
    refused = submit(api, expect=400)
    assert refused["message"] == "You no longer take part in your default business system Speech."
    assert refused["cure"]
    assert row_of(submit(api, business_system="N-2")).business_system_uid == made[1].uid
    with in_tenant("acme"), pytest.raises(Conflict, match="Vision"):  # what it cost stays told under it
        business_systems_delete(actor=SYSTEM, business_systems=[made[1]])


@pytest.mark.req("PLAT-APPLY-20")
def test_work_names_its_applicant_as_orders_do(api, alice):
    User.objects.filter(pk=alice.user.pk).update(display_name="Alice Wang")
    found = submit(api, PROGRAM)
    assert Workload.objects.across().get(uid=found["uid"]).labels["person"] == "Alice Wang"


def test_an_empty_command_is_said_in_words_of_the_form(alice):
    page = alice.page()
    body = {
        "name": "x",
        "kind": "program",
        "command": "",
        "shares": "1",
        "compute_percent": "10",
        "memory_mib": "64",
        "queue": "default",
    }
    answer = page.post("/resources/submit/", body, headers={"hx-request": "true"})
    assert answer.status_code == 400
    text = answer.content.decode()
    assert 'data-input="command"' in text
    assert "argv" not in text
    assert "Value error" not in text
