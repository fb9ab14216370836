"""A pool kept warm through any history decides as one built anew, and keeps all promises on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings

from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import Placing, Queue, Reservation, Snapshot
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.examples import IS_SEARCH, examples
from tests.unit.engine.histories import History
from tests.unit.engine.pools import ask, pool

TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=examples(6),
    stateful_step_count=25,
    derandomize=not IS_SEARCH,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestHistory = pytest.mark.req("ELA-109", "ELA-404", "ELA-603", "ELA-814")(TestHistory)


def test_a_change_of_one_row_shows_in_the_next_plan() -> None:
    warm = SchedulerState(replace(pool(2, 2), requests=tuple(ask(i, 100) for i in range(6))))
    assert len(plan_kept(warm, 0, 1).placements) == 4
    warm.device_put(replace(warm.devices["n0/0"], healthy=False))
    assert len(plan_kept(warm, 0, 1).placements) == 3
    warm.node_put(replace(warm.nodes["n1"], schedulable=False))
    assert len(plan_kept(warm, 0, 1).placements) == 1
    warm.node_put(replace(warm.nodes["n1"], schedulable=True))
    warm.device_drop("n1/1")
    assert len(plan_kept(warm, 0, 1).placements) == 2
    warm.request_drop("r0")
    assert [placement.request_id for placement in plan_kept(warm, 0, 1).placements] == ["r1", "r2"]


def test_a_node_that_closes_takes_nothing_more_though_it_was_looked_at_before() -> None:
    warm = SchedulerState(
        replace(pool(2, 1), requests=(ask(1, 60, shares=2), ask(2, 10, placing=Placing.BEST_FIT)))
    )
    assert len(plan_kept(warm, 0, 1).placements) == 2
    warm.node_put(replace(warm.nodes["n0"], ready=False))
    assert [placement.request_id for placement in plan_kept(warm, 0, 1).placements] == ["r2"]
    warm.node_put(replace(warm.nodes["n1"], ready=False))
    assert not plan_kept(warm, 0, 1).placements


@pytest.mark.req("ELA-404")
@pytest.mark.parametrize("seed", range(5))
def test_over_which_nodes_a_gang_is_dealt_does_not_depend_on_what_was_tried_before(seed: int) -> None:
    """While the reservation stood, it was found that no node has room for all; a pool read anew finds that first."""
    reserved = Reservation("v", 0, 1_000, "globex", count=2, compute_percent=60)
    warm = SchedulerState(replace(pool(6), requests=(ask(1, 100, shares=5),), reservations=(reserved,)))
    assert not plan_kept(warm, 1, seed).placements
    warm.reservations_put(())
    made = plan_kept(warm, 2, seed)
    assert len(made.placements) == 1
    assert made == plan_kept(SchedulerState(warm.snapshot()), 2, seed)


def test_a_plan_is_a_value_that_later_changes_leave_alone() -> None:
    warm = SchedulerState(replace(Snapshot(), queues=(Queue("q"),), requests=tuple(ask(i) for i in range(3))))
    made = plan_kept(warm, 0, 1)
    warm.request_drop("r1")
    assert [refusal.request_id for refusal in made.refusals] == ["r0", "r1", "r2"]
