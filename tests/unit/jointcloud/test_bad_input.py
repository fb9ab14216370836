"""What cannot be meant is refused with its fault, and nothing is decided."""

from __future__ import annotations

import pytest

from apps.jointcloud.engine.evaluate import final_score
from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.engine.types import Centre, Data, Job, Network, Offer, Settings, Snapshot, Task
from tests.unit.jointcloud.networks import centre, job, planned, snapshot, task

HALVES = (("price", 500), ("load", 500))


def fault(make) -> Fault:
    with pytest.raises(BadInput) as refused:
        make()
    return refused.value.reason.code


@pytest.mark.parametrize("given", [(("price", 999),), (("price", 600), ("load", 600)), ()])
def test_weights_have_to_sum_to_one(given):
    assert fault(lambda: Settings(weights=given)) is Fault.WEIGHTS_SUM
    assert fault(lambda: Job("j", (), weights=given)) is Fault.WEIGHTS_SUM
    assert fault(lambda: final_score((), (), given)) is Fault.WEIGHTS_SUM


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ((("price", 1100), ("load", -100)), Fault.WEIGHT_NEGATIVE),
        ((("price", 500), ("price", 500)), Fault.WEIGHT_TWICE),
        ((("luck", 1000),), Fault.POLICY_UNKNOWN),
    ],
)
def test_wrong_weights_are_named(given, code):
    assert fault(lambda: final_score((), (), given)) is code


def test_a_snapshot_with_an_unknown_policy_or_model_is_refused_whole():
    assert fault(lambda: planned(snapshot(centre("a"), weights=(("luck", 1000),)))) is Fault.POLICY_UNKNOWN
    jobs = (job(name="good"), job(task("u"), name="bad", weights=(("luck", 1000),)))
    assert fault(lambda: planned(snapshot(centre("a"), jobs=jobs))) is Fault.POLICY_UNKNOWN
    assert fault(lambda: planned(Snapshot(settings=Settings(model="dice")))) is Fault.MODEL_UNKNOWN


@pytest.mark.parametrize(
    ("names", "scores", "code"),
    [
        (("price",), (1, 2), Fault.LENGTHS_DIFFER),
        (("price", "load", "fcfs"), (1, 2), Fault.LENGTHS_DIFFER),
        (("price", "luck"), (1, 2), Fault.POLICY_UNKNOWN),
        (("price", "price"), (1, 2), Fault.POLICY_TWICE),
        (("price", "fcfs"), (1, 2), Fault.POLICY_MISSING),
        (("price", "load"), (1, 101), Fault.SCORE_RANGE),
        (("price", "load"), (-1, 0), Fault.SCORE_RANGE),
    ],
)
@pytest.mark.req("JC-A.6-2.1", "JC-A.6-2.2")
def test_lists_of_the_evaluation_interface_have_to_match(names, scores, code):
    assert fault(lambda: final_score(names, scores, HALVES)) is code


@pytest.mark.parametrize("replicas", [0, -1])
def test_a_task_has_at_least_one_replica(replicas):
    assert fault(lambda: Task("t", "s", replicas=replicas)) is Fault.REPLICAS


def test_an_id_stands_once():
    assert fault(lambda: planned(snapshot(centre("a"), centre("a")))) is Fault.ID_TWICE
    assert fault(lambda: planned(snapshot(jobs=(job(name="j"), job(name="k"))))) is Fault.ID_TWICE


@pytest.mark.parametrize(
    "make",
    [
        lambda: Centre("a", 0, running_tasks=-1),
        lambda: Centre("a", 0, free=(("gpu", -1),)),
        lambda: Data("d", -1),
        lambda: Network(0, 1),
        lambda: Offer("s", price=-1),
        lambda: Snapshot(distances=(("a", "b", -1),)),
        lambda: Task("t", "s", latency_us=0),
    ],
)
def test_no_figure_is_below_its_least(make):
    assert fault(make) is Fault.TOO_SMALL


@pytest.mark.parametrize(
    "make",
    [lambda: Data("d", 10**16), lambda: Network(1, 1, 0, 10**6 + 1), lambda: Task("t", "s", replicas=10**5)],
)
def test_no_figure_is_above_its_most(make):
    assert fault(make) is Fault.TOO_LARGE
