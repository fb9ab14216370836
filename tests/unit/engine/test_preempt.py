"""Making room: who is stopped or shrunk for whom, how few, and that the room goes to whom it was made for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan
from apps.scheduling.engine.model.types import (
    Amount,
    ElasticChange,
    Grant,
    HoldKind,
    Limit,
    Ordering,
    Policy,
    Queue,
    Quota,
    ReasonCode,
    Request,
    RunningWorkload,
    Snapshot,
)
from tests.unit.engine.pools import ask, holding, placed, pool, reasons, run

ON = Policy(preemption=True, ordering=Ordering.PRIORITY, patience_s=None)
NOW = 10_000


def low(name: str, *device_ids: str, percent: int = 100, **more: Any) -> RunningWorkload:
    """Preemptible work of priority 0 that holds these devices since 0."""
    grants = tuple(Grant(each, each.split("/")[0], percent, 1_000) for each in device_ids)
    return RunningWorkload(
        **{"id": name, "tenant_id": "acme", "queue_id": "q", "grants": grants, "preemptible": True} | more
    )


def full(nodes: int, cards: int, **more: Any) -> Snapshot:
    """Each device held by preemptible work of its own, w0 on n0/0 and so on."""
    ids = [f"n{i}/{k}" for i in range(nodes) for k in range(cards)]
    running = tuple(low(f"w{i}", each) for i, each in enumerate(ids))
    return replace(pool(nodes, cards), running=running, policy=replace(ON, **more))


def victims(made: Plan) -> list[str]:
    return sorted(each.running_id for each in made.preemptions)


@pytest.mark.req("ELA-801")
def test_nobody_is_stopped_where_preemption_is_off_or_the_queue_never_preempts() -> None:
    off = replace(full(1, 1), policy=Policy(ordering=Ordering.PRIORITY))
    assert not run(off, ask(1, 100, priority=9), now=NOW).preemptions
    never = replace(full(1, 1), queues=(Queue("q", preempts=False),))
    assert not run(never, ask(1, 100, priority=9), now=NOW).preemptions
    assert victims(run(full(1, 1), ask(1, 100, priority=9), now=NOW)) == ["w0"]


@pytest.mark.req("ELA-1702")
def test_work_of_a_queue_that_never_preempts_is_preempted_all_the_same() -> None:
    queues = (Queue("high-priority", priority=100), Queue("q", preempts=False))
    snapshot = replace(full(1, 1), queues=queues)
    assert victims(run(snapshot, ask(1, 100, queue_id="high-priority", priority=1), now=NOW)) == ["w0"]


@pytest.mark.req("ELA-802")
@pytest.mark.parametrize(
    "held",
    [low("w", "n0/0", priority=5), low("w", "n0/0", preemptible=False), low("w", "n0/0", priority=6)],
    ids=["equal", "not preemptible", "higher"],
)
def test_equal_and_protected_work_is_never_touched(held: RunningWorkload) -> None:
    snapshot = replace(pool(), running=(held,), policy=replace(ON, reclaim=True))
    made = run(snapshot, ask(1, 100, priority=5), now=NOW)
    assert not made.preemptions
    assert reasons(made)["r1"].code is ReasonCode.COMPUTE_PERCENT


@pytest.mark.req("ELA-803")
def test_a_gang_preempts_though_one_card_of_many_is_free() -> None:
    snapshot = full(8, 8)
    snapshot = replace(snapshot, running=snapshot.running[1:])
    made = run(snapshot, ask(1, 100, shares=8, single_node=True, priority=1), now=NOW)
    assert victims(made) == [f"w{i}" for i in range(1, 8)], "the node that lacks least"
    (hold,) = made.holds
    assert {grant.node_id for grant in hold.grants} == {"n0"}
    assert hold.kind is HoldKind.NOMINATED


@pytest.mark.req("ELA-805")
def test_no_more_are_stopped_than_are_needed() -> None:
    running = tuple(low(f"w{i}", *(f"n{i}/{k}" for k in range(4)), started_at_s=i) for i in range(4))
    snapshot = replace(pool(4, 4), running=running, policy=ON)
    made = run(snapshot, ask(1, 100, shares=4, priority=1), now=NOW)
    assert len(made.preemptions) == 1
    made = run(snapshot, ask(1, 100, shares=5, priority=1), now=NOW)
    assert len(made.preemptions) == 2


@pytest.mark.req("ELA-805")
def test_small_work_that_turns_out_needless_is_spared() -> None:
    running = (low("small", "n0/0", percent=10), low("large", "n0/0", percent=90, priority=1))
    snapshot = replace(pool(), running=running, policy=ON)
    assert victims(run(snapshot, ask(1, 90, priority=5), now=NOW)) == ["large"]


@pytest.mark.req("ELA-805")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"priority": 0}, {"priority": 1, "checkpoint_at_s": NOW}),
        ({"checkpoint_at_s": NOW - 10}, {"checkpoint_at_s": NOW - 500}),
        ({"started_at_s": NOW - 10}, {}),
        ({"cost_per_hour_micros": 10}, {"cost_per_hour_micros": 50_000}),
    ],
    ids=["lower priority", "younger checkpoint", "less work lost", "cheaper"],
)
def test_the_least_harm_is_done(first: dict[str, Any], second: dict[str, Any]) -> None:
    running = (low("a", "n0/0", **second), low("b", "n1/0", **first))
    snapshot = replace(pool(2), running=running, policy=ON)
    assert victims(run(snapshot, ask(1, 100, priority=5), now=NOW)) == ["b"]


def test_what_is_lost_is_told_in_card_seconds_and_money() -> None:
    held = low("w", "n0/0", "n0/1", checkpoint_at_s=NOW - 1_800, cost_per_hour_micros=6_000_000)
    snapshot = replace(pool(1, 2), running=(held,), policy=ON)
    (row,) = run(snapshot, ask(1, 100, priority=5), now=NOW).preemptions
    assert (row.for_request_id, row.reason) == ("r1", "priority")
    assert (row.lost_card_seconds, row.lost_micros) == (3_600, 3_000_000)


def test_work_is_left_alone_for_its_least_run_time() -> None:
    snapshot = replace(pool(), running=(low("w", "n0/0", started_at_s=NOW - 59, min_run_s=60),), policy=ON)
    assert not run(snapshot, ask(1, 100, priority=5), now=NOW).preemptions
    assert run(snapshot, ask(1, 100, priority=5), now=NOW + 1).preemptions
    assert not run(full(1, 1, min_run_s=NOW + 1), ask(1, 100, priority=5), now=NOW).preemptions


@pytest.mark.req("ELA-812")
def test_work_that_was_preempted_often_is_protected() -> None:
    held = low("w", "n0/0", preempted_count=5)
    snapshot = replace(pool(), running=(held,), policy=ON)
    assert not run(snapshot, ask(1, 100, priority=5), now=NOW).preemptions


@pytest.mark.req("ELA-806")
def test_nobody_is_stopped_where_that_does_not_help() -> None:
    stays = holding("stays", "n0/1", 1)
    snapshot = replace(pool(1, 2), running=(low("w", "n0/0"), stays), policy=ON)
    assert not run(snapshot, ask(1, 100, shares=2, priority=5), now=NOW).preemptions
    other = replace(
        full(2, 1), devices=tuple(replace(d, model="x") if d.node_id == "n1" else d for d in pool(2).devices)
    )
    assert victims(run(other, ask(1, 100, model="x", priority=5), now=NOW)) == ["w1"]


@pytest.mark.req("ELA-806")
@pytest.mark.parametrize("kind", ["queue", "tenant"])
def test_nobody_is_stopped_beyond_the_quota_of_who_waits(kind: str) -> None:
    bound = Quota(nominal=Limit(compute_percent=50))
    queues = (Queue("q"), Queue("p", quota=bound if kind == "queue" else Quota()))
    tenants = (("globex", bound),) if kind == "tenant" else ()
    snapshot = replace(full(2, 1), queues=queues, tenant_quotas=tenants)
    asked = ask(1, 60, queue_id="p", tenant_id="globex", priority=5)
    assert not run(snapshot, asked, now=NOW).preemptions
    assert run(snapshot, replace(asked, compute_percent=50), now=NOW).preemptions


def test_a_full_queue_is_cleared_from_within() -> None:
    """The queue's bound is what is short: work of the same queue gives way, not that of another."""
    queues = (Queue("q"), Queue("p", quota=Quota(nominal=Limit(compute_percent=100))))
    running = (low("mine", "n0/0", queue_id="p"), low("other", "n1/0"))
    snapshot = replace(pool(3), queues=queues, running=running, policy=ON)
    assert victims(run(snapshot, ask(1, 100, queue_id="p", priority=5), now=NOW)) == ["mine"]


def stop(snapshot: Snapshot, made: Plan) -> Snapshot:
    """As the shell does: victims are marked, holds are given back."""
    doomed = {each.running_id for each in made.preemptions}
    running = tuple(replace(work, preempted=True) if work.id in doomed else work for work in snapshot.running)
    return replace(snapshot, running=running, holds=made.nominated_holds)


@pytest.mark.req("ELA-807")
def test_freed_room_is_held_until_its_request_starts() -> None:
    """First come would give it to the older request; neither it nor the victim gets it."""
    snapshot = replace(full(1, 2), policy=replace(ON, ordering=Ordering.FIRST_COME))
    old, urgent = ask(1, 100), ask(2, 100, shares=2, priority=5)
    made = run(snapshot, old, urgent, now=NOW)
    assert victims(made) == ["w0", "w1"]
    assert reasons(made)["r2"].code is ReasonCode.PREEMPTING
    half = stop(snapshot, made)
    half = replace(half, running=half.running[1:])
    victim = ask(0, 100, id="w0")
    again = run(half, victim, old, urgent, now=NOW + 10)
    assert placed(again) == []
    assert not again.preemptions
    assert again.nominated_holds == made.nominated_holds
    gone = replace(half, running=(), holds=again.nominated_holds)
    assert placed(run(gone, victim, old, urgent, now=NOW + 20)) == ["r2"]


@pytest.mark.req("ELA-808")
def test_two_who_wait_stop_as_many_as_both_need() -> None:
    made = run(full(4, 1), ask(1, 100, priority=5), ask(2, 100, priority=5), now=NOW)
    assert len(made.preemptions) == 2
    devices = [grant.device_id for hold in made.holds for grant in hold.grants]
    assert len(set(devices)) == 2
    again = run(stop(full(4, 1), made), ask(1, 100, priority=5), ask(2, 100, priority=5), now=NOW + 1)
    assert not again.preemptions


@pytest.mark.req("ELA-808")
def test_room_that_is_coming_anyhow_is_used_before_more_is_made() -> None:
    snapshot = full(1, 1)
    leaving = tuple(replace(work, preempted=True) for work in snapshot.running)
    made = run(replace(snapshot, running=leaving), ask(1, 60, priority=5), ask(2, 40, priority=5), now=NOW)
    assert not made.preemptions
    assert {reason.code for reason in reasons(made).values()} == {ReasonCode.PREEMPTING}


def test_a_hold_whose_device_is_gone_is_dropped_and_judged_afresh() -> None:
    snapshot = full(2, 1)
    made = run(snapshot, ask(1, 100, priority=5), now=NOW)
    after = stop(snapshot, made)
    lost = made.holds[0].grants[0].device_id
    after = replace(after, devices=tuple(each for each in after.devices if each.id != lost))
    again = run(after, ask(1, 100, priority=5), now=NOW)
    assert len(again.preemptions) == 1
    assert again.preemptions[0].running_id != made.preemptions[0].running_id


@pytest.mark.req("ELA-804")
def test_the_higher_priority_is_helped_first() -> None:
    snapshot = full(1, 1)
    made = run(snapshot, ask(1, 100, priority=1), ask(2, 100, priority=5), now=NOW)
    assert [each.for_request_id for each in made.preemptions] == ["r2"]


@pytest.mark.req("ELA-813")
def test_a_guarantee_is_not_undercut_by_priority() -> None:
    kept = Quota(guaranteed=Amount(compute_percent=100))
    queues = (Queue("q", quota=kept), Queue("p"))
    snapshot = replace(full(2, 1), queues=queues)
    asked = [ask(i, 100, queue_id="p", priority=5) for i in (1, 2)]
    assert len(run(snapshot, *asked, now=NOW).preemptions) == 1


@pytest.mark.req("ELA-604", "ELA-312", "ELA-813")
def test_a_guarantee_is_taken_back_from_who_borrowed_it() -> None:
    queues = (Queue("q", quota=Quota(guaranteed=Amount(compute_percent=100))),
              Queue("vip", quota=Quota(guaranteed=Amount(compute_percent=200))))  # fmt: skip
    running = tuple(low(f"w{i}", f"n{i}/0", priority=9) for i in range(3))
    snapshot = replace(pool(3), queues=queues, running=running, policy=Policy())
    asked = [ask(i, 100, queue_id="vip") for i in (1, 2, 3)]
    made = run(snapshot, *asked, now=NOW)
    assert [each.reason for each in made.preemptions] == ["reclaim", "reclaim"]
    assert not run(replace(snapshot, policy=Policy(reclaim=False)), *asked, now=NOW).preemptions


def guaranteed(percent: int, *running: RunningWorkload, policy: Policy | None = None) -> Snapshot:
    """A queue `vip` that is guaranteed so much of a pool of one card a node, which `running` has whole."""
    queues = (Queue("q"), Queue("vip", quota=Quota(guaranteed=Amount(compute_percent=percent))))
    return replace(pool(len(running)), queues=queues, running=running, policy=policy or Policy())


@pytest.mark.req("ELA-604", "ELA-312")
def test_a_guarantee_is_had_back_by_default_from_work_that_is_not_preemptible() -> None:
    """Work is not preemptible unless it says so: by default a guarantee that was lent was gone."""
    held = tuple(low(f"w{i}", f"n{i}/0", priority=9, preemptible=False) for i in range(2))
    snapshot = guaranteed(100, *held)
    asked = [ask(i, 100, queue_id="vip") for i in (1, 2)]
    made = run(snapshot, *asked, now=NOW)
    assert [each.reason for each in made.preemptions] == ["reclaim"], "no more than is guaranteed"
    assert not run(replace(snapshot, policy=Policy(reclaim=False)), *asked, now=NOW).preemptions
    calm = replace(snapshot.queues[1], reclaim=False)
    assert not run(replace(snapshot, queues=(snapshot.queues[0], calm)), *asked, now=NOW).preemptions


@pytest.mark.req("ELA-604", "ELA-805")
def test_what_is_not_preemptible_is_the_last_that_a_guarantee_stops() -> None:
    held = (low("firm", "n0/0", priority=-9, preemptible=False), low("soft", "n1/0", priority=9))
    snapshot = guaranteed(200, *held)
    assert victims(run(snapshot, ask(1, 100, queue_id="vip"), now=NOW)) == ["soft"]
    both = run(snapshot, *[ask(i, 100, queue_id="vip") for i in (1, 2)], now=NOW)
    assert sorted(victims(both)) == ["firm", "soft"]


@pytest.mark.req("ELA-802")
def test_more_important_work_of_a_guaranteed_queue_stops_no_firm_work_beyond_its_guarantee() -> None:
    held = tuple(low(f"w{i}", f"n{i}/0", preemptible=False) for i in range(2))
    snapshot = guaranteed(100, *held, policy=replace(ON, reclaim=True))
    made = run(snapshot, ask(1, 100, shares=2, queue_id="vip", priority=9), now=NOW)
    assert not made.preemptions, "two cards are more than its guarantee"


@pytest.mark.req("ELA-604", "ELA-812")
def test_work_preempted_often_enough_is_spared_by_priority_and_by_no_guarantee() -> None:
    held = low("w", "n0/0", preempted_count=5)
    snapshot = guaranteed(100, held, policy=replace(ON, reclaim=True, preempt_limit=5))
    asked = ask(1, 100, queue_id="vip", priority=9)
    assert [each.reason for each in run(snapshot, asked, now=NOW).preemptions] == ["reclaim"]
    assert not run(replace(snapshot, policy=replace(ON, reclaim=False)), asked, now=NOW).preemptions


@pytest.mark.req("ELA-809", "ELA-604")
def test_elastic_work_of_any_rank_is_shrunk_before_a_guarantee_stops_anything() -> None:
    held = low("w", "n0/0", "n1/0", priority=9, shares=2, min_shares=1, preemptible=False)
    queues = (Queue("q"), Queue("vip", quota=Quota(guaranteed=Amount(compute_percent=100))))
    snapshot = replace(pool(2), queues=queues, running=(held,), policy=Policy())
    made = run(snapshot, ask(1, 100, queue_id="vip"), now=NOW)
    assert not made.preemptions
    assert [(each.running_id, each.shares) for each in made.resizes] == [("w", 1)]


# --- fair share -------------------------------------------------------------------------------------------------

FAIR = Policy(preemption=True, ordering=Ordering.FAIR_SHARE, patience_s=None)


def lent(cards: int, **more: Any) -> Snapshot:
    """One tenant alone has the whole pool, work by work."""
    return replace(full(1, cards), policy=FAIR, **more)


def of_globex(count: int, **more: Any) -> list[Request]:
    return [ask(i, 100, tenant_id="globex", **more) for i in range(1, count + 1)]


@pytest.mark.req("ELA-1004")
def test_the_second_tenants_arrival_restores_the_split_and_no_more() -> None:
    made = run(lent(4), *of_globex(4), now=NOW)
    assert [each.reason for each in made.preemptions] == ["fair_share", "fair_share"]
    assert not run(lent(4), *(ask(i, 100) for i in range(1, 5)), now=NOW).preemptions, (
        "its own work is not stopped"
    )


@pytest.mark.req("ELA-1004", "ELA-1001")
@pytest.mark.parametrize(("weights", "stopped"), [((3, 1), 2), ((1, 3), 6), ((1, 0), 0), ((0, 1), 8)])
def test_what_is_taken_back_goes_by_the_tenants_shares(weights: tuple[int, int], stopped: int) -> None:
    shares = (("acme", weights[0]), ("globex", weights[1]))
    made = run(lent(8, tenant_weights=shares), *of_globex(8), now=NOW)
    assert len(made.preemptions) == stopped


@pytest.mark.req("ELA-1004", "ELA-1009")
def test_nothing_is_taken_back_by_fair_share_where_it_is_off_or_does_not_preempt() -> None:
    for policy in (Policy(ordering=Ordering.FAIR_SHARE), replace(FAIR, ordering=Ordering.FIRST_COME)):
        assert not run(replace(lent(4), policy=policy), *of_globex(4), now=NOW).preemptions
    assert not run(lent(4, queues=(Queue("q", preempts=False),)), *of_globex(4), now=NOW).preemptions


@pytest.mark.req("ELA-1004")
def test_nobody_is_brought_below_their_part() -> None:
    # Two works of half the pool each: without one of them the tenant has just its half.
    running = (low("a", "n0/0", "n0/1"), low("b", "n0/2", "n0/3"))
    snapshot = replace(pool(1, 4), running=running, policy=FAIR)
    assert len(run(snapshot, *of_globex(2), now=NOW).preemptions) == 1
    whole = replace(snapshot, running=(low("a", "n0/0", "n0/1", "n0/2", "n0/3"),))
    assert not run(whole, *of_globex(2), now=NOW).preemptions


# --- elastic work -----------------------------------------------------------------------------------------------


def elastic(name: str, count: int, least: int = 1, most: int = 8, **more: Any) -> RunningWorkload:
    """Elastic work on so many whole devices of n0."""
    grants = tuple(Grant(f"n0/{k}", "n0", 100, 1_000) for k in range(count))
    asks = ask(0, 100, shares=most, min_shares=least, id=name)
    fields = {"shares": most, "min_shares": least, "asks": asks, "tenant_id": "acme", "queue_id": "q"}
    return RunningWorkload(**{"id": name, "grants": grants, **fields, **more})


@pytest.mark.req("ELA-809", "ELA-905", "ELA-903")
def test_elastic_work_is_shrunk_before_any_is_stopped() -> None:
    running = (elastic("e", 6), low("w6", "n0/6"), low("w7", "n0/7"))
    snapshot = replace(pool(1, 8), running=running, policy=ON)
    made = run(snapshot, ask(1, 100, shares=3, priority=5), now=NOW)
    assert made.resizes == (ElasticChange("e", 3, (), "r1"),)
    assert not made.preemptions
    assert reasons(made)["r1"].code is ReasonCode.SHRINKING
    more = run(snapshot, ask(1, 100, shares=6, priority=5), now=NOW)
    assert more.resizes == (ElasticChange("e", 1, (), "r1"),)
    assert len(more.preemptions) == 1


@pytest.mark.req("ELA-901")
def test_elastic_work_is_never_shrunk_below_its_least_nor_for_lesser_work() -> None:
    snapshot = replace(pool(1, 4), running=(elastic("e", 4, least=3, priority=1),), policy=ON)
    assert not run(snapshot, ask(1, 100, shares=2, priority=1), now=NOW).resizes
    assert not run(snapshot, ask(1, 100), now=NOW).resizes
    assert run(snapshot, ask(1, 100, priority=1), now=NOW).resizes == (ElasticChange("e", 3, (), "r1"),)


@pytest.mark.req("ELA-901", "ELA-702", "ELA-705")
@pytest.mark.parametrize(("busy", "shares"), [(0, 4), (2, 2), (1, 3), (3, 0)])
def test_elastic_work_starts_with_as_many_as_fit_from_its_least_on(busy: int, shares: int) -> None:
    running = tuple(holding(f"w{i}", f"n0/{i}", 100) for i in range(busy))
    made = run(replace(pool(1, 4), running=running), ask(1, 100, shares=4, min_shares=2))
    assert sum(len(each.grants) for each in made.placements) == shares


@pytest.mark.req("ELA-902", "ELA-904", "ELA-506")
def test_spare_room_goes_to_elastic_work_by_priority() -> None:
    high = replace(elastic("high", 1, most=3), priority=5)
    other = elastic("other", 2, most=8)
    other = replace(other, grants=(Grant("n0/1", "n0", 100, 1_000), Grant("n0/2", "n0", 100, 1_000)))
    made = run(replace(pool(1, 8), running=(other, high)), now=NOW)
    assert [(each.running_id, each.shares, len(each.grants)) for each in made.resizes] == [
        ("high", 3, 2),
        ("other", 5, 3),
    ]
    bound = Quota(nominal=Limit(shares=4))
    made = run(replace(pool(1, 8), running=(other, high), queues=(Queue("q", quota=bound),)), now=NOW)
    assert [(each.running_id, each.shares) for each in made.resizes] == [("high", 2)]


@pytest.mark.req("ELA-903")
def test_growth_takes_nothing_that_somebody_waits_for() -> None:
    held = holding("w", "n1/0", 100)
    snapshot = replace(pool(2, 4), running=(elastic("e", 2), held), policy=Policy(patience_s=None))
    gang = ask(1, 100, shares=8, single_node=False)
    assert not run(snapshot, gang, now=NOW).resizes
    assert run(snapshot, replace(gang, shares=99), now=NOW).resizes, "it never fits: nothing is kept for it"


@pytest.mark.req("ELA-908")
def test_growth_rests_after_a_change_of_size() -> None:
    snapshot = replace(pool(1, 4), running=(elastic("e", 2, resized_at_s=NOW - 299),))
    assert not run(snapshot, now=NOW).resizes
    assert run(snapshot, now=NOW + 1).resizes


# --- moves ------------------------------------------------------------------------------------------------------


def session(name: str, device_id: str, percent: int, **more: Any) -> RunningWorkload:
    asks: Request = ask(0, percent, id=name)
    return holding(name, device_id, percent, movable=True, asks=asks, **more)


@pytest.mark.parametrize("moves", [4, 1, 0])
def test_sessions_are_moved_where_that_starts_something(moves: int) -> None:
    running = (
        session("a", "n0/0", 20),
        session("b", "n0/1", 30),
        session("c", "n1/0", 40),
        holding("x", "n1/1", 10),
    )
    snapshot = replace(pool(2, 2), running=running, policy=Policy(consolidate=True, max_moves=moves))
    made = run(snapshot, ask(1, 100, shares=2, exclusive=True, single_node=True), now=NOW)
    assert len(made.moves) == (2 if moves == 4 else 0)
    for move in made.moves:
        assert (move.running_id, move.from_device_id) in {("a", "n0/0"), ("b", "n0/1")}
        assert move.to.node_id == "n1"
    if made.moves:
        assert reasons(made)["r1"].code is ReasonCode.MOVING
        assert {grant.node_id for grant in made.nominated_holds[0].grants} == {"n0"}
    assert not plan(replace(snapshot, policy=Policy(consolidate=True)), now=NOW, seed=1).moves, "nobody waits"
