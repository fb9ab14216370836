"""A queue's priority outranks that of its work, also where room has to be made (PLAT-CLU-51)."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from apps.scheduling.engine.model.types import Queue
from apps.scheduling.engine.preemption.victims import queue_ranks
from tests.unit.engine.pools import ask, pool, run
from tests.unit.engine.test_preempt import NOW, ON, elastic, low, victims

pytestmark = pytest.mark.req("PLAT-CLU-51")
QUEUES = (Queue("high", priority=65_533), Queue("low"), Queue("even"))


def test_work_of_a_higher_queue_stops_that_of_a_lower_one_whatever_its_own_priority() -> None:
    busy = replace(
        pool(), running=(low("w", "n0/0", queue_id="low", priority=1000),), queues=QUEUES, policy=ON
    )
    assert victims(run(busy, ask(1, 100, queue_id="high", priority=-1000), now=NOW)) == ["w"]
    assert victims(run(busy, ask(1, 100, queue_id="even", priority=999), now=NOW)) == []
    assert victims(run(busy, ask(1, 100, queue_id="even", priority=1001), now=NOW)) == ["w"]


def test_work_of_a_lower_queue_stops_none_of_a_higher_one() -> None:
    busy = replace(
        pool(), running=(low("w", "n0/0", queue_id="high", priority=-5),), queues=QUEUES, policy=ON
    )
    assert victims(run(busy, ask(1, 100, queue_id="low", priority=1000), now=NOW)) == []
    never = replace(busy, queues=(Queue("high", priority=-1), Queue("low", preempts=False)))
    assert victims(run(never, ask(1, 100, queue_id="low", priority=9), now=NOW)) == [], (
        "its work never preempts"
    )


def test_the_lowest_queue_loses_first() -> None:
    queues = (Queue("high", priority=2), Queue("middle", priority=1), Queue("low"))
    running = (low("m", "n0/0", queue_id="middle", priority=-9), low("l", "n0/1", queue_id="low", priority=9))
    busy = replace(pool(1, 2), running=running, queues=queues, policy=ON)
    assert victims(run(busy, ask(1, 100, queue_id="high"), now=NOW)) == ["l"]


@pytest.mark.parametrize(("queue_id", "shrinks"), [("low", True), ("high", False)])
def test_elastic_work_of_a_higher_queue_gives_up_nothing(queue_id: str, shrinks: bool) -> None:
    work = elastic("e", 2, queue_id=queue_id)
    busy = replace(pool(1, 2), running=(work,), queues=(*QUEUES, Queue("q", priority=7)), policy=ON)
    made = run(busy, ask(1, 100, queue_id="q", priority=5), now=NOW)
    assert [change.running_id for change in made.resizes] == (["e"] if shrinks else [])


def test_ranks_follow_the_tree_and_are_one_order_for_all() -> None:
    tree = {
        each.id: each
        for each in (
            Queue("x", priority=1), Queue("x1", parent_id="x", priority=5), Queue("x2", parent_id="x"),
            Queue("y", priority=1), Queue("z"), Queue("z9", parent_id="z", priority=99), Queue("below", priority=-1),
        )
    }  # fmt: skip
    ranks = queue_ranks(tree)
    assert ranks["x1"] > ranks["x2"] == ranks["y"] == ranks["x"] > ranks["z9"] > ranks["z"] > ranks["below"]
    assert all(queue_ranks({each: tree[each] for each in order}) == ranks for order in permutations(tree))
