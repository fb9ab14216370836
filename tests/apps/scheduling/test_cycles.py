from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from apps.centre.services import centre_quotas_set
from apps.fleet.models import Device, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.selectors.workloads import expected_start_get, policy_get, workload_get, workload_reason
from apps.scheduling.services.cycle.cluster_cache import feed_take
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import policy_set, queue_change, queue_ensure
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workloads.slice_reports import slice_ended, slice_started
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.types import Amounts
from apps.tenancy.models import Tenant
from tests.apps.scheduling.pool import node_make, submit


def state(row):
    return Workload.objects.across().get(pk=row.pk).state


def started(row):
    """Say of each slice that it runs, as a node's sync would."""
    now = timezone.now()
    for part in Slice.objects.across().filter(workload_uid=row.uid, final_at=None):
        Slice.plain.filter(pk=part.pk).update(state="running", started_at=now, told_at=now)
        slice_started(actor=SYSTEM, workload_uid=row.uid, at=now)


def ended(row, *, failed=False, code="completed"):
    """Say of the first slice that it has ended."""
    part = Allocation.objects.filter(workload=row, state="active").first()
    slice_ended(
        actor=SYSTEM,
        workload_uid=row.uid,
        slice_uid=part.slice_uid,
        at=timezone.now(),
        failed=failed,
        reason_code=code,
        reason="because",
    )


@pytest.mark.req("POOL-12.1")
def test_a_workload_is_placed_and_its_share_is_held(db, acme):
    node_make()
    row = submit(acme, percent=30, mib=1000)
    report = cycle_run(actor=SYSTEM)
    assert (report.placed, report.waiting) == (1, 0)
    device = Device.objects.get()
    assert (device.held_percent, device.held_mib) == (30, 1000)
    part = Slice.objects.of(acme).get()
    assert (part.compute_percent, part.memory_mib, part.workload_uid) == (30, 1000, row.uid)
    assert state(row) == "placed"


@pytest.mark.req("ELA-409")
def test_what_does_not_fit_waits_with_a_reason_and_a_place(db, acme):
    node_make()
    first, second = submit(acme, percent=70), submit(acme, percent=40)
    cycle_run(actor=SYSTEM)
    assert (state(first), state(second)) == ("placed", "pending")
    waiting = workload_get(acme, second.uid, actor=SYSTEM)
    assert waiting.position == 1
    assert "40" in workload_reason(waiting)
    assert "30" in workload_reason(waiting)


def test_room_that_is_given_back_starts_what_waited(db, acme):
    node_make()
    first, second = submit(acme, percent=70), submit(acme, percent=40)
    cycle_run(actor=SYSTEM)
    started(first)
    Slice.plain.filter(workload_uid=first.uid).update(state="exited", final_at=timezone.now())
    Device.objects.update(held_percent=0, held_mib=0)
    ended(first)
    cycle_run(actor=SYSTEM)
    assert (state(first), state(second)) == ("finished", "placed")


def test_submitting_twice_for_one_order_gives_one_workload(db, acme):
    queue_ensure(actor=SYSTEM)
    order_uid = uuid4()
    assert submit(acme, order_uid=order_uid).pk == submit(acme, order_uid=order_uid).pk


@pytest.mark.parametrize(
    "wrong", [{"percent": 0}, {"percent": 101}, {"mib": 0}, {"shares": 0}, {"shares": 10**6}]
)
def test_absurd_amounts_are_refused(db, acme, wrong):
    queue_ensure(actor=SYSTEM)
    with pytest.raises(InvalidInput):
        submit(acme, **wrong)
    assert not Workload.objects.across().exists()


def test_a_workload_runs_when_all_its_shares_do_and_ends_as_a_gang(db, acme):
    node_make(devices=2)
    row = submit(acme, percent=100, shares=2)
    cycle_run(actor=SYSTEM)
    parts = list(Slice.objects.of(acme))
    assert len({part.device_id for part in parts}) == 2
    now = timezone.now()
    Slice.plain.filter(pk=parts[0].pk).update(started_at=now)
    slice_started(actor=SYSTEM, workload_uid=row.uid, at=now)
    assert state(row) == "placed"
    started(row)
    assert state(row) == "running"
    ended(row, failed=True, code="crashed")
    assert state(row) == "stopping"
    assert Slice.objects.of(acme).filter(desired="stopped").exists()
    ended(row, code="stopped")
    final = workload_get(acme, row.uid, actor=SYSTEM)
    assert (final.state, final.reason_code) == ("failed", "crashed")


def test_a_gang_begins_and_ends_with_the_last_of_its_slices_however_they_are_told_of(db, acme):
    node_make(devices=2)
    row = submit(acme, percent=100, shares=2)
    cycle_run(actor=SYSTEM)
    first, second = Slice.objects.of(acme).order_by("pk")
    now = timezone.now().replace(microsecond=0)
    for part, after_s in ((first, 9), (second, 4)):
        Slice.plain.filter(pk=part.pk).update(started_at=now + timedelta(seconds=after_s), told_at=now)
    slice_started(actor=SYSTEM, workload_uid=row.uid, at=now + timedelta(seconds=4))
    assert workload_get(acme, row.uid, actor=SYSTEM).started_at == now + timedelta(seconds=9)
    for part, after_s in ((first, 60), (second, 20)):
        at = now + timedelta(seconds=after_s)
        Slice.plain.filter(pk=part.pk).update(ended_at=at)
        slice_ended(
            actor=SYSTEM,
            workload_uid=row.uid,
            slice_uid=part.uid,
            at=at,
            failed=False,
            reason_code="completed",
            reason="the work finished",
        )
    final = workload_get(acme, row.uid, actor=SYSTEM)
    assert (final.state, final.ended_at) == ("finished", now + timedelta(seconds=60))


def test_work_that_is_lost_while_it_is_asked_to_stop_is_lost(db, acme):
    node_make()
    row = submit(acme)
    cycle_run(actor=SYSTEM)
    started(row)
    assert workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="enough").state == "stopping"
    ended(row, failed=True, code="lost")
    final = workload_get(acme, row.uid, actor=SYSTEM)
    assert (final.state, final.reason_code) == ("lost", "lost")


def test_what_waits_is_stopped_at_once_and_twice_changes_nothing(db, acme, globex):
    queue_ensure(actor=SYSTEM)
    row = submit(acme)
    with pytest.raises(NotFound):
        workload_stop(actor=SYSTEM, tenant=globex, workload_uid=row.uid, reason="not mine")
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="changed my mind")
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="again")
    found = workload_get(acme, row.uid, actor=SYSTEM)
    assert (found.state, workload_reason(found)) == ("finished", "It was stopped: changed my mind")


def test_what_no_node_was_told_of_is_released_at_once(db, acme):
    node_make()
    row = submit(acme)
    cycle_run(actor=SYSTEM)
    assert workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="stop").state == "finished"
    assert Device.objects.get().held_percent == 0


def test_work_that_no_node_could_run_fails_and_holds_nothing_up(db, acme):
    node_make()
    with pytest.raises(InvalidInput):
        submit(acme, work={"argv": []})
    bad, good = submit(acme), submit(acme)
    Workload.plain.filter(pk=bad.pk).update(work={"argv": []})
    cycle_run(actor=SYSTEM)
    assert (state(bad), state(good)) == ("failed", "placed")
    assert Device.objects.get().held_percent == 50


@pytest.mark.req("PLAT-AICFG-22")
def test_by_priority_the_higher_goes_first(db, acme):
    node_make()
    assert policy_get().ordering == "first_come"
    policy_set(actor=SYSTEM, changes={"ordering": "priority"})
    low, high = submit(acme, percent=100), submit(acme, percent=100, priority=5)
    cycle_run(actor=SYSTEM)
    assert (state(low), state(high)) == ("pending", "placed")


@pytest.mark.req("PLAT-CLU-63", "PLAT-CLU-64", "PLAT-CLU-65", "PLAT-CLU-66")
def test_a_queue_that_drains_starts_what_waits_one_that_is_down_takes_more_and_an_inactive_one_does_neither(
    db, acme
):
    node_make()
    queue = queue_ensure(actor=SYSTEM, code="night", name_en="Night", name_zh="夜间")
    queue_change(actor=SYSTEM, queue=queue, changes={"state": "down"})
    row = submit(acme, queue="night")
    cycle_run(actor=SYSTEM)
    assert state(row) == "pending"
    for closed, then in (("inactive", "pending"), ("drain", "placed")):
        queue_change(actor=SYSTEM, queue=queue, changes={"state": closed})
        with pytest.raises(Conflict):
            submit(acme, queue="night")
        cycle_run(actor=SYSTEM)
        assert state(row) == then
    with pytest.raises(InvalidInput):
        queue_change(actor=SYSTEM, queue=queue, changes={"state": "sideways"})


def test_the_tenants_quota_holds_in_the_cycle_too(db, acme, globex):
    node_make(devices=4)
    quota_set(actor=SYSTEM, tenant=acme, item="compute_percent", total=100)
    mine = [submit(acme, percent=60) for _ in range(2)]
    theirs = submit(globex, percent=60)
    cycle_run(actor=SYSTEM)
    assert [state(row) for row in mine] == ["placed", "pending"]
    assert state(theirs) == "placed"


@pytest.mark.req("PLAT-CFG-36")
def test_what_waits_for_its_tenants_quota_starts_when_quotas_are_kept_no_more(db, acme):
    node_make(devices=4)
    quota_set(actor=SYSTEM, tenant=acme, item="compute_percent", total=100)
    mine = [submit(acme, percent=60) for _ in range(2)]
    cycle_run(actor=SYSTEM)
    assert [state(row) for row in mine] == ["placed", "pending"]
    feed_take()
    centre_quotas_set(actor=SYSTEM, keeps_quotas=False)
    assert "rules" in feed_take(), "the leader hears of it"
    cycle_run(actor=SYSTEM)
    assert [state(row) for row in mine] == ["placed", "placed"]


def test_the_expected_start_is_now_later_or_unknown(db, acme):
    node_make()
    ask = {"tenant": acme, "amounts": Amounts(1, 80, 512)}
    assert expected_start_get(**ask).basis == "free_now"
    row = submit(acme, percent=50, run_timeout_s=600)
    cycle_run(actor=SYSTEM)
    started(row)
    later = expected_start_get(**ask)
    assert later.basis == "known_ends"
    assert 500 < (later.start_at - timezone.now()).total_seconds() < 700
    assert expected_start_get(**{**ask, "amounts": Amounts(1, 80, 10**6)}).basis == "never_fits"


@pytest.mark.req("ELA-109")
def test_parallel_cycles_and_submissions_never_sell_a_share_twice(committed):
    tenant = Tenant.objects.get(schema_name="acme")
    node_make()

    def work(number):
        try:
            submit(tenant, percent=60)
            return cycle_run(actor=SYSTEM).placed
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        placed = sum(pool.map(work, range(12)))
    cycle_run(actor=SYSTEM)
    assert placed == 1
    assert Device.objects.get().held_percent == 60
    assert Allocation.objects.count() == 1
    assert Workload.objects.across().filter(state="pending").count() == 11
