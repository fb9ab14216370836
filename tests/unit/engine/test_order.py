"""Who is served first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.scheduling.engine.model.types import Ordering, Policy, Queue, ReasonCode
from tests.unit.engine.pools import ask, holding, placed, pool, reasons, run, with_policy


@pytest.mark.req("PLAT-AICFG-21", "ELA-602")
def test_first_come_is_the_default_and_ignores_priority() -> None:
    assert Policy().ordering is Ordering.FIRST_COME
    made = run(pool(3), ask(3, 100, priority=9), ask(1, 100), ask(2, 100, priority=5))
    assert placed(made) == ["r1", "r2", "r3"]


@pytest.mark.req("PLAT-AICFG-22", "PLAT-AICFG-26", "ELA-508", "ELA-602")
def test_priority_goes_before_time_and_time_breaks_ties() -> None:
    snapshot = with_policy(pool(2), ordering=Ordering.PRIORITY)
    made = run(
        snapshot, ask(1, 100), ask(2, 100, priority=5), ask(3, 100, priority=5), ask(4, 100, priority=1)
    )
    assert placed(made) == ["r2", "r3"]
    assert [(refusal.request_id, refusal.position) for refusal in made.refusals] == [("r4", 1), ("r1", 2)]


@pytest.mark.req("ELA-602")
def test_a_queue_may_order_otherwise_than_the_policy() -> None:
    queues = (Queue("q"), Queue("p", ordering=Ordering.PRIORITY))
    snapshot = replace(pool(9), queues=queues)
    made = run(
        snapshot, ask(1, 100), ask(2, 100, priority=7), ask(3, 100, queue_id="p"),
        ask(4, 100, queue_id="p", priority=7),
    )  # fmt: skip
    assert placed(made) == ["r4", "r1", "r2", "r3"]


@pytest.mark.req("ELA-607")
def test_queues_of_higher_priority_are_visited_first() -> None:
    queues = (Queue("q", priority=10), Queue("high", priority=100), Queue("low"))
    made = run(
        replace(pool(3), queues=queues),
        ask(1, 100, queue_id="low"), ask(2, 100), ask(3, 100, queue_id="high"), ask(4, 100, queue_id="high"),
    )  # fmt: skip
    assert placed(made) == ["r3", "r4", "r2"]


def test_aging_lifts_what_has_waited() -> None:
    old, young = ask(1, 100, priority=0, submitted_at_s=0), ask(2, 100, priority=3, submitted_at_s=4_000)
    for aging_s, first in ((None, "r2"), (1_000, "r1"), (2_000, "r2")):
        snapshot = with_policy(pool(), ordering=Ordering.PRIORITY, aging_s=aging_s)
        assert placed(run(snapshot, old, young, now=4_000)) == [first]


def test_aging_never_lowers_when_the_clock_jumps_back() -> None:
    snapshot = with_policy(pool(), ordering=Ordering.PRIORITY, aging_s=10)
    assert placed(run(snapshot, ask(1, 100), ask(2, 100, submitted_at_s=900), now=100)) == ["r1"]
    assert placed(run(snapshot, ask(2, 100, submitted_at_s=900), ask(3, 100, submitted_at_s=950), now=5)) == [
        "r2"
    ]


@pytest.mark.req("ELA-704")
def test_backfill_lets_a_smaller_one_pass_a_head_without_room() -> None:
    snapshot = replace(pool(), running=(holding("w", "n0/0", 50),))
    made = run(snapshot, ask(1, 100), ask(2, 50))
    assert placed(made) == ["r2"]
    assert made.refusals[0].position == 1


@pytest.mark.req("ELA-704")
def test_without_backfill_the_head_holds_its_own_queue_only() -> None:
    queues = (Queue("q"), Queue("other"))
    snapshot = replace(
        pool(), running=(holding("w", "n0/0", 50),), queues=queues, policy=Policy(backfill=False)
    )
    made = run(snapshot, ask(1, 100), ask(2, 10), ask(3, 10, queue_id="other"))
    assert placed(made) == ["r3"]
    assert reasons(made)["r2"].code is ReasonCode.BEHIND_HEAD
    assert reasons(made)["r2"].get("head") == "r1"


@pytest.mark.req("ELA-704")
@pytest.mark.parametrize(("now", "expected"), [(599, ["r2"]), (600, [])])
def test_a_head_out_of_patience_holds_its_queue(now: int, expected: list[str]) -> None:
    snapshot = with_policy(replace(pool(), running=(holding("w", "n0/0", 50),)), patience_s=600)
    assert placed(run(snapshot, ask(1, 100), ask(2, 10, submitted_at_s=now), now=now)) == expected


@pytest.mark.req("ELA-507")
@pytest.mark.parametrize(
    "head",
    [ask(1, 100, shares=9), ask(1, model="none"), ask(1, node_id="n1"), ask(1, 0), ask(1, mib=99_999)],
    ids=["beyond the pool", "no such model", "node away", "invalid", "no such card"],
)
def test_a_head_that_room_cannot_help_holds_nobody(head: object) -> None:
    snapshot = pool(2)
    away = replace(snapshot.nodes[1], ready=False)
    snapshot = replace(snapshot, nodes=(snapshot.nodes[0], away), policy=Policy(backfill=False))
    assert placed(run(snapshot, head, ask(2, 10))) == ["r2"]  # type: ignore[arg-type]
