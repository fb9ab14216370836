"""What the long random histories found where room is made: nothing is freed twice, left behind or given too early."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    Amount,
    ElasticChange,
    Grant,
    Limit,
    Ordering,
    Policy,
    Queue,
    Quota,
    ReasonCode,
    RunningWorkload,
    Snapshot,
)
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.unit.engine.pools import ask, holding, pool, reasons, run

ON = Policy(preemption=True, ordering=Ordering.PRIORITY, patience_s=None)
NOW = 10_000


def elastic(name: str, count: int, **more: object) -> RunningWorkload:
    """Preemptible elastic work on the first cards of n0, of one share at least."""
    grants = tuple(Grant(f"n0/{k}", "n0", 100, 1_000) for k in range(count))
    asks = ask(0, 100, shares=8, min_shares=1, id=name)
    fields = {
        "tenant_id": "acme",
        "queue_id": "q",
        "shares": 8,
        "min_shares": 1,
        "asks": asks,
        "preemptible": True,
    }
    return RunningWorkload(**{"id": name, "grants": grants, **fields, **more})


def session(name: str, device_id: str, percent: int) -> RunningWorkload:
    """A session that may be moved."""
    return holding(name, device_id, percent, movable=True, asks=ask(0, percent, id=name))


@pytest.mark.req("ELA-808", "ELA-814")
def test_work_that_is_leaving_in_part_frees_only_what_stays_when_it_is_stopped() -> None:
    """Its leaving share was freed a second time, which ended the pass with an error."""
    there, here = Grant("n0/0", "n0", 50, 1_000), Grant("n1/0", "n1", 50, 1_000)
    held = replace(session("w", "n0/0", 50), grants=(there, here), moving=frozenset({0}), preemptible=True)
    asked = ask(1, 100, shares=2, exclusive=True, priority=5)
    warm = SchedulerState(replace(pool(2, 1), running=(held,), policy=ON, requests=(asked,)))
    made = plan_kept(warm, NOW, 1)
    assert [each.running_id for each in made.preemptions] == ["w"]
    assert plan_kept(SchedulerState(warm.snapshot()), NOW, 1) == plan_kept(warm, NOW, 1) == made


@pytest.mark.req("ELA-806", "ELA-814")
def test_moves_that_a_quota_forbids_leave_the_pool_as_it_was() -> None:
    """Where the moved share would have gone was never given back: the pool shrank with every pass."""
    queues = (Queue("q"), Queue("p", quota=Quota(nominal=Limit(compute_percent=150))))
    running = (session("a", "n0/0", 20), holding("w", "n0/1", 60, queue_id="p"), holding("x", "n1/0", 50))
    rows = replace(
        pool(2, 2), running=running, queues=queues, policy=Policy(consolidate=True, preemption=True),
        devices=pool(2, 2).devices[:3],
    )  # fmt: skip
    asked = ask(1, 100, queue_id="p", exclusive=True, priority=5)
    warm = SchedulerState(replace(rows, requests=(asked,)))
    free = [card.free_percent for card in warm.pool.at]
    for _ in range(3):
        assert not plan_kept(warm, NOW, 1).moves
    assert [card.free_percent for card in warm.pool.at] == free
    open_ = replace(rows, queues=(Queue("q"), Queue("p")))
    assert len(run(open_, asked, now=NOW).moves) == 1, "it is the quota that stands against it"


@pytest.mark.req("POOL-12.5", "ELA-807")
def test_nothing_is_moved_to_where_work_is_still_leaving() -> None:
    """A move is made at once, so its room has to be free at once."""
    leaving = holding("old", "n1/0", 90, preempted=True)
    rows = replace(
        pool(2, 1), running=(session("a", "n0/0", 20), leaving), policy=Policy(consolidate=True),
    )  # fmt: skip
    asked = ask(1, 100, node_id="n0", exclusive=True)
    assert not run(rows, asked, now=NOW).moves
    assert len(run(replace(rows, running=rows.running[:1]), asked, now=NOW).moves) == 1


@pytest.mark.req("ELA-813", "ELA-312")
@pytest.mark.parametrize(("guaranteed", "left"), [(0, 1), (200, 2), (300, 3)])
def test_shrinking_takes_nothing_that_is_guaranteed(guaranteed: int, left: int) -> None:
    queues = (Queue("q", quota=Quota(guaranteed=Amount(compute_percent=guaranteed))), Queue("p"))
    rows: Snapshot = replace(
        pool(1, 4), running=(elastic("w", 4, preemptible=False),), queues=queues, policy=ON
    )
    asked = ask(1, 100, shares=4 - left, queue_id="p", priority=5)
    assert run(rows, asked, now=NOW).resizes == (ElasticChange("w", left, (), "r1"),)
    more = replace(asked, shares=5 - left)
    assert not run(rows, more, now=NOW).resizes


def test_work_that_is_moved_is_not_stopped_in_the_same_pass() -> None:
    here, there = Grant("n0/0", "n0", 20, 1_000), Grant("n2/0", "n2", 20, 1_000)
    moved = replace(session("a", "n0/0", 20), grants=(here, there), preemptible=True)
    beside = holding("b", "n2/0", 80, preemptible=True)
    rows = replace(pool(3, 1), running=(moved, beside), policy=replace(ON, consolidate=True))
    wide = ask(1, 100, node_id="n0", exclusive=True, priority=5)
    other = ask(2, 100, node_id="n2", exclusive=True, priority=4)
    made = run(rows, wide, other, now=NOW)
    assert [(move.running_id, move.to.node_id) for move in made.moves] == [("a", "n1")]
    assert not made.preemptions
    assert reasons(made)["r2"].code is ReasonCode.CARD_NOT_IDLE
    alone = run(rows, other, now=NOW).preemptions
    assert sorted(each.running_id for each in alone) == ["a", "b"]


@pytest.mark.req("ELA-805")
@pytest.mark.parametrize(
    ("kept", "gone"),
    [
        ({"checkpoint_at_s": NOW - 300}, {"checkpoint_at_s": NOW - 299, "cost_per_hour_micros": 10**9}),
        ({"cost_per_hour_micros": 3_600_001}, {"cost_per_hour_micros": 3_600_000}),
        (
            {"checkpoint_at_s": NOW - 60, "cost_per_hour_micros": 7_200_000},
            {"checkpoint_at_s": NOW - 60, "cost_per_hour_micros": 60_000},
        ),
        ({"started_at_s": 0}, {"started_at_s": 1, "cost_per_hour_micros": 10**6}),
        ({"priority": 1}, {"cost_per_hour_micros": 10**9}),
    ],
    ids=[
        "checkpoint before money",
        "money",
        "money since the checkpoint",
        "work before money",
        "priority first",
    ],
)
def test_the_order_of_harm_is_priority_then_checkpoint_then_lost_work_then_money(
    kept: dict[str, int], gone: dict[str, int]
) -> None:
    def work(name: str, device_id: str, more: dict[str, int]) -> RunningWorkload:
        return holding(name, device_id, 100, preemptible=True, **more)

    for order in ((kept, gone), (gone, kept)):
        running = tuple(work("ab"[i], f"n{i}/0", more) for i, more in enumerate(order))
        made = run(replace(pool(2), running=running, policy=ON), ask(1, 100, priority=5), now=NOW)
        assert [each.running_id for each in made.preemptions] == ["ab"[order.index(gone)]]


@pytest.mark.parametrize("cards", [3, 4])
def test_what_a_move_leaves_is_no_room_for_another_move_yet(cards: int) -> None:
    running = (session("a", "n0/0", 100), session("b", "n0/1", 65), holding("stays", "n0/1", 10))
    empty = pool(1, cards)
    others = tuple(replace(each, model="y") for each in empty.devices[2:])
    devices = tuple(replace(each, model="x") for each in empty.devices[:2]) + others
    busy = replace(empty, devices=devices, running=running, policy=Policy(consolidate=True, max_moves=4))
    made = run(busy, ask(1, 30, shares=2, model="x"), now=NOW)
    assert {move.running_id: move.to.device_id[:2] for move in made.moves} == (
        {} if cards == 3 else {"a": "n0", "b": "n0"}
    )
    assert not {move.to.device_id for move in made.moves} & {"n0/0", "n0/1"}, "they are not left yet"


@pytest.mark.req("ELA-308")
@pytest.mark.parametrize(("most", "moved"), [(90, 0), (119, 0), (120, 2)])
def test_of_several_moves_each_counts_in_the_quota_of_its_model(most: int, moved: int) -> None:
    """While they move both hold two places; the quota saw the first alone."""
    empty = pool(2, 1)
    devices = tuple(replace(each, model="x") for each in empty.devices)
    bound = (("acme", Quota(by_model=(("x", Limit(compute_percent=most)),))),)
    running = (
        session("a", "n0/0", 30),
        session("b", "n0/0", 30),
        holding("c", "n1/0", 40, tenant_id="globex"),
    )
    busy = replace(empty, devices=devices, running=running, tenant_quotas=bound)
    warm = SchedulerState(
        replace(busy, policy=Policy(consolidate=True), requests=(ask(1, 100, tenant_id="globex"),))
    )
    made = plan_kept(warm, NOW, 1)
    assert len(made.moves) == moved
    assert plan_kept(warm, NOW, 1) == made, "a pass leaves the quota as it was"
