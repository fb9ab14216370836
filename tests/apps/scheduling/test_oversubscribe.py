"""With whom work shares its devices: YES, NO, EXCLUSIVE and FORCE of its queue, through the scheduler's passes."""

import pytest

from apps.fleet.models import Device
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.errors import GangTooLarge, NotMovable
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.selectors.workloads import queue_get, workload_reason
from apps.scheduling.services.cycle.apply_plan import placements_apply
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.cycle.what_ifs import what_if_ask
from apps.scheduling.services.queues.queue_settings import policy_set, queue_change, queue_make
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.resizing.session_moves import workload_migrate
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.states import QuotaItem
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_preempting import leading
from tests.apps.scheduling.test_shell import read_anew, rows_of, runs
from tests.harness.money import account_ready

JOB = {"name": "job", "argv": ("true",), "compute_percent": 10, "memory_mib": 64}


@pytest.fixture
def alice(db, acme, globex, member):
    for tenant in (acme, globex):
        account_ready(tenant)
        for item in QuotaItem.values:
            quota_set(actor=SYSTEM, tenant=tenant, item=item, total=100_000)
    return member("acme", "tenant_front_line")


@pytest.fixture
def ask(alice, acme):
    def ask(queue="q", **more):
        asked = WorkloadRequest(**{**JOB, "queue": queue, **more})
        return workload_request(actor=alice.actor, tenant=acme, asked=asked)

    return ask


def queue(code="q", **changes):
    return queue_make(actor=SYSTEM, code=code, name_en=code, name_zh=code, changes=changes)


def placed(*rows):
    """Where each lies after a pass; None of what waits."""
    cycle_run(actor=SYSTEM)
    found = []
    for row in rows:
        row.refresh_from_db()
        held = Allocation.objects.filter(workload=row, state="active").values_list("device__uid", flat=True)
        found.append(held.first())
    return found


@pytest.mark.req("PLAT-CLU-54")
def test_no_runs_one_job_on_a_device_after_the_other(alice, ask):
    node_make("n1")
    queue(oversubscribe="no")
    first, second, other = ask(), ask(), ask("default")
    assert placed(first, second, other) == ["n1-d0", None, None]
    assert (second.reason_code, other.reason_code) == ("alone_device", "shared_out")
    assert "devices of its own" in workload_reason(second)
    workload_stop(actor=SYSTEM, tenant=first.tenant, workload_uid=first.uid, reason="done")
    assert placed(second) == ["n1-d0"]


@pytest.mark.req("PLAT-CLU-55")
def test_yes_lets_two_share_where_both_said_so(alice, ask):
    node_make("n1", devices=3)
    policy_set(actor=SYSTEM, changes={"placing": "device_compact"})
    queue(oversubscribe="yes", max_jobs=2)
    rows = [ask(oversubscribe=said) for said in (True, True, False, False)]
    assert placed(*rows) == ["n1-d0", "n1-d0", "n1-d1", "n1-d2"], "who did not say so has a device alone"
    willing, silent = ask(oversubscribe=True), ask()
    assert placed(willing, silent) == [None, None]
    assert (willing.reason_code, silent.reason_code) == ("shared_out", "alone_device")
    workload_stop(actor=SYSTEM, tenant=rows[0].tenant, workload_uid=rows[0].uid, reason="done")
    assert placed(willing, silent) == ["n1-d0", None]


@pytest.mark.req("PLAT-CLU-55")
def test_yes_never_shares_a_whole_card(alice, ask):
    node_make("n1")
    Device.objects.update(is_sliced=False)
    queue(oversubscribe="yes")
    rows = [ask(oversubscribe=True, whole_cards=True, compute_percent=None) for _job in range(2)]
    assert placed(*rows) == ["n1-d0", None]


@pytest.mark.req("PLAT-CLU-56", "PLAT-CLU-59", "PLAT-CLU-60")
def test_force_4_lets_four_jobs_share_and_the_fifth_waits(alice, ask):
    node_make("n1")
    queue(oversubscribe="force", max_jobs=4)
    rows = [ask() for _job in range(5)]
    assert placed(*rows) == ["n1-d0"] * 4 + [None]
    assert rows[4].reason_code == "shared_out"
    with pytest.raises(GangTooLarge):
        ask(shares=5)


@pytest.mark.req("PLAT-CLU-58")
def test_exclusive_has_its_node_alone_and_its_memory_as_asked(alice, ask):
    node_make("n1", devices=2)
    queue(oversubscribe="exclusive")
    first, other = ask(), ask("default")
    assert placed(first, other)[1] is None
    part = Allocation.objects.get(workload=first)
    assert (part.compute_percent, part.memory_mib) == (10, 64)
    assert other.reason_code == "shared_out"
    node_make("n2")
    assert placed(other) == ["n2-d0"]


@pytest.mark.req("PLAT-CLU-53")
def test_another_mode_holds_at_once_for_what_runs_and_what_waits(alice, ask):
    node_make("n1")
    row = queue()
    cache = leading()
    _first, second = ask(), ask(compute_percent=95)
    cache.follow()
    assert placements_apply(actor=SYSTEM, placements=plan_kept(cache.state, 1, 1).placements)
    cache.follow()
    queue_change(actor=SYSTEM, queue=row, changes={"oversubscribe": "no"})
    cache.follow()
    assert rows_of(cache) == read_anew()
    (work,) = cache.running.values()
    assert {grant.alone for grant in work.grants} == {"device"}
    late = ask("default")
    cache.follow()
    refused = {each.request_id: each.reason.code for each in plan_kept(cache.state, 2, 2).refusals}
    assert refused == {str(second.uid): "alone_device", str(late.uid): "shared_out"}
    queue_change(actor=SYSTEM, queue=queue_get("q"), changes={"oversubscribe": "force"})
    cache.follow()
    assert rows_of(cache) == read_anew()
    assert [each.request_id for each in plan_kept(cache.state, 3, 3).placements] == [str(late.uid)]


@pytest.mark.req("PLAT-CLU-54", "POOL-12.23")
def test_a_session_is_not_moved_beside_work_that_is_alone(alice, ask):
    node_make("n1", devices=2)
    queue(oversubscribe="no")
    session = ask("default", kind="session", argv=())
    (there,) = placed(session)
    runs(session)
    alone = ask()
    (taken,) = placed(alone)
    assert taken != there
    with pytest.raises(NotMovable, match="as much work already as may share it"):
        workload_migrate(actor=SYSTEM, tenant=session.tenant, workload_uid=session.uid, device=taken)


@pytest.mark.req("PLAT-CLU-54")
def test_a_placement_beside_what_came_meanwhile_is_stale(alice, ask):
    node_make("n1")
    queue(oversubscribe="no")
    row = ask()
    cache = leading()
    made = plan_kept(cache.state, 1, 1)
    Device.objects.update(held_percent=5)
    assert placements_apply(actor=SYSTEM, placements=made.placements) == []
    row.refresh_from_db()
    assert row.state == "pending"


@pytest.mark.req("PLAT-CLU-55")
def test_the_option_is_stated_over_the_api_and_in_the_form(alice, acme):
    node_make("n1")
    given = {**JOB, "argv": ["true"], "oversubscribe": True}
    assert alice.api().post("/api/v1/workloads", given).status_code == 201
    form = {"name": "form", "kind": "program", "command": "true", "compute_percent": 5, "memory_mib": 8, "shares": 1,
            "queue": "default", "oversubscribe": "on"}  # fmt: skip
    assert alice.page().post("/resources/submit/", form).status_code == 302
    assert [row.oversubscribe for row in Workload.objects.of(acme)] == [True, True]


def test_what_was_decided_at_submission_is_not_tried_on_the_past(alice):
    node_make("n1")
    with pytest.raises(InvalidInput) as refused:
        what_if_ask(
            actor=SYSTEM, name="try", days=1, changes={"queues": {"default": {"oversubscribe": "no"}}}
        )
    assert set(refused.value.fields) == {"oversubscribe"}
