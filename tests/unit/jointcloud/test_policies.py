"""Each policy by its figures: 100 for the best candidate, 0 for the worst, 100 for all that are equal."""

from __future__ import annotations

import pytest

from apps.jointcloud.engine.policies.registry import POLICIES
from apps.jointcloud.engine.types import DEFAULT_WEIGHTS, Data, Network, Spec
from tests.unit.jointcloud.networks import (
    NOW,
    WAY,
    alone,
    centre,
    job,
    judged,
    planned,
    scores,
    snapshot,
    task,
)

GB = 10**9
B = frozenset("b")


def three(name: str, *values):
    """Centres a, b, c with a figure each."""
    return snapshot(*(centre(letter, **{name: value}) for letter, value in zip("abc", values, strict=True)))


@pytest.mark.req("JC-6.6.2-1", "JC-6.6.2-2")
def test_the_policies_are_the_thirteen_and_all_have_a_weight():
    names = "manual fcfs load energy price network data qos idle topology performance security fairness"
    assert list(POLICIES) == names.split()
    assert {name for name, weight in DEFAULT_WEIGHTS if weight} == set(POLICIES)


@pytest.mark.req("JC-6.6.2-1")
@pytest.mark.parametrize("policy", POLICIES)
def test_equal_centres_have_the_best_score_under_each_policy(policy):
    data = (Data("d", GB, frozenset("c")),)
    world = snapshot(centre("a"), centre("b"), data=data)
    ask = task(data_ids=("d",), deadline_s=NOW + 10, latency_us=1)
    assert scores(world, policy, ask) == {"a": 100, "b": 100}


@pytest.mark.parametrize("policy", ["price", "network", "performance", "security", "energy"])
def test_what_is_unknown_scores_nothing_and_is_told_so(policy):
    unknown = centre("a", price=None, network=None, performance=None, security_grade=None)
    spec = Spec("gpu1", (("gpu", 1),))
    known = centre("b", static_w=1, executing_w=5)
    told = judged(snapshot(unknown, known, specs=(spec,)), weights=alone(policy))
    assert [(s.score, s.is_known) for s in told.of("a").scores] == [(0, False)]
    assert [(s.score, s.is_known) for s in told.of("b").scores] == [(100, True)]


@pytest.mark.req("JC-5f3", "JC-6.6.2a", "JC-6.6.1e", "JC-3.11")
def test_load_prefers_the_centre_with_fewer_running_tasks():
    assert scores(three("running_tasks", 0, 3, 4), "load") == {"a": 100, "b": 25, "c": 0}


@pytest.mark.req("JC-5f2")
def test_first_come_prefers_the_shortest_line():
    assert scores(three("waiting_tasks", 2, 0, 4), "fcfs") == {"a": 50, "b": 100, "c": 0}


@pytest.mark.req("JC-6.6.2b")
def test_idle_prefers_more_room_for_the_specification():
    assert scores(three("gpus", 1, 2, 9), "idle") == {"a": 0, "b": 13, "c": 100}


@pytest.mark.req("JC-5f5", "JC-6.6.2d", "JC-6.6.1d")
def test_price_prefers_the_cheaper_of_equal_centres():
    world = three("price", 100, 150, 300)
    assert scores(world, "price") == {"a": 100, "b": 75, "c": 0}


@pytest.mark.req("JC-6.6.2f", "JC-6.6.1g")
def test_performance_prefers_the_better_benchmark_figure():
    assert scores(three("performance", 900, 1000, 1300), "performance") == {"a": 0, "b": 25, "c": 100}


@pytest.mark.req("JC-6.6.2g")
def test_security_prefers_the_higher_grade():
    assert scores(three("security_grade", 1, 2, 5), "security") == {"a": 0, "b": 25, "c": 100}


@pytest.mark.req("JC-6.6.2h")
def test_fairness_prefers_the_least_variance_after_the_task():
    """Three centres with 1 + 1, 0 + 4 and 7 + 0 tasks: with one more the variances, times nine, are
    3·(9+16+49)−14² = 26, 3·(4+25+49)−14² = 38 and 3·(4+16+64)−14² = 56."""
    world = snapshot(
        centre("a", running_tasks=1, waiting_tasks=1),
        centre("b", waiting_tasks=4),
        centre("c", running_tasks=7),
    )
    assert scores(world, "fairness") == {"a": 100, "b": 60, "c": 0}
    assert (56 - 38) * 100 // (56 - 26) == 60


@pytest.mark.req("JC-5f6")
@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (Network(2000, 10, 10, 10), Network(1000, 10, 10, 10)),
        (Network(1000, 10, 10, 10), Network(1000, 20, 10, 10)),
        (Network(1000, 10, 10, 10), Network(1000, 10, 20, 10)),
        (Network(1000, 10, 10, 10), Network(1000, 10, 10, 1000)),
        (Network(1, 10**9, 10**9, 999_999), Network(10_000, 0, 0, 10**6)),
    ],
    ids=["bandwidth", "latency", "jitter", "loss", "nothing arrives"],
)
def test_network_prefers_the_better_way_by_each_figure(good, bad):
    world = snapshot(
        centre("a", network=bad), centre("b", network=good), jobs=(job(weights=alone("network")),)
    )
    assert scores(world, "network") == {"a": 0, "b": 100}
    assert planned(world).bindings[0].centre_ids == ("b",)


@pytest.mark.req("JC-5f7", "JC-6.6.1c")
def test_data_prefers_the_centre_that_lacks_the_fewest_bytes():
    data = (Data("d", 3 * GB, B), Data("e", GB, frozenset("bc")))
    world = snapshot(centre("a"), centre("b"), centre("c"), data=data)
    assert scores(world, "data", task(data_ids=("d", "e"))) == {"a": 0, "b": 100, "c": 25}


@pytest.mark.req("JC-5f4", "JC-6.6.2e", "JC-6.6.1f")
def test_energy_prefers_the_fewest_joules_of_copy_and_run():
    """a copies 1 GB at 1,000 Mbit/s: 8 s at 50 W beside 100 s at 300 W are 30,400 J; b has the data and runs at 300 W:
    30,000 J; c has neither but runs at 304 W: 30,800 J."""
    world = snapshot(centre("a"), centre("b"), centre("c", executing_w=304), data=(Data("d", GB, B),))
    assert scores(world, "energy", task(data_ids=("d",), duration_s=100)) == {"a": 50, "b": 100, "c": 0}


@pytest.mark.req("JC-6.6.2c")
def test_topology_prefers_what_is_nearer_to_the_jobs_other_tasks():
    world = snapshot(
        centre("a"), centre("b"), centre("c"), distances=(("a", "b", 10), ("c", "a", 40), ("b", "c", 7))
    )
    assert scores(world, "topology", placed=("a",)) == {"a": 100, "b": 75, "c": 0}
    assert scores(world, "topology") == {"a": 100, "b": 100, "c": 100}
    assert scores(world, "topology", placed=("a",), is_distributed=False) == {"a": 100, "b": 100, "c": 100}
    gap = snapshot(centre("a"), centre("b"), centre("c"), distances=(("a", "b", 10),))
    assert scores(gap, "topology", placed=("a", "a")) == {"a": 100, "b": 0, "c": 0}


@pytest.mark.req("JC-5f8")
def test_qos_is_met_although_another_centre_is_cheaper():
    slow = Network(1000, 50_000)
    world = snapshot(
        centre("a", price=1, network=slow), centre("b", price=900), jobs=(job(task(latency_us=20_000)),)
    )
    mixed = (("qos", 600), ("price", 400))
    assert planned(snapshot(*world.centres, jobs=world.jobs, weights=mixed)).bindings[0].centre_ids == ("b",)
    assert scores(world, "qos", task(latency_us=20_000)) == {"a": 0, "b": 100}
    late = snapshot(centre("a", price=1, expected_wait_s=60), centre("b", price=900))
    assert scores(late, "qos", task(deadline_s=NOW + 100, duration_s=50)) == {"a": 0, "b": 100}
    assert scores(late, "qos", task(deadline_s=NOW + 110, duration_s=50)) == {"a": 100, "b": 100}


def test_manual_scores_named_centres_alone():
    assert scores(snapshot(centre("a"), centre("b")), "manual", task(centre_ids=B)) == {"b": 100}


def test_a_missed_bound_is_worse_by_how_far():
    ways = (WAY, Network(1000, 11_000), Network(1000, 14_000))
    world = snapshot(*(centre(name, network=way) for name, way in zip("abc", ways, strict=True)))
    assert scores(world, "qos", task(latency_us=10_000)) == {"a": 100, "b": 75, "c": 0}
