"""What comes at once is as if it came one after the other; a process that dies, or a clock that jumps, leaves nothing
half done."""

import threading
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from apps.fleet.models import Device, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, WeirError
from apps.scheduling.engine.model.types import ElasticChange, Preemption
from apps.scheduling.errors import QueueCycle
from apps.scheduling.models import Allocation, PastUse, Queue, QuotaHold, SchedulingPolicy, Workload
from apps.scheduling.services.cycle import cycle_runner
from apps.scheduling.services.cycle.apply_changes import workload_elastic, workload_preempt
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.cycle_runner import CycleRunner, cycle_run
from apps.scheduling.services.cycle.usage_decay import past_use_account
from apps.scheduling.services.queues.queue_settings import policy_set, queue_change, queue_make, queue_remove
from apps.scheduling.services.workload_control import workload_scale, workload_suspend
from apps.scheduling.services.workloads.stopping import workload_halt
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant
from tests.apps.scheduling.pool import node_make, submit, tenant_ready
from tests.apps.scheduling.test_shell import ends, parts, runs

ASKED = {"name": "job", "argv": ("true",), "compute_percent": 30, "memory_mib": 100}
PROGRAM = {**ASKED, "argv": ["true"]}


@pytest.fixture
def pool(db, acme, globex):
    node_make(devices=2)
    return tenant_ready(acme), tenant_ready(globex)


@pytest.fixture
def busy(committed):
    """A pool whose rows are really committed."""
    node_make(devices=2)
    return tenant_ready(Tenant.objects.get(schema_name="acme"))


def ask(tenant, **more):
    return workload_request(actor=SYSTEM, tenant=tenant, asked=WorkloadRequest(**{**ASKED, **more}))


# --- at once -----------------------------------------------------------------------------------------------------


def at_once(*acts):
    """What came of acts that begin together, each in a thread and a connection of its own."""
    start, found = threading.Barrier(len(acts)), [None] * len(acts)

    def run(at):
        try:
            start.wait(60)
            found[at] = acts[at]()
        except Exception as error:
            found[at] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    return found


def unexpected(found):
    return [each for each in found if isinstance(each, Exception) and not isinstance(each, WeirError)]


def test_one_order_that_is_delivered_four_times_at_once_is_one_workload(busy):
    order = uuid4()
    found = at_once(*[lambda: submit(busy, order_uid=order, percent=10)] * 4)
    assert len({row.uid for row in found}) == 1
    assert Workload.plain.filter(order_uid=order).count() == 1


@pytest.mark.req("ELA-609")
def test_two_operators_never_make_a_circle_of_queues(busy):
    """Each puts one below the other, having read both before: one of them is refused."""
    for name in "ab":
        queue_make(actor=SYSTEM, code=name, name_en=name, name_zh=name, changes={})

    def put(below, above):
        rows = {each.code: each for each in Queue.objects.select_related("parent")}
        read.wait(60)
        return queue_change(actor=SYSTEM, queue=rows[below], changes={"parent": rows[above]})

    for _turn in range(3):
        read = threading.Barrier(2)
        Queue.objects.update(parent=None)
        found = at_once(lambda: put("a", "b"), lambda: put("b", "a"))
        assert sum(isinstance(each, QueueCycle) for each in found) == 1, found
        assert Queue.objects.exclude(parent=None).count() == 1
        cycle_run(actor=SYSTEM)


@pytest.mark.req("ELA-609")
def test_a_queue_is_not_put_below_one_that_was_removed_meanwhile(busy):
    rows = {
        name: queue_make(actor=SYSTEM, code=name, name_en=name, name_zh=name, changes={}) for name in "ab"
    }
    queue_remove(actor=SYSTEM, queue=Queue.objects.get(code="b"))
    with pytest.raises(Conflict, match="removed meanwhile"):
        queue_change(actor=SYSTEM, queue=rows["a"], changes={"parent": rows["b"]})


def test_two_changes_of_the_policy_at_once_are_both_kept(busy):
    found = at_once(
        lambda: policy_set(actor=SYSTEM, changes={"ordering": "priority"}),
        lambda: policy_set(actor=SYSTEM, changes={"has_backfill": False}),
        lambda: policy_set(actor=SYSTEM, changes={"grace_s": 7}),
    )
    assert unexpected(found) == []
    row = SchedulingPolicy.objects.get()
    assert (row.ordering, row.has_backfill, row.grace_s) == ("priority", False, 7)


@pytest.mark.req("ELA-105")
def test_one_key_at_once_is_one_workload(busy, member):
    found = at_once(*[lambda: ask(busy, client_key="k")] * 5)
    assert unexpected(found) == []
    assert len({each.uid for each in found}) == 1
    person = member("acme", "tenant_front_line")
    apis = [person.api() for _each in range(4)]
    header = {"HTTP_IDEMPOTENCY_KEY": "once"}
    answers = at_once(
        *[lambda api=api: api.post("/api/v1/workloads", PROGRAM, format="json", **header) for api in apis]
    )
    assert {answer.status_code for answer in answers} == {201}, [each.content for each in answers]
    assert len({answer.json()["uid"] for answer in answers}) == 1
    assert Workload.objects.across().count() == 2


def whole(tenant):
    """Nothing is held by work that has ended, nothing is held twice, and devices know what they give."""
    for row in Workload.objects.across():
        held = row.allocations.filter(state="active")
        quota = QuotaHold.objects.of(tenant).filter(holder_uid=row.uid).exclude(state="released")
        if row.ended_at is not None or row.state in ("pending", "suspended"):
            assert not held.exists(), row.state
        if row.ended_at is not None or row.state == "suspended":
            assert not quota.exists(), row.state
        if row.state == "placed":
            assert held.count() == (row.active_shares or row.shares)
    for device in Device.objects.all():
        slices = Slice.plain.filter(device=device, final_at=None)
        assert device.held_percent == sum(each.compute_percent for each in slices) <= 100


@pytest.mark.req("ELA-109", "ELA-503")
def test_a_cancel_beside_a_placement_leaves_nothing_behind(busy):
    for _turn in range(4):
        rows = [ask(busy, compute_percent=20) for _each in range(4)]

        def cancel(row):
            return workload_halt(actor=SYSTEM, tenant=busy, workload_uid=row.uid, reason="enough")

        place = lambda: cycle_run(actor=SYSTEM)  # noqa: E731
        found = at_once(place, *[lambda row=row: cancel(row) for row in rows], place)
        assert unexpected(found) == []
        whole(busy)
        assert not Workload.objects.across().filter(state__in=("pending", "placed", "running")).exists()


@pytest.mark.req("ELA-503")
def test_a_suspension_beside_an_end_is_one_of_both(busy):
    for _turn in range(4):
        row = ask(busy)
        cycle_run(actor=SYSTEM)
        runs(row)
        (part,) = parts(row)
        found = at_once(
            lambda row=row: workload_suspend(actor=SYSTEM, tenant=busy, workload_uid=row.uid),
            lambda part=part: ends(part, code="completed"),
        )
        assert unexpected(found) == []
        row.refresh_from_db()
        assert row.state in ("finished", "suspended"), row.state
        whole(busy)


@pytest.mark.req("ELA-807", "ELA-905")
def test_scaling_beside_a_preemption_leaves_a_whole_gang_or_none(busy):
    for _turn in range(4):
        row = ask(busy, shares=3, min_shares=1, preemptible=True, compute_percent=20)
        cycle_run(actor=SYSTEM)
        runs(row)
        victim = Preemption(str(row.uid), str(row.uid), "priority", 1, 1)
        smaller = ElasticChange(str(row.uid), 2)
        found = at_once(
            lambda row=row: workload_scale(actor=SYSTEM, tenant=busy, workload_uid=row.uid, shares=2),
            lambda victim=victim: workload_preempt(actor=SYSTEM, preemption=victim),
            lambda smaller=smaller: workload_elastic(actor=SYSTEM, change=smaller),
        )
        assert unexpected(found) == []
        row.refresh_from_db()
        assert row.state == "stopping"
        for part in parts(row):
            ends(part)
        row.refresh_from_db()
        assert (row.state, row.preemptions) == ("pending", 1)
        whole(busy)
        workload_halt(actor=SYSTEM, tenant=busy, workload_uid=row.uid, reason="")


# --- who dies, and clocks ------------------------------------------------------------------------------------------


class Death(BaseException):
    """The process ends here."""


@pytest.mark.req("ELA-708")
@pytest.mark.parametrize("place", ["placements_apply", "changes_apply", "refusals_tell", "decisions_put"])
def test_a_leader_that_dies_in_a_pass_leaves_nothing_half_done(busy, monkeypatch, place):
    rows = [ask(busy, compute_percent=40, shares=2) for _each in range(4)]
    cache = ClusterCache()
    cache.read()

    def die(**_given):
        raise Death

    with monkeypatch.context() as patched:
        patched.setattr(cycle_runner, place, die)
        with suppress(Death):
            CycleRunner(cache, actor=SYSTEM).run()
    whole(busy)
    cycle_run(actor=SYSTEM)
    whole(busy)
    assert Workload.objects.across().filter(state="placed").count() == 2
    assert Allocation.objects.count() == 4
    assert len(rows) == 4


@pytest.mark.req("ELA-708")
def test_a_leader_that_dies_while_it_places_has_placed_all_of_a_gang_or_nothing(busy, monkeypatch):
    ask(busy, shares=4, compute_percent=40)
    cache = ClusterCache()
    cache.read()
    monkeypatch.setattr(
        "apps.scheduling.services.cycle.apply_plan._rows_move", lambda chosen: (_ for _ in ()).throw(Death)
    )
    with pytest.raises(Death):
        CycleRunner(cache, actor=SYSTEM).run()
    assert not Allocation.objects.exists()
    assert not Slice.plain.exists()
    whole(busy)
    monkeypatch.undo()
    cycle_run(actor=SYSTEM)
    assert Allocation.objects.count() == 4


@pytest.mark.req("ELA-1008", "ELA-211")
@pytest.mark.parametrize("jump_s", [-86_400 * 400, -3600, 0, 3600, 86_400 * 400])
def test_a_clock_that_jumps_loses_no_use_and_starts_no_work_twice(pool, monkeypatch, jump_s):
    acme, _globex = pool
    rows = [ask(acme, run_timeout_s=60) for _each in range(2)]
    cycle_run(actor=SYSTEM)
    PastUse.plain.update_or_create(
        tenant=acme, defaults={"card_seconds": 1000.0, "as_of_at": timezone.now() - timedelta(seconds=1)}
    )
    real, jump = timezone.now, timedelta(seconds=jump_s)
    monkeypatch.setattr("django.utils.timezone.now", lambda: real() + jump)
    past_use_account(actor=SYSTEM)
    assert PastUse.plain.get().card_seconds >= 0
    if jump_s <= 0:
        assert PastUse.plain.get().card_seconds >= 999
    rows.append(ask(acme, run_timeout_s=60))
    cycle_run(actor=SYSTEM)
    monkeypatch.undo()
    cycle_run(actor=SYSTEM)
    past_use_account(actor=SYSTEM)
    assert 0 <= PastUse.plain.get().card_seconds < 10**10
    assert Workload.objects.across().filter(state="placed").count() == 3
    assert Allocation.objects.count() == 3
    whole(acme)
