"""The simulated days of the benches: entitlements, fairness by order, whole cards by placing."""

from __future__ import annotations

import pytest

from apps.scheduling.engine.bench.fairness import entitlements, fairness, jain
from apps.scheduling.engine.bench.gangs import whole_cards
from apps.scheduling.engine.bench.simulation import Job, Simulation
from apps.scheduling.engine.model.types import Ordering, Placing, Policy

HOUR_S = 3600


def test_what_one_does_not_want_goes_to_the_others_by_weight() -> None:
    assert entitlements(100, {"a": 10, "b": 200, "c": 200}, {"a": 2, "b": 1, "c": 2}) == {
        "a": 10,
        "b": 30,
        "c": 60,
    }
    assert entitlements(100, {"a": 10, "b": 20}, {"a": 1, "b": 1}) == {"a": 10, "b": 20}


def test_jain_is_one_where_all_are_alike() -> None:
    assert jain([0.5, 0.5]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25)


def test_a_job_waits_for_the_card_and_its_use_is_counted() -> None:
    jobs = [Job(0, 2 * HOUR_S, "a"), Job(HOUR_S, HOUR_S, "b", compute_percent=50)]
    outcome = Simulation(1, 1, Policy(), jobs).run(4 * HOUR_S, 600)
    assert outcome.waits == {0: 0, 1: HOUR_S}
    assert outcome.used == {"a": 100 * 2 * HOUR_S, "b": 50 * HOUR_S}


@pytest.mark.req("ELA-1002", "ELA-1003")
def test_fair_share_meets_what_first_come_and_priority_do_not() -> None:
    furthest, index = {}, {}
    for ordering in (Ordering.FAIR_SHARE, Ordering.FIRST_COME, Ordering.PRIORITY):
        row = fairness(ordering, seed=5, until_s=10 * HOUR_S)
        furthest[ordering], index[ordering] = float(str(row["furthest_percent"])), float(str(row["jain"]))
    assert furthest[Ordering.FAIR_SHARE] < 4
    assert furthest[Ordering.FIRST_COME] > 10
    assert index[Ordering.FAIR_SHARE] > max(index[Ordering.FIRST_COME], index[Ordering.PRIORITY])


def test_whole_cards_are_those_of_idle_nodes() -> None:
    simulation = Simulation(2, 8, Policy(placing=Placing.FRAGMENTATION), [Job(0, HOUR_S, "a", 10)])
    assert whole_cards(simulation.warm) == 16
    assert simulation.run(600, 600, whole_cards).seen == [8]
