"""The durable shell around the engine: the cluster cache, plans applied in bulk, running work changed."""

from datetime import timedelta
from random import Random

import pytest
from django.db import connection
from django.utils import timezone

from apps.fleet.models import Device, Node, Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import ElasticChange, Grant, Preemption
from apps.scheduling.models import Allocation, Decision, PastUse, Workload
from apps.scheduling.services.cycle.apply_changes import changes_apply, workload_elastic, workload_preempt
from apps.scheduling.services.cycle.apply_plan import placements_apply
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.cycle_runner import LEADER_LOCK, CycleRunner, cycle_run
from apps.scheduling.services.cycle.usage_decay import past_use_account
from apps.scheduling.services.queues.queue_settings import policy_set, queue_change, queue_ensure
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.slice_reports import slice_ended, slice_started
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.snapshot import workloads
from tests.apps.scheduling.pool import node_make, submit


def rows_of(cache):
    """All that the engine knows, in an order of its own."""
    found = cache.state.snapshot()
    return {
        name: sorted(map(repr, getattr(found, name)))
        for name in (
            "nodes",
            "devices",
            "queues",
            "running",
            "requests",
            "tenant_quotas",
            "reservations",
            "holds",
        )
    } | {"policy": found.policy}


def read_anew():
    cache = ClusterCache()
    cache.read()
    return rows_of(cache)


def runs(row):
    now = timezone.now()
    Slice.plain.filter(workload_uid=row.uid, final_at=None).update(
        state="running", started_at=now - timedelta(seconds=60), told_at=now
    )
    slice_started(actor=SYSTEM, workload_uid=row.uid, at=now)
    row.refresh_from_db()


def ends(part, *, code="stopped", failed=False, requeue=False):
    """One slice has ended, as its node says."""
    now = timezone.now()
    Slice.plain.filter(uid=part.slice_uid).update(state="exited", final_at=now, ended_at=now, closed_at=now)
    held = Device.objects.get(pk=part.device_id)
    Device.objects.filter(pk=held.pk).update(
        held_percent=held.held_percent - part.compute_percent, held_mib=held.held_mib - part.memory_mib
    )
    slice_ended(
        actor=SYSTEM, workload_uid=part.workload.uid, slice_uid=part.slice_uid, at=now, failed=failed,
        reason_code=code, reason="", requeue=requeue,
    )  # fmt: skip


def parts(row):
    return list(
        Allocation.objects.filter(workload=row, state="active").select_related("workload").order_by("share")
    )


# --- the cluster cache -------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-108")
def test_a_picture_that_follows_the_feed_equals_one_that_is_read_anew(db, acme, globex):
    node_make("n1", devices=2)
    node_make("n2", devices=2)
    cache = ClusterCache()
    cache.begin()
    runner = CycleRunner(cache, actor=SYSTEM)
    random = Random(42)
    rows = []
    queue = queue_ensure(actor=SYSTEM)

    def drain():
        Node.objects.filter(name="n2").update(state=random.choice(["ready", "drained", "lost"]))

    def ill():
        Device.objects.filter(uid="n1-d0").update(health=random.choice(["ok", "failed"]))

    def another():
        rows.append(submit(random.choice([acme, globex]), percent=random.choice([10, 50, 100]), mib=64))

    def stop():
        if rows:
            row = rows.pop(random.randrange(len(rows)))
            workload_stop(actor=SYSTEM, tenant=row.tenant, workload_uid=row.uid, reason="enough")

    def start():
        for row in Workload.plain.filter(state="placed")[:1]:
            runs(row)

    def rules():
        queue_change(actor=SYSTEM, queue=queue, changes={"priority": random.randrange(9)})
        policy_set(actor=SYSTEM, changes={"aging_s": random.randrange(1, 99)})
        quota_set(actor=SYSTEM, tenant=acme, item="instances", total=random.randrange(5, 50))

    for _step in range(60):
        random.choice([drain, ill, another, another, another, stop, start, rules])()
        if random.random() < 0.5:
            assert cache.follow() or True
            runner.run()
            cache.follow()
            assert rows_of(cache) == read_anew()
    assert Workload.plain.exclude(placed_at=None).exists()


def test_what_changes_before_a_leader_begins_is_read_and_not_followed(db, acme):
    node_make()
    submit(acme)
    cache = ClusterCache()
    cache.begin()
    assert not cache.follow()
    submit(acme)
    assert cache.follow()
    assert len(cache.waiting) == 2


@pytest.mark.req("ELA-708", "ELA-109")
def test_while_another_leads_a_pass_does_nothing(committed, acme):
    import psycopg

    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [LEADER_LOCK])
        assert not cycle_run(actor=SYSTEM).led
        other.execute("SELECT pg_advisory_unlock(%s)", [LEADER_LOCK])
    assert cycle_run(actor=SYSTEM).led


# --- plans applied -----------------------------------------------------------------------------------------------


def planned(*, now=0):
    cache = ClusterCache()
    cache.read()
    return cache, plan_kept(cache.state, now or int(timezone.now().timestamp()), 1)


@pytest.mark.req("ELA-109")
def test_what_was_stopped_or_full_or_gone_since_the_plan_is_skipped_and_the_rest_is_placed(db, acme):
    node_make("n1", devices=3)
    policy_set(actor=SYSTEM, changes={"placing": "device_balanced"})
    gone, full, stopped_row = submit(acme, percent=100), submit(acme, percent=100), submit(acme, percent=100)
    _picture, plan = planned()
    devices = {each.request_id: each.grants[0].device_id for each in plan.placements}
    assert len(set(devices.values())) == 3
    Device.objects.filter(uid=devices[str(gone.uid)]).update(health="failed")
    Device.objects.filter(uid=devices[str(full.uid)]).update(held_percent=1, held_mib=1)
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=stopped_row.uid, reason="enough")
    node_make("n2")
    last = submit(acme, percent=100)
    _picture, more = planned()
    chosen = placements_apply(actor=SYSTEM, placements=[*plan.placements, *more.placements])
    assert last.uid in {each.row.uid for each in chosen}
    assert not {gone.uid, full.uid, stopped_row.uid} & {
        each.row.uid for each in chosen if each.placement in plan.placements
    }
    for device in Device.objects.all():
        held = Allocation.objects.filter(device=device, state="active")
        assert device.held_percent - (device.held_mib == 1) == sum(part.compute_percent for part in held)


@pytest.mark.req("ELA-504")
def test_every_decision_is_in_the_time_line(db, acme):
    node_make()
    first, second = submit(acme, percent=70), submit(acme, percent=70)
    cycle_run(actor=SYSTEM)
    cycle_run(actor=SYSTEM)
    runs(first)
    assert list(first.decisions.values_list("kind", flat=True)) == ["submitted", "placed", "started"]
    waits = second.decisions.filter(kind="waiting")
    assert waits[0].code == "compute_percent"
    assert waits.count() == 1, "a reason that has not changed is not told again"


# --- preemption --------------------------------------------------------------------------------------------------


BENEFICIARY = "6f0f5f6c-53a4-4f2e-9b0f-3f2f5d9d1c11"


def preemption(row, seconds=120):
    return Preemption(str(row.uid), BENEFICIARY, "priority", seconds, 0)


@pytest.mark.req("ELA-810", "ELA-811", "ELA-815")
def test_preempted_work_gets_notice_ends_and_waits_in_its_old_place(db, acme):
    node_make()
    policy_set(actor=SYSTEM, changes={"grace_s": 77})
    row = submit(acme, percent=100)
    Workload.plain.filter(pk=row.pk).update(preemptible=True)
    cycle_run(actor=SYSTEM)
    runs(row)
    first_start = row.started_at
    part = parts(row)[0]
    assert Slice.plain.get(uid=part.slice_uid).work["grace_s"] == 77
    workload_preempt(actor=SYSTEM, preemption=preemption(row))
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("stopping", "preempted")
    assert (row.after_stop, str(row.preempted_by), row.preemption_cause) == (
        "preempt", BENEFICIARY, "priority",
    )  # fmt: skip
    assert Slice.plain.get(uid=part.slice_uid).desired == "stopped"
    workload_preempt(actor=SYSTEM, preemption=preemption(row))
    ends(part, code="preempted")
    row.refresh_from_db()
    assert (row.state, row.preemptions, row.started_at, row.active_shares) == (
        "pending",
        1,
        first_start,
        None,
    )
    assert (row.after_stop, row.preempted_by, row.preemption_cause) == ("", None, "")
    assert row.decisions.get(kind="preempted").params["beneficiary"] == BENEFICIARY
    kinds = list(row.decisions.values_list("kind", flat=True))
    assert kinds[-3:] == ["preempting", "preempted", "requeued"]
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "placed"


@pytest.mark.req("ELA-802")
def test_what_is_not_preemptible_is_never_stopped_whatever_a_plan_says(db, acme):
    node_make()
    row = submit(acme, percent=100)
    cycle_run(actor=SYSTEM)
    workload_preempt(actor=SYSTEM, preemption=preemption(row))
    row.refresh_from_db()
    assert row.state == "placed"


def test_work_that_was_done_before_its_notice_came_has_ended(db, acme):
    node_make()
    row = submit(acme, percent=100)
    Workload.plain.filter(pk=row.pk).update(preemptible=True)
    cycle_run(actor=SYSTEM)
    runs(row)
    workload_preempt(actor=SYSTEM, preemption=preemption(row))
    ends(parts(row)[0], code="completed")
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("finished", "completed")


@pytest.mark.req("ELA-801", "ELA-806")
def test_more_important_work_preempts_where_the_policy_says_so_and_starts_in_its_place(db, acme):
    node_make()
    policy_set(actor=SYSTEM, changes={"ordering": "priority", "has_preemption": True})
    low = submit(acme, percent=100)
    Workload.plain.filter(pk=low.pk).update(preemptible=True)
    cache = ClusterCache()
    cache.begin()
    runner = CycleRunner(cache, actor=SYSTEM)
    runner.run()
    runs(low)
    high = submit(acme, percent=100, priority=10)
    cache.follow()
    runner.run()
    low.refresh_from_db()
    assert (low.state, low.reason_code) == ("stopping", "preempted")
    ends(parts(low)[0], code="preempted")
    cache.follow()
    runner.run()
    low.refresh_from_db(), high.refresh_from_db()
    assert (low.state, high.state) == ("pending", "placed")


# --- elastic work ------------------------------------------------------------------------------------------------


def elastic(acme, shares=3, least=1):
    row = submit(acme, percent=50, shares=shares)
    Workload.plain.filter(pk=row.pk).update(min_shares=least)
    return row


@pytest.mark.req("ELA-901", "ELA-905")
def test_elastic_work_shrinks_and_goes_on_and_grows_again(db, acme):
    node_make(devices=2)
    row = elastic(acme)
    cycle_run(actor=SYSTEM)
    runs(row)
    assert row.active_shares == 3
    last = parts(row)[2]
    workload_elastic(actor=SYSTEM, change=ElasticChange(str(row.uid), 2))
    assert Slice.plain.get(uid=last.slice_uid).desired == "stopped"
    ends(last, code="scaled")
    row.refresh_from_db()
    assert (row.state, row.active_shares, len(parts(row))) == ("running", 2, 2)
    grant = Grant(last.device.uid, last.device.node.uid, 50, 1024)
    change = ElasticChange(str(row.uid), 3, (grant,))
    cache = ClusterCache()
    cache.begin()
    changes_apply(actor=SYSTEM, cache=cache, plan=Plan(resizes=(change,)))
    row.refresh_from_db()
    assert (row.state, row.active_shares, len(parts(row))) == ("running", 3, 3)
    cache.follow()
    assert rows_of(cache) == read_anew()
    assert list(row.decisions.filter(kind="scaled").values_list("params__shares", flat=True)) == [2, 3]


def test_elastic_work_starts_with_what_there_is(db, acme):
    node_make(devices=2)
    submit(acme, percent=100)
    cycle_run(actor=SYSTEM)
    row = elastic(acme, shares=4, least=1)
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert (row.state, row.active_shares, len(parts(row))) == ("placed", 2, 2)
    runs(row)
    assert row.state == "running"


# --- past use ----------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-1008")
def test_past_use_adds_what_was_held_and_fades_by_its_half_life(db, acme):
    node_make(devices=2)
    policy_set(actor=SYSTEM, changes={"half_life_s": 3600})
    row = submit(acme, percent=50, shares=2)
    cycle_run(actor=SYSTEM)
    began = timezone.now() - timedelta(seconds=100)
    Allocation.objects.update(created_at=began)
    past_use_account(actor=SYSTEM, now=began + timedelta(seconds=100))
    used = PastUse.objects.of(acme).get().card_seconds
    assert used == pytest.approx(100, rel=0.02)
    Allocation.objects.filter(workload=row).update(
        state="released", released_at=began + timedelta(seconds=100)
    )
    past_use_account(actor=SYSTEM, now=began + timedelta(seconds=3700))
    assert PastUse.objects.of(acme).get().card_seconds == pytest.approx(used / 2, rel=0.01)
    past_use_account(actor=SYSTEM, now=began)
    assert PastUse.objects.of(acme).get().card_seconds == pytest.approx(used / 2, rel=0.01)


def test_decisions_name_who_made_them(db, acme):
    node_make()
    submit(acme)
    cycle_run(actor=SYSTEM)
    assert set(Decision.objects.values_list("actor", flat=True)) == {"system"}


@pytest.mark.req("ELA-701")
def test_of_more_work_than_is_read_at_once_the_most_urgent_is_seen_and_the_rest_later(db, acme, monkeypatch):
    monkeypatch.setattr(workloads, "MAX_WAITING", 2)
    node_make()
    old, older, urgent = submit(acme), submit(acme), submit(acme, priority=7)
    cache = ClusterCache()
    cache.begin()
    assert cache.waiting == {urgent.pk: str(urgent.uid), old.pk: str(old.uid)}
    assert not cache.follow()
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=urgent.uid, reason="enough")
    assert cache.follow()
    assert cache.waiting == {old.pk: str(old.uid), older.pk: str(older.uid)}
