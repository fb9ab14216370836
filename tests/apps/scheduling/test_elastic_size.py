"""Elastic work is told its size, confirms it, and what it holds follows (ELA-906)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.fleet.models import GangSize, Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.engine.model.types import ElasticChange, Grant
from apps.scheduling.engine.resources.running_index import staying_grants
from apps.scheduling.models import Allocation, Workload, WorkloadSize
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.services.cycle.apply_changes import workload_elastic
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workload_control import workload_scale
from apps.scheduling.services.workloads.resizing.elastic_size import size_settle
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.slice_reports import slice_ended, slice_started
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.snapshot.workloads import work_read
from apps.scheduling.tasks import past_sizes_and_calls_forget, sizes_sweep
from tests.apps.scheduling.pool import node_make, tenant_ready
from tests.apps.scheduling.test_bulk import ASKED, one, steer
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = pytest.mark.req("ELA-906")


@pytest.fixture
def acme_ready(db, acme):
    """Two devices, and a tenant whose work may take them."""
    node_make(devices=2)
    return tenant_ready(acme)


def elastic(tenant, **more):
    return one(tenant, shares=3, min_shares=1, **more)


def told(row):
    """By share: its place, as its node is told."""
    places = GangSize.objects.get(workload_uid=row.uid).places
    held = Allocation.objects.filter(workload=row, state="active").order_by("share")
    return [(p["share"], p["shares"], p["step"]) for p in (places[str(part.slice_uid)] for part in held)]


def confirm(row, step, shares=None):
    """These shares, or all, say by which step they go."""
    held = Allocation.objects.filter(workload=row, state="active")
    held = held if shares is None else held.filter(share__in=shares)
    Slice.plain.filter(uid__in=held.values("slice_uid")).update(size_step=step)
    size_settle(actor=SYSTEM, workload_uid=row.uid)
    row.refresh_from_db()


def shrink(row, shares):
    workload_elastic(actor=SYSTEM, change=ElasticChange(str(row.uid), shares))
    row.refresh_from_db()


def grow(row, part, shares):
    grant = Grant(part.device.uid, part.device.node.uid, part.compute_percent, part.memory_mib)
    workload_elastic(actor=SYSTEM, change=ElasticChange(str(row.uid), shares, (grant,)))
    row.refresh_from_db()


def desired(row):
    held = Allocation.objects.filter(workload=row, state="active").order_by("share")
    wanted = dict(Slice.plain.filter(workload_uid=row.uid).values_list("uid", "desired"))
    return [wanted[part.slice_uid] for part in held]


def leaves(row, code="scaled"):
    for part in Allocation.objects.filter(workload=row, state="active", is_beside=True).select_related(
        "workload"
    ):
        ends(part, code=code)
    row.refresh_from_db()


def last_code(row):
    return row.decisions.filter(kind="scaled").last().code


def test_each_share_is_told_its_place_from_the_start(acme_ready):
    row = elastic(acme_ready)
    assert told(row) == [(0, 3, 1), (1, 3, 1), (2, 3, 1)]
    rigid = one(acme_ready)
    assert not GangSize.objects.filter(workload_uid=rigid.uid).exists()


def test_a_share_that_leaves_is_stopped_when_the_others_have_confirmed(acme_ready):
    row = elastic(acme_ready)
    confirm(row, 1)
    shrink(row, 2)
    assert told(row) == [(0, 2, 2), (1, 2, 2), (2, 2, 2)]
    assert desired(row) == ["running"] * 3
    confirm(row, 2, shares=[0, 2])
    assert desired(row) == ["running"] * 3, "share 1 has not confirmed"
    confirm(row, 2, shares=[1])
    assert desired(row) == ["running", "running", "stopped"]
    assert quota_get(acme_ready)["compute_percent"].used == 150, "held until it has ended"
    leaves(row)
    confirm(row, 2)
    assert (row.state, row.active_shares, last_code(row)) == ("running", 2, "confirmed")
    assert quota_get(acme_ready)["compute_percent"].used == 100
    assert WorkloadSize.objects.get(workload=row).confirmed == len(parts(row)) == 2


def test_work_that_never_confirms_is_not_waited_for(acme_ready):
    row = elastic(acme_ready)
    shrink(row, 1)
    assert desired(row) == ["running", "stopped", "stopped"]
    leaves(row)
    size_settle(actor=SYSTEM, workload_uid=row.uid)
    assert (last_code(row), WorkloadSize.objects.get(workload=row).is_open) == ("delivered", False)


def test_work_that_stops_confirming_is_waited_for_until_its_notice_is_over(acme_ready):
    row = elastic(acme_ready)
    confirm(row, 1)
    shrink(row, 2)
    assert sizes_sweep() == 1
    assert desired(row) == ["running"] * 3
    WorkloadSize.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    sizes_sweep()
    assert desired(row) == ["running", "running", "stopped"]
    leaves(row)
    sizes_sweep()
    assert last_code(row) == "overdue"
    assert sizes_sweep() == 0


def test_a_share_that_leaves_may_end_by_itself(acme_ready):
    row = elastic(acme_ready)
    confirm(row, 1)
    shrink(row, 2)
    leaves(row, code="completed")
    assert (row.state, len(parts(row))) == ("running", 2)
    confirm(row, 2)
    assert last_code(row) == "confirmed"


def test_a_growth_counts_from_the_moment_the_new_share_runs(acme_ready):
    row = elastic(acme_ready)
    confirm(row, 1)
    spare = parts(row)[2]
    shrink(row, 2)
    confirm(row, 2)
    leaves(row)
    confirm(row, 2)
    grow(row, spare, 3)
    size = WorkloadSize.objects.get(workload=row)
    assert (size.confirmed, size.shares, size.is_open) == (2, 3, True)
    assert told(row) == [(0, 2, 2), (1, 2, 2), (2, 3, 3)], "the others go on as they are"
    runs(row)
    size_settle(actor=SYSTEM, workload_uid=row.uid)
    assert told(row) == [(0, 3, 3), (1, 3, 3), (2, 3, 3)]
    assert WorkloadSize.objects.get(workload=row).confirmed == 2
    confirm(row, 3)
    assert WorkloadSize.objects.get(workload=row).confirmed == 3
    assert last_code(row) == "confirmed"


def test_a_growth_that_could_not_be_started_leaves_the_work_as_it_was(acme_ready):
    row = elastic(acme_ready)
    spare = parts(row)[2]
    shrink(row, 2)
    leaves(row)
    size_settle(actor=SYSTEM, workload_uid=row.uid)
    grow(row, spare, 3)
    ends(parts(row)[2], code="refused", failed=True)
    row.refresh_from_db()
    assert (row.state, row.active_shares, len(parts(row))) == ("running", 2, 2)
    assert [share[:2] for share in told(row)] == [(0, 2), (1, 2)]
    assert quota_get(acme_ready)["compute_percent"].used == 100
    assert "failed" in row.decisions.filter(kind="scaled").values_list("code", flat=True)


def test_a_share_that_fails_while_it_runs_still_ends_the_gang(acme_ready):
    row = elastic(acme_ready)
    ends(parts(row)[1], code="crashed", failed=True)
    row.refresh_from_db()
    assert row.state == "stopping"


@pytest.mark.req("ELA-901", "ELA-909")
def test_work_that_listens_goes_on_without_a_share_that_was_lost_with_its_node(acme_ready):
    row = elastic(acme_ready)
    confirm(row, 1)
    staying = [parts(row)[0].slice_uid, parts(row)[2].slice_uid]
    lost = parts(row)[1]
    ends(lost, code="lost", failed=True, requeue=True)
    slice_ended(
        actor=SYSTEM, workload_uid=row.uid, slice_uid=lost.slice_uid, at=timezone.now(), failed=True,
        reason_code="lost", reason="", requeue=True,
    )  # fmt: skip
    row.refresh_from_db()
    assert (row.state, row.active_shares, last_code(row)) == ("running", 2, "lost")
    assert [part.slice_uid for part in parts(row)] == staying
    assert told(row) == [(0, 2, 2), (1, 2, 2)]
    assert quota_get(acme_ready)["compute_percent"].used == 100
    confirm(row, 2)
    assert (last_code(row), WorkloadSize.objects.get(workload=row).confirmed) == ("confirmed", 2)
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.active_shares == 3, "it grows again where there is room"
    assert told(row) == [(0, 2, 2), (1, 2, 2), (2, 3, 3)]


def loses_first(row, *, beside):
    """It is told that the first share was lost, while the second is in that state already; the second."""
    first, second, *_others = parts(row)
    Slice.plain.filter(uid=second.slice_uid).update(state=beside, final_at=timezone.now())
    ends(first, code="lost", failed=True)
    row.refresh_from_db()
    return second


def test_a_node_that_takes_several_shares_is_told_of_once(acme_ready):
    row = elastic(acme_ready)
    confirm(row, 1)
    second = loses_first(row, beside="lost")
    assert (row.active_shares, told(row)[0]) == (1, (0, 1, 2))
    ends(second, code="lost", failed=True)
    row.refresh_from_db()
    assert (row.state, row.active_shares, told(row)) == ("running", 1, [(0, 1, 2)])
    assert row.decisions.filter(kind="scaled", code="lost").count() == 1
    assert quota_get(acme_ready)["compute_percent"].used == 50


@pytest.mark.req("ELA-505")
def test_what_is_left_of_a_replica_that_lost_a_share_leaves(acme_ready):
    row = one(acme_ready, shares=4, min_shares=2, shares_per_replica=2)
    confirm(row, 1)
    ends(parts(row)[1], code="lost", failed=True)
    row.refresh_from_db()
    held = Allocation.objects.filter(workload=row, state="active").order_by("pk")
    assert list(held.values_list("share", "is_beside")) == [(2, True), (0, False), (1, False)]
    assert (row.state, row.active_shares) == ("running", 2)
    confirm(row, 2)
    leaves(row)
    confirm(row, 2)
    assert (row.state, told(row), last_code(row)) == ("running", [(0, 2, 2), (1, 2, 2)], "confirmed")


@pytest.mark.parametrize(("listens", "min_shares"), [(False, 1), (True, 3)])
def test_work_that_does_not_listen_or_has_too_little_left_is_lost_as_a_whole(acme_ready, listens, min_shares):
    row = one(acme_ready, shares=3, min_shares=min_shares)
    if listens:
        confirm(row, 1)
    ends(parts(row)[1], code="lost", failed=True)
    row.refresh_from_db()
    assert row.state == "stopping"


@pytest.fixture
def grows(acme_ready):
    """Two shares that listen, and a third that is about to start."""

    def make(**more):
        row = elastic(acme_ready, **more)
        confirm(row, 1)
        spare = parts(row)[2]
        shrink(row, 2)
        confirm(row, 2)
        leaves(row)
        confirm(row, 2)
        grow(row, spare, 3)
        return row

    return make


def test_what_has_not_started_when_a_share_is_lost_leaves(grows):
    row = grows()
    ends(parts(row)[0], code="lost", failed=True)
    row.refresh_from_db()
    assert (row.state, row.active_shares, told(row)[0]) == ("running", 1, (0, 1, 4))
    confirm(row, 4)
    leaves(row)
    confirm(row, 4)
    assert (row.state, told(row), last_code(row)) == ("running", [(0, 1, 4)], "confirmed")


def test_a_share_that_has_just_started_goes_on_with_the_others(grows):
    row = grows()
    runs(row)
    ends(parts(row)[0], code="lost", failed=True)
    row.refresh_from_db()
    assert (row.state, row.active_shares, told(row)) == ("running", 2, [(0, 2, 4), (1, 2, 4)])


def test_a_share_that_failed_is_no_share_that_was_lost(acme_ready):
    """Of both ends only the loss is told yet."""
    row = elastic(acme_ready)
    confirm(row, 1)
    second = loses_first(row, beside="exited")
    assert (row.state, row.active_shares) == ("running", 2)
    ends(second, code="crashed", failed=True)
    row.refresh_from_db()
    assert row.state == "stopping"


@pytest.mark.parametrize("shares", [6, 4])
def test_the_engine_sees_leave_what_leaves(acme_ready, shares):
    """Two replicas are broken, or one is while another leaves."""
    node_make("n2", devices=6)
    row = one(acme_ready, shares=6, min_shares=2, shares_per_replica=2)
    confirm(row, 1)
    first, *_others, last = parts(row)
    if shares == 4:
        shrink(row, 4)
    else:
        Slice.plain.filter(uid=last.slice_uid).update(state="lost", final_at=timezone.now())
    ends(first, code="lost", failed=True)
    row.refresh_from_db()
    assert (row.state, row.active_shares) == ("running", 2)
    held = Allocation.objects.filter(workload=row, state="active").order_by("share")
    seen = work_read()[1][row.pk]
    assert len({part.share for part in held}) == len(held)
    staying = [part.slice_uid for part in held if not part.is_beside]
    assert [part.slice_uid for part in held][: len(staying_grants(seen))] == staying
    assert len(staying_grants(seen)) == 2
    assert not seen.moving


@pytest.mark.req("ELA-504", "ELA-905")
def test_scaling_what_waits_is_in_its_time_line_once(acme_ready):
    row = workload_request(actor=SYSTEM, tenant=acme_ready, asked=ASKED)
    steer(workload_scale, row, shares=4)
    steer(workload_scale, row, shares=4)
    line = row.decisions.get(kind="scaled")
    assert (line.code, line.params) == ("owner", {"shares": 4, "before": 1})


def test_requeued_work_is_told_anew(acme_ready):
    row = elastic(acme_ready)
    shrink(row, 2)
    for part in parts(row):
        ends(part, code="lost", failed=True)
    Workload.plain.filter(pk=row.pk).update(state="pending", active_shares=None)
    size_settle(actor=SYSTEM, workload_uid=row.uid)
    assert not WorkloadSize.objects.get(workload=row).is_open
    cycle_run(actor=SYSTEM)
    assert told(row) == [(0, 3, 3), (1, 3, 3), (2, 3, 3)]


def test_work_that_shrinks_to_what_runs_already_has_started(acme_ready):
    row = workload_request(
        actor=SYSTEM, tenant=acme_ready, asked=replace(ASKED, compute_percent=50, shares=3, min_shares=1)
    )
    cycle_run(actor=SYSTEM)
    first = parts(row)[0]
    now = timezone.now()
    Slice.plain.filter(uid=first.slice_uid).update(state="running", started_at=now, told_at=now)
    Slice.plain.filter(workload_uid=row.uid).update(told_at=now)
    slice_started(actor=SYSTEM, workload_uid=row.uid, at=now)
    steer(workload_scale, row, shares=1)
    row.refresh_from_db()
    assert (row.state, row.active_shares) == ("running", 1)


@pytest.mark.req("POOL-12.2")
def test_another_share_for_elastic_work_holds_what_it_has_and_not_what_it_may_have(acme_ready):
    row = elastic(acme_ready)
    shrink(row, 1)
    leaves(row)
    steer(workload_resize, row, compute_percent=60)
    assert quota_get(acme_ready)["compute_percent"].used == 60


@pytest.mark.req("POOL-12.2", "ELA-905")
def test_a_share_that_leaves_does_not_stand_in_the_way_of_another_amount(acme_ready):
    row = elastic(acme_ready)
    shrink(row, 1)
    assert desired(row).count("stopped") == 2
    steer(workload_resize, row, compute_percent=40)
    held = Allocation.objects.filter(workload=row, state="active").order_by("share")
    assert list(held.values_list("compute_percent", flat=True)) == [40, 50, 50]


def test_what_ended_work_was_told_is_forgotten(acme_ready):
    row, other = elastic(acme_ready), one(acme_ready, shares=1, min_shares=1)
    for part in parts(row):
        ends(part, code="completed")
    assert past_sizes_and_calls_forget() == 1
    assert [each.workload_uid for each in GangSize.objects.all()] == [other.uid]
