"""Sessions moved so that a gang starts, and parts of the pool that are reserved, through the scheduler's passes."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.fleet.models import Device, Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.models import Allocation, NominatedRoom, Reservation, Workload
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.services.cycle.apply_plan import placements_apply
from apps.scheduling.services.cycle.cycle_runner import CycleRunner, cycle_run
from apps.scheduling.services.queues.queue_settings import policy_set
from apps.scheduling.services.queues.reservations import reservation_cancel, reservation_make
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.test_preempting import alice, leading, pool, state, submit
from tests.apps.scheduling.test_shell import read_anew, rows_of
from tests.apps.scheduling.working_node import WorkingNode

__all__ = ["alice", "pool", "submit"]
API = "/api/v1/reservations"


def on(row):
    """Where it is held, whole or on the move."""
    held = Allocation.objects.filter(workload=row, state="active").order_by("share", "pk")
    return list(held.values_list("device__uid", flat=True))


# --- consolidation -----------------------------------------------------------------------------------------------


@pytest.fixture
def session(pool, alice, acme):
    """A session that lies on the first of eight cards, and a node beside to go to."""
    policy_set(actor=SYSTEM, changes={"consolidates": True, "placing": "device_compact"})
    big = WorkingNode("n1", devices=8)
    asked = WorkloadRequest("lab", "session", compute_percent=10, memory_mib=512)
    row = workload_request(actor=alice, tenant=acme, asked=asked)
    cycle_run(actor=SYSTEM)
    big.turn()
    row.refresh_from_db()
    assert row.state == "running"
    return row, big, WorkingNode("n2")


@pytest.fixture
def gang(session, submit):
    return submit("gang", shares=8, distinct_devices=True, single_node=True, preemptible=False)


@pytest.mark.req("POOL-12.23", "ELA-803")
def test_a_session_is_moved_so_that_a_gang_of_eight_cards_starts(session, gang, submit):
    row, big, small = session
    cache = leading()
    lead = CycleRunner(cache, actor=SYSTEM)
    lead.run()
    gang.refresh_from_db()
    assert (gang.state, gang.reason_code) == ("pending", "moving")
    assert NominatedRoom.objects.get().workload_id == gang.pk
    assert row.decisions.get(kind="moved").params["target"] == "n2-d0"
    cache.follow()
    assert rows_of(cache) == read_anew()
    assert cache.running[row.pk].moving == {0}
    # What is being freed is nobody else's, and nobody is moved twice for it; whoever leads.
    other = submit("other", preemptible=False)
    for _time in range(2):
        cache.follow()
        lead.run()
        cycle_run(actor=SYSTEM)
    assert state(other) == "pending"
    assert row.decisions.filter(kind="moved").count() == 1
    for _time in range(3):
        small.turn()
        big.turn()
    cache.follow()
    assert rows_of(cache) == read_anew()
    assert (on(row), state(row)) == (["n2-d0"], "running")
    lead.run()
    assert state(gang) == "placed"
    assert sorted(on(gang)) == [f"n1-d{number}" for number in range(8)]
    cache.follow()
    lead.run()
    assert not NominatedRoom.objects.exists()


@pytest.mark.req("POOL-12.23")
def test_a_move_that_fails_leaves_the_session_and_the_gang_waits_on(session, gang):
    row, big, small = session
    cycle_run(actor=SYSTEM)
    target = Slice.plain.get(moves_from__isnull=False)
    small.turn()
    small.runs[str(target.uid)] = "failed"
    small.turn()
    big.turn()
    cycle_run(actor=SYSTEM)
    assert (state(row), state(gang)) == ("running", "pending")
    assert on(row)[0].startswith("n1-")


def test_without_consolidation_nobody_is_moved(session, gang):
    policy_set(actor=SYSTEM, changes={"consolidates": False})
    cycle_run(actor=SYSTEM)
    gang.refresh_from_db()
    assert gang.state == "pending"
    assert gang.reason_code != "moving"
    assert not Slice.plain.filter(moves_from__isnull=False).exists()


# --- reservations ------------------------------------------------------------------------------------------------


@pytest.fixture
def cards(pool):
    """Two cards."""
    return WorkingNode(devices=2)


def reserve(tenant, begins_s=-1, lasts_s=3600, **more):
    from_at = timezone.now() + timedelta(seconds=begins_s)
    given = {"device_uids": ["n1-d0"]} if "count" not in more else {}
    return reservation_make(
        actor=SYSTEM, name="course", from_at=from_at, to_at=from_at + timedelta(seconds=lasts_s), tenant=tenant,
        **given | more,
    )  # fmt: skip


@pytest.fixture
def gina(pool, member, globex):
    actor = member("globex", "tenant_front_line").actor

    def make(**more):
        asked = WorkloadRequest("theirs", argv=("a",), compute_percent=100, memory_mib=64, **more)
        return workload_request(actor=actor, tenant=globex, asked=asked)

    return make


@pytest.mark.req("ELA-305")
def test_what_is_reserved_serves_its_holder_and_nobody_else_until_it_ends(cards, submit, gina, globex):
    kept = reserve(globex)
    mine, more = submit(), submit()
    cycle_run(actor=SYSTEM)
    assert (on(mine), state(more)) == (["n1-d1"], "pending")
    theirs = gina(run_timeout_s=600)
    cache = leading()
    CycleRunner(cache, actor=SYSTEM).run()
    assert on(theirs) == ["n1-d0"]
    # The next of others starts there once it is given back, and not before.
    Allocation.objects.filter(workload=theirs).update(state="released")
    Device.objects.filter(uid="n1-d0").update(held_percent=0, held_mib=0)
    Workload.plain.filter(pk=theirs.pk).update(state="finished", ended_at=timezone.now())
    cache.follow()
    CycleRunner(cache, actor=SYSTEM).run()
    assert state(more) == "pending"
    reservation_cancel(actor=SYSTEM, uid=kept.uid)
    assert cache.follow(), "a reservation that is called off wakes the leader"
    assert rows_of(cache) == read_anew()
    CycleRunner(cache, actor=SYSTEM).run()
    assert on(more) == ["n1-d0"]


@pytest.mark.req("ELA-305")
def test_a_reservation_that_is_over_keeps_nothing(cards, submit, globex):
    kept = reserve(globex)
    rows = [submit(), submit()]
    cycle_run(actor=SYSTEM)
    assert sorted(map(state, rows)) == ["pending", "placed"]
    Reservation.objects.filter(pk=kept.pk).update(to_at=timezone.now())
    cycle_run(actor=SYSTEM)
    assert list(map(state, rows)) == ["placed", "placed"]


@pytest.mark.req("ELA-305", "ELA-704")
def test_nothing_runs_across_the_beginning_of_a_reservation(cards, submit, gina, globex):
    kept = reserve(globex, begins_s=1800)
    short, long, endless = submit(run_timeout_s=1200), submit(run_timeout_s=7200), submit()
    named = gina(reservation=str(kept.uid), run_timeout_s=600)
    cycle_run(actor=SYSTEM)
    placed = {row.run_timeout_s: on(row) for row in (short, long, endless)}
    assert placed[1200] == ["n1-d0"] or placed[1200] == ["n1-d1"]
    assert (
        sorted(map(state, (short, long, endless))) == ["pending", "placed", "placed"]
        or state(short) == "placed"
    )
    assert "n1-d0" not in placed[7200] + placed[None]
    named.refresh_from_db()
    assert (named.state, named.reason_code) == ("pending", "reservation_closed")
    assert workload_reason(named)
    Reservation.objects.filter(pk=kept.pk).update(from_at=timezone.now() - timedelta(seconds=1))
    Allocation.objects.filter(device__uid="n1-d0").update(state="released")
    Device.objects.filter(uid="n1-d0").update(held_percent=0, held_mib=0)
    cycle_run(actor=SYSTEM)
    assert on(named) == ["n1-d0"]


@pytest.mark.req("ELA-305")
def test_of_a_count_of_cards_each_part_is_kept(cards, submit, globex, gina):
    reserve(globex, count=2, compute_percent=60)
    half, small = submit(percent=50), submit(percent=40)
    cycle_run(actor=SYSTEM)
    assert (state(half), state(small)) == ("pending", "placed")


@pytest.mark.req("ELA-305")
def test_what_has_no_meaning_or_is_reserved_already_is_refused(cards, globex, acme):
    reserve(globex)
    for wrong, field in (
        ({"lasts_s": -5}, "to_at"), ({"lasts_s": 1, "begins_s": -60}, "to_at"), ({"tenant": None}, "tenant"),
        ({"device_uids": []}, "count"), ({"device_uids": ["x"]}, "device_uids"),
        ({"compute_percent": 0}, "compute_percent"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as told:
            reserve(**{"tenant": acme} | wrong)
        assert list(told.value.fields) == [field]
    with pytest.raises(Conflict, match="n1-d0 is reserved"):
        reserve(acme)
    with pytest.raises(Conflict, match="2 devices are asked for that time, 1 of 2"):
        reserve(acme, count=2)
    reserve(acme, begins_s=3600)
    reserve(acme, count=1)
    assert Reservation.objects.count() == 3


@pytest.mark.req("ELA-305")
def test_operators_reserve_over_the_api_and_members_do_not(cards, operator, member):
    api = operator("cluster_administrator").api()
    begins, ends = timezone.now(), timezone.now() + timedelta(hours=1)
    body = {"name": "course", "tenant": "globex", "count": 1, "from_at": begins, "to_at": ends}
    made = api.post(API, body, format="json")
    assert made.status_code == 201, made.content
    assert [row["name"] for row in api.get(API).json()["results"]] == ["course"]
    assert api.post(API, body | {"count": 2}, format="json").status_code == 409
    assert api.post(API, body | {"tenant": "nobody"}, format="json").status_code == 404
    assert member("acme", "tenant_front_line").api().post(API, body, format="json").status_code == 403
    assert api.delete(f"{API}/{made.json()['uid']}").status_code == 204
    assert api.delete(f"{API}/{made.json()['uid']}").status_code == 204
    assert api.get(API).json()["results"] == []


# --- between plan and apply --------------------------------------------------------------------------------------


@pytest.mark.req("ELA-109")
def test_a_card_that_vanishes_between_plan_and_apply_takes_nothing(cards, submit):
    rows = [submit(), submit()]
    cache = leading()
    plan = plan_kept(cache.state, int(timezone.now().timestamp()), 1)
    assert len(plan.placements) == 2
    cards.say(devices=cards.devices[1:])
    chosen = placements_apply(actor=SYSTEM, placements=plan.placements)
    assert [each.share_requests[0].device_uid for each in chosen] == ["n1-d1"]
    cache.placed(chosen)
    cache.follow()
    assert rows_of(cache) == read_anew()
    CycleRunner(cache, actor=SYSTEM).run()
    assert sorted(map(state, rows)) == ["pending", "placed"]
    cards.say()
    assert cache.follow()
    CycleRunner(cache, actor=SYSTEM).run()
    assert list(map(state, rows)) == ["placed", "placed"]
