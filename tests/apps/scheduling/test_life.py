"""The life of work and of what it holds: every move there is and no other, releases that leave nothing, a pass that
fails, a start that fails."""

from itertools import product

import pytest
from django.utils import timezone

from apps.fleet.models import Device, ResourceGroup, Slice
from apps.fleet.services.groups import group_grant
from apps.kernel.actor import SYSTEM
from apps.kernel.flow import MoveRefused
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.selectors.queues.queue_tree import queue_tree
from apps.scheduling.selectors.usage.statistics import figures_get
from apps.scheduling.services.cycle import apply_plan
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.cycle_runner import CycleRunner, cycle_run
from apps.scheduling.services.queues.queue_settings import queue_make
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.states import FLOW, WorkloadState
from tests.apps.scheduling.pool import node_make, submit
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = pytest.mark.django_db
# Of the tutorial's states queued is pending, completed is finished; preempted is a move from stopping to pending.
MOVES = {
    "pending": "placed finished failed suspended",
    "placed": "running stopping pending finished failed lost",
    "running": "stopping pending finished failed lost",
    "stopping": "pending suspended finished failed lost",
    "suspended": "pending finished failed",
    "finished": "",
    "failed": "",
    "lost": "",
}


def after(state):
    return "stop" if state == "stopping" else ""


@pytest.mark.req("ELA-502")
@pytest.mark.parametrize("source", WorkloadState.values)
def test_each_state_is_left_for_those_that_follow_it_and_for_no_other(acme, source):
    node_make()
    row = submit(acme)
    for to in WorkloadState.values:
        Workload.plain.filter(pk=row.pk).update(state=source, after_stop=after(source))
        row.refresh_from_db()
        if to in MOVES[source].split():
            FLOW.move(row, to, actor=SYSTEM, after_stop=after(to))
        else:
            with pytest.raises(MoveRefused):
                FLOW.move(row, to, actor=SYSTEM)
        row.refresh_from_db()
        assert row.state == (to if to in MOVES[source].split() else source)


@pytest.mark.req("ELA-502")
def test_every_state_is_reached():
    reached, grown = {"pending"}, True
    while grown:
        grown = {to for state in reached for to in MOVES[state].split()} - reached
        reached |= grown
    assert reached == set(WorkloadState.values)
    assert {pair for pair in product(MOVES, MOVES) if pair[1] in MOVES[pair[0]].split()} == set(FLOW.table)


def held():
    return sorted(Device.objects.values_list("uid", "held_percent", "held_mib"))


@pytest.mark.req("ELA-407", "ELA-405", "ELA-610")
def test_a_gang_of_three_devices_gives_each_its_own_back(acme):
    node_make("n1", devices=3)
    queue_make(actor=SYSTEM, code="q", name_en="q", name_zh="q", changes={})
    beside = submit(acme, percent=10, mib=100)
    cycle_run(actor=SYSTEM)
    before = held()
    gang = submit(acme, percent=90, mib=500, shares=3, queue="q")
    cycle_run(actor=SYSTEM)
    assert sum(percent for _uid, percent, _mib in held()) == 280
    assert {branch.queue.code: branch.use.compute_percent for branch in queue_tree()}["q"] == 270
    for _again in range(2):
        workload_stop(actor=SYSTEM, tenant=acme, workload_uid=gang.uid, reason="enough")
        assert held() == before
    assert {branch.queue.code: branch.use.compute_percent for branch in queue_tree()}["q"] == 0
    assert figures_get().held_percent == 10
    assert Allocation.objects.get(state="active").workload_id == beside.pk


@pytest.mark.req("ELA-304")
def test_capacity_follows_the_devices_that_work(acme):
    node_make("n1", devices=2)

    def capacity():
        return figures_get().total_percent

    assert capacity() == 200
    Device.objects.filter(uid="n1-d0").update(health="failed")
    assert capacity() == 100
    node_make("n2")
    assert capacity() == 200
    Device.objects.filter(uid="n1-d0").update(health="ok")
    assert capacity() == 300


@pytest.mark.req("ELA-107")
def test_two_clusters_with_pools_of_their_own_in_one_platform(acme):
    """Training cards of 80 GiB, eight a node; inference cards of 24 GiB, four a node."""
    for code, model, count, mib in (("training", "H100", 8, 81920), ("inference", "A10", 4, 24576)):
        group = ResourceGroup.objects.create(code=code, name_en=code, name_zh=code)
        group_grant(actor=SYSTEM, code=code, tenant=acme)
        node_make(code, devices=count, memory_mib=mib, group=group)
        Device.objects.filter(group=group).update(model=model)
        queue_make(
            actor=SYSTEM, code=f"{code}-q", name_en=code, name_zh=code, changes={"resource_group": code}
        )
    quota_set(actor=SYSTEM, tenant=acme, item="compute_percent", total=10_000)
    quota_set(actor=SYSTEM, tenant=acme, item="gpu_memory_mib", total=10**6)
    rows = [submit(acme, percent=100, mib=20000, shares=4, queue="inference-q") for _ in range(2)]
    rows.append(submit(acme, percent=100, mib=60000, shares=8, queue="training-q"))
    cycle_run(actor=SYSTEM)
    models = {row.pk: set(row.allocations.values_list("device__model", flat=True)) for row in rows}
    assert list(models.values()) == [{"A10"}, set(), {"H100"}], "a full cluster takes nothing of the other"


@pytest.mark.req("ELA-701")
def test_a_leader_forgets_what_has_ended(acme):
    """It leads for months: what it knows does not grow with the work there ever was."""
    node_make("n1")
    placed, waits = (submit(acme, percent=60, mib=100) for _each in range(2))
    cache = ClusterCache()
    cache.begin()
    assert CycleRunner(cache, actor=SYSTEM).run().placed == 1
    cache.follow()
    assert cache.keys == {str(placed.uid): placed.pk, str(waits.uid): waits.pk}
    for row in (placed, waits):
        workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="")
        assert cache.follow()
        assert str(row.uid) not in cache.keys
    assert not cache.keys


# --- a pass that fails ------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-701", "ELA-706")
@pytest.mark.parametrize("broken", ["_rows_move", "_cards_charge"])
def test_a_pass_that_fails_midway_is_undone_whole_and_the_next_one_goes_on(acme, monkeypatch, broken):
    """Slices are made, rows moved and devices charged in one transaction: none of it is kept without the others."""
    node_make("n1", devices=2)
    rows = [submit(acme, percent=60, mib=100) for _ in range(2)]
    cache = ClusterCache()
    cache.begin()
    runner = CycleRunner(cache, actor=SYSTEM)

    def fails(*_args, **_more):
        raise RuntimeError("in the midst of it")

    with monkeypatch.context() as patched:
        patched.setattr(apply_plan, broken, fails)
        with pytest.raises(RuntimeError):
            runner.run()
    assert held() == [("n1-d0", 0, 0), ("n1-d1", 0, 0)]
    assert not Slice.plain.exists()
    assert not Allocation.objects.exists()
    assert set(Workload.plain.values_list("state", flat=True)) == {"pending"}
    assert runner.run().placed == len(rows)
    assert [percent for _uid, percent, _mib in held()] == [60, 60]


@pytest.mark.req("ELA-706")
def test_a_start_that_fails_at_the_node_gives_all_back_and_waits_again_with_its_reason(acme):
    node_make("n1", devices=2)
    row = submit(acme, percent=80, mib=100, shares=2)
    cycle_run(actor=SYSTEM)
    Slice.plain.update(told_at=timezone.now())
    first, second = parts(row)
    ends(first, code="refused", failed=True)
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("stopping", "refused")
    ends(second, code="stopped")
    row.refresh_from_db()
    assert (row.state, row.attempt, held()) == ("pending", 2, [("n1-d0", 0, 0), ("n1-d1", 0, 0)])
    assert row.decisions.order_by("pk").last().code == "refused"
    Workload.plain.filter(pk=row.pk).update(not_before_at=None)
    cycle_run(actor=SYSTEM)
    runs(row)
    assert row.state == "running"
