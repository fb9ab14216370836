"""Formula 2, its ties, and the interfaces A.5 and A.6 on the cycle's own functions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.jointcloud.engine.evaluate import default_request, final_score, policy_score
from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.engine.types import DEFAULT_WEIGHTS, Data, Settings
from tests.unit.jointcloud.networks import NOW, centre, job, judged, planned, snapshot, task

MIXED = (("price", 700), ("load", 300))


@pytest.mark.req("JC-6.6.3-2", "JC-6.6.3-3", "JC-6.6-1")
def test_the_final_score_is_the_weighted_sum_and_the_highest_wins():
    world = snapshot(
        centre("a", price=100, running_tasks=9),
        centre("b", price=140, running_tasks=0),
        centre("c", price=300, running_tasks=3),
        weights=MIXED,
        jobs=(job(),),
    )
    told = judged(world)
    # a 0.7·100 + 0.3·0, b 0.7·80 + 0.3·100, c 0.7·0 + 0.3·67
    assert [(each.centre_id, each.rank, each.final) for each in told.centres] == [
        ("b", 1, 86),
        ("a", 2, 70),
        ("c", 3, 20),
    ]
    assert told.chosen is told.of("b")
    assert planned(world).bindings[0].centre_ids == ("b",)
    assert planned(world).bindings[0].score == 86


@pytest.mark.req("JC-6.6.3-2")
def test_a_jobs_own_weights_stand_before_those_of_all():
    world = snapshot(centre("a", price=1, running_tasks=1), centre("b", price=2), weights=(("price", 1000),))
    assert judged(world).chosen.centre_id == "a"
    assert judged(world, weights=(("load", 1000),)).chosen.centre_id == "b"


@pytest.mark.req("JC-6.6.3-3")
@pytest.mark.parametrize(
    ("one", "two", "best"),
    [
        ({"running_tasks": 2, "price": 1}, {"running_tasks": 1, "price": 2}, "b"),
        ({"price": 2}, {"price": 1}, "b"),
        ({"price": None}, {"price": 1}, "b"),
        ({}, {}, "a"),
    ],
    ids=["fewer running", "lower price", "known price", "smaller ID"],
)
def test_ties_go_to_fewer_running_tasks_then_lower_price_then_the_smaller_id(one, two, best):
    world = snapshot(centre("b", **two), centre("a", **one), weights=(("security", 1000),), jobs=(job(),))
    told = judged(world)
    assert [each.final for each in told.centres] == [100, 100]
    assert told.chosen.centre_id == best
    assert planned(world).bindings[0].centre_ids == (best,)


@pytest.mark.req("JC-A.5-1", "JC-7.2.1")
def test_the_policy_interface_gives_what_the_evaluation_has():
    data = (Data("d", 10**9, frozenset("a")),)
    world = snapshot(
        centre("a", price=3), centre("b", price=2), centre("c", price=None), centre("d", gpus=0), data=data
    )
    ask = task(data_ids=("d",))
    told = judged(world, ask)
    for each in told.centres:
        for score in each.scores:
            given = policy_score(world, score.policy, each.centre_id, now=NOW, request=(job(ask), ask))
            assert given == (score.score, score.is_known, True)
    assert policy_score(world, "price", "a", now=NOW) == (0, True, True)
    assert policy_score(world, "price", "c", now=NOW) == (0, False, True)
    assert policy_score(world, "price", "d", now=NOW) == (0, False, False)
    assert default_request(world)[1].spec_id == "gpu1"
    with pytest.raises(BadInput) as fault:
        policy_score(world, "price", "z", now=NOW)
    assert fault.value.reason.code is Fault.CENTRE_UNKNOWN


@pytest.mark.req("JC-A.6-1", "JC-7.3.1")
def test_the_evaluation_interface_gives_the_cycles_final_score():
    world = snapshot(
        centre("a", price=3, running_tasks=4), centre("b", price=2, running_tasks=7), centre("c")
    )
    for each in judged(world).centres:
        names = [score.policy for score in each.scores]
        assert final_score(names, [score.score for score in each.scores], DEFAULT_WEIGHTS) == each.final


@pytest.mark.parametrize(("scores", "final"), [((50, 49), 50), ((49, 49), 49), ((99, 100), 100), ((0, 1), 1)])
def test_the_final_score_rounds_half_up(scores, final):
    assert final_score(("price", "load"), scores, (("price", 500), ("load", 500))) == final


@pytest.mark.req("JC-6.6.3-1")
def test_the_model_can_be_another():
    """b is best by the sum, c by its worst score."""
    centres = (
        centre("a", price=400, running_tasks=0),
        centre("b", price=100, running_tasks=10),
        centre("c", price=250, running_tasks=6),
    )
    world = snapshot(*centres, jobs=(job(),), weights=MIXED)
    assert judged(world).chosen.centre_id == "b"
    worst = replace(world, settings=Settings(weights=MIXED, model="worst_score"))
    assert [(each.centre_id, each.final) for each in judged(worst).centres] == [("c", 40), ("a", 0), ("b", 0)]
    assert planned(worst).bindings[0] == ("j", "t", ("c",), 40)
