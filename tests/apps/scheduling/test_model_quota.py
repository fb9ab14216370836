"""Quotas of one accelerator model: set, asked where work is let in, kept where it lands (ELA-308)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from django.db import connection
from django.urls import reverse

from apps.fleet.models import Device
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, InvalidInput, NotFound, QuotaExceeded
from apps.scheduling.engine.model.types import Grant, Placement, Placing
from apps.scheduling.models import Allocation, TenantQuota, Workload
from apps.scheduling.selectors.usage.model_usage import quota_list
from apps.scheduling.services.cycle.apply_plan import placements_apply
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import policy_set
from apps.scheduling.services.quota.ending import quota_remove
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workload_control import workload_resume, workload_scale, workload_suspend
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.resizing.session_moves import workload_migrate
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant
from tests.apps.scheduling.pool import node_make, submit, tenant_ready
from tests.apps.scheduling.test_bulk import steer
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = pytest.mark.req("ELA-308")
ASKED = WorkloadRequest(name="job", argv=("true",), compute_percent=50, memory_mib=100)
A100, T4 = "A100", "T4"


@pytest.fixture
def acme_ready(db, acme):
    """Two devices of one model and two of another, and a tenant with room for all of them."""
    node_make("n1", devices=2)
    node_make("n2", devices=2)
    Device.objects.filter(node__name="n1").update(model=A100)
    Device.objects.filter(node__name="n2").update(model=T4)
    return tenant_ready(acme)


def bound(tenant, total, *, item="compute_percent", model=A100):
    quota_set(actor=SYSTEM, tenant=tenant, item=item, total=total, model=model)


def ask(tenant, **more):
    return workload_request(actor=SYSTEM, tenant=tenant, asked=replace(ASKED, **more))


def on(model):
    return Allocation.objects.filter(state="active", device__model=model).count()


def figures(tenant):
    found = [each for each in quota_list(tenant) if each.model]
    return [(each.item, each.model, each.total, each.used, each.in_process) for each in found]


# --- set -----------------------------------------------------------------------------------------------------------


def test_it_stands_beside_the_quota_of_the_whole(acme_ready, globex):
    before = len(quota_list(acme_ready))
    bound(acme_ready, 100)
    bound(acme_ready, 70)
    assert figures(acme_ready) == [("compute_percent", A100, 70, 0, 0)]
    assert len(quota_list(acme_ready)) == before + 1
    assert figures(globex) == []
    quota_remove(actor=SYSTEM, tenant=acme_ready, item="compute_percent", model=A100)
    assert (figures(acme_ready), len(quota_list(acme_ready))) == ([], before)
    with pytest.raises(NotFound):
        quota_remove(actor=SYSTEM, tenant=acme_ready, item="compute_percent", model=A100)
    assert TenantQuota.plain.filter(tenant=acme_ready, item="compute_percent", model="").exists()


def test_a_model_that_the_pool_has_not_is_an_error(acme_ready, operator):
    with pytest.raises(InvalidInput, match="no device of model H100"):
        bound(acme_ready, 100, model="H100")
    with pytest.raises(Forbidden):
        quota_set(actor=operator("executive").actor, tenant=acme_ready, item="instances", total=1, model=A100)


# --- let in ----------------------------------------------------------------------------------------------------------


def test_work_for_the_model_is_held_of_it_as_it_is_let_in(acme_ready):
    bound(acme_ready, 120)
    ask(acme_ready, model=A100)
    ask(acme_ready, any_models=(A100,))
    assert figures(acme_ready) == [("compute_percent", A100, 120, 0, 100)]
    with pytest.raises(QuotaExceeded, match=r"20 % of 120 % left of compute on A100") as refused:
        ask(acme_ready, model=A100)
    assert (refused.value.fields["model"], refused.value.fields["asked"]) == (A100, 50)
    ask(acme_ready, model=T4)
    ask(acme_ready)
    cycle_run(actor=SYSTEM)
    assert (on(A100), on(T4)) == (2, 2)
    assert figures(acme_ready) == [("compute_percent", A100, 120, 100, 0)]


def test_many_at_once_are_let_in_together_or_not_at_all(acme_ready):
    bound(acme_ready, 3, item="instances")
    jobs = [replace(ASKED, name=f"j{n}", model=A100, compute_percent=1) for n in range(4)]
    with pytest.raises(QuotaExceeded):
        workload_submit_many(actor=SYSTEM, tenant=acme_ready, asked=jobs)
    assert not Workload.objects.of(acme_ready).exists()
    workload_submit_many(actor=SYSTEM, tenant=acme_ready, asked=jobs[:3])


def test_each_item_is_bound_by_itself_and_memory_is_no_compute(acme_ready):
    bound(acme_ready, 100, item="gpu_memory_mib")
    ask(acme_ready, model=A100, compute_percent=100)
    with pytest.raises(QuotaExceeded):
        ask(acme_ready, model=A100, compute_percent=1, memory_mib=1)
    bound(acme_ready, 0, item="instances", model=T4)
    with pytest.raises(QuotaExceeded):
        ask(acme_ready, model=T4, compute_percent=1)


@pytest.mark.req("ELA-310", "ELA-109")
def test_parallel_asks_never_exceed_it(committed):
    tenant = tenant_ready(Tenant.objects.get(schema_name="acme"))
    node_make("n1", devices=4)
    bound(tenant, 100, model="CPU")

    def one(_number):
        try:
            return ask(tenant, model="CPU")
        except QuotaExceeded:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        let_in = [row for row in pool.map(one, range(8)) if row]
    assert len(let_in) == 2
    assert figures(tenant) == [("compute_percent", "CPU", 100, 0, 100)]


# --- where it lands ------------------------------------------------------------------------------------------------


def test_what_names_no_model_lands_where_there_is_quota_and_waits_where_there_is_none(acme_ready):
    bound(acme_ready, 50)
    bound(acme_ready, 100, model=T4)
    rows = [ask(acme_ready) for _ in range(4)]
    cycle_run(actor=SYSTEM)
    assert (on(A100), on(T4)) == (1, 2)
    (waits,) = Workload.objects.of(acme_ready).filter(state="pending")
    assert waits.reason_code == "model_quota"
    runs(next(row for row in rows if parts(row) and parts(row)[0].device.model == A100))
    ends(next(part for row in rows for part in parts(row) if part.device.model == A100))
    cycle_run(actor=SYSTEM)
    waits.refresh_from_db()
    assert (waits.state, on(A100)) == ("placed", 1)


def test_the_work_of_orders_counts_and_keeps_to_it_too(acme_ready):
    bound(acme_ready, 60)
    first, second = submit(acme_ready, model=A100), submit(acme_ready, model=A100)
    cycle_run(actor=SYSTEM)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state, second.reason_code) == ("placed", "pending", "model_quota")
    with pytest.raises(QuotaExceeded):
        ask(acme_ready, model=A100)


def test_a_bound_that_is_set_later_knows_what_runs_already(acme_ready):
    ask(acme_ready, model=A100)
    cycle_run(actor=SYSTEM)
    bound(acme_ready, 10)
    assert figures(acme_ready) == [("compute_percent", A100, 10, 50, 0)]
    with pytest.raises(QuotaExceeded, match="0 % of 10 % left of compute on A100"):
        ask(acme_ready, model=A100, compute_percent=1)
    ask(acme_ready, compute_percent=1)
    cycle_run(actor=SYSTEM)
    assert on(T4) == 1


def test_a_plan_of_before_is_not_carried_out_beyond_it(acme_ready):
    """The bound came between the plan and its application."""
    rows = [ask(acme_ready), ask(acme_ready)]
    device = Device.objects.filter(model=A100).select_related("node").first()
    plan = [
        Placement(
            str(row.uid), acme_ready.schema_name, "default", (Grant(device.uid, device.node.uid, 50, 100),),
            Placing.SPREAD,
        )
        for row in rows
    ]  # fmt: skip
    bound(acme_ready, 50)
    apply = partial(placements_apply, actor=SYSTEM, placements=plan, bound={acme_ready.schema_name})
    assert [each.row.uid for each in apply()] == [rows[0].uid]
    rows[1].refresh_from_db()
    device.refresh_from_db()
    assert (rows[1].state, rows[1].reason_code, device.held_percent) == ("pending", "quota_exceeded", 50)


# --- while it runs -------------------------------------------------------------------------------------------------


@pytest.mark.req("POOL-12.2", "ELA-905", "ELA-503")
def test_other_amounts_another_number_and_taking_up_again_ask_for_it(acme_ready):
    bound(acme_ready, 60)
    row = ask(acme_ready, model=A100)
    with pytest.raises(QuotaExceeded):
        steer(workload_scale, row, shares=2)
    with pytest.raises(QuotaExceeded):
        steer(workload_resize, row, compute_percent=61)
    cycle_run(actor=SYSTEM)
    with pytest.raises(QuotaExceeded):
        steer(workload_resize, row, compute_percent=61)
    steer(workload_resize, row, compute_percent=60)
    bound(acme_ready, 40)
    steer(workload_resize, row, compute_percent=55)
    row.refresh_from_db()
    assert row.compute_percent == 55, "less is never too much"
    aside = ask(acme_ready, compute_percent=1, model=T4)
    bound(acme_ready, 0, model=T4)
    steer(workload_suspend, aside)
    with pytest.raises(QuotaExceeded):
        steer(workload_resume, aside)


@pytest.mark.req("ELA-904")
def test_elastic_work_grows_within_it(acme_ready):
    policy_set(actor=SYSTEM, changes={"hysteresis_s": 0})
    bound(acme_ready, 1, item="instances")
    row = ask(acme_ready, model=A100, shares=3, min_shares=1, wait_for_quota=True)
    cycle_run(actor=SYSTEM)
    runs(row)
    assert row.active_shares == 1
    bound(acme_ready, 2, item="instances")
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert (row.active_shares, on(A100)) == (2, 2)


@pytest.mark.req("POOL-12.23")
def test_a_session_moves_to_a_model_only_where_there_is_quota_of_it(acme_ready):
    row = ask(acme_ready, kind="session", argv=(), model=T4)
    cycle_run(actor=SYSTEM)
    runs(row)
    bound(acme_ready, 0)
    with pytest.raises(QuotaExceeded, match="on A100"):
        steer(workload_migrate, row, device=Device.objects.filter(model=A100).first().uid)


# --- its faces ---------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-306", "ELA-307")
def test_operators_set_it_by_the_api_and_members_see_it(acme_ready, operator, member):
    api = operator("cluster_administrator").api()
    body = {"item": "compute_percent", "model": A100, "total": 80}
    told = api.put("/api/v1/quotas/acme", body, format="json").json()
    assert [each["total"] for each in told if each["model"] == A100] == [80]
    assert {each["item"] for each in told if not each["model"]} == {
        "instances",
        "compute_percent",
        "gpu_memory_mib",
        "host_cpu_milli",
        "host_memory_mib",
        "storage_mib",
    }
    wrong = api.put("/api/v1/quotas/acme", body | {"model": "H100"}, format="json").json()
    assert wrong["error"]["code"] == "invalid_input"
    ask(acme_ready, model=A100)
    alice = member("acme", "tenant_front_line")
    (own,) = [each for each in alice.api().get("/api/v1/quota").json() if each["model"]]
    assert (own["total"], own["in_process"], own["left"]) == (80, 50, 30)
    page = alice.page().get("/resources/").content.decode()
    assert f'data-model="{A100}"' in page
    assert f'data-model="{A100}"' in alice.page().get("/").content.decode()
    assert api.delete(f"/api/v1/quotas/acme/compute_percent?model={A100}").status_code == 204
    assert f'data-model="{A100}"' not in alice.page().get("/resources/").content.decode()


def test_operators_set_and_take_it_away_on_their_pages(acme_ready, operator):
    ops = operator("cluster_administrator").page()
    table = reverse("admin:scheduling_tenantquota_changelist")
    assert f'<option value="{A100}">' in ops.get(f"{table}add/").content.decode()
    ops.post(f"{table}add/", {"tenant": acme_ready.pk, "item": "instances", "model": A100, "total": 2})
    row = TenantQuota.plain.get(tenant=acme_ready, model=A100)
    assert row.total == 2
    assert A100 in ops.get(table).content.decode()
    for act, given, total in (("set", {"total": 3}, 3), ("remove", {}, None)):
        ops.post(reverse(f"admin:scheduling_tenantquota_act_{act}", args=[row.pk]), given)
        left = TenantQuota.plain.filter(pk=row.pk).values_list("total", flat=True).first()
        assert left == total
    assert TenantQuota.plain.filter(tenant=acme_ready, item="instances", model="").exists()
