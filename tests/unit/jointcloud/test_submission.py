"""Tasks and weights of a request."""

from __future__ import annotations

from decimal import Decimal

import pytest

from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.engine.submission import tasks_in_order, weights_read


@pytest.mark.req("JC-A.1-2.2", "JC-A.1-2.3", "JC-A.1-2.5")
def test_tasks_are_a_list_or_an_object_in_numeric_order():
    assert tasks_in_order(["x", "y"]) == ["x", "y"]
    assert tasks_in_order({f"task{i}": i for i in (10, 2, 1, 9, 3, 4, 8, 7, 6, 5)}) == list(range(1, 11))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"task1": 1, "task3": 3}, Fault.TASK_GAP),
        ({"task2": 1}, Fault.TASK_GAP),
        ({"task0": 1}, Fault.TASK_KEY),
        ({"task01": 1}, Fault.TASK_KEY),
        ({"task1": 1, "name": 2}, Fault.TASK_KEY),
        ({1: 1}, Fault.TASK_KEY),
        ({"task١": 1}, Fault.TASK_KEY),
        ({}, Fault.TASKS_EMPTY),
        ([], Fault.TASKS_EMPTY),
        ("task1", Fault.TASKS_SHAPE),
        (None, Fault.TASKS_SHAPE),
        (7, Fault.TASKS_SHAPE),
    ],
)
def test_other_tasks_are_refused(given, code):
    with pytest.raises(BadInput) as refused:
        tasks_in_order(given)
    assert refused.value.reason.code is code


def test_a_gap_is_named():
    with pytest.raises(BadInput) as refused:
        tasks_in_order({"task1": 1, "task3": 3})
    assert dict(refused.value.reason.params) == {"missing": "task2", "last": "task3"}


@pytest.mark.req("JC-6.6.3-2")
def test_weights_are_read_exactly():
    assert weights_read({"price": "0.25", "load": Decimal("0.750"), "fcfs": 0}) == (
        ("price", 250),
        ("load", 750),
        ("fcfs", 0),
    )
    assert weights_read({"price": 1}) == (("price", 1000),)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"price": "0.5"}, Fault.WEIGHTS_SUM),
        ({}, Fault.WEIGHTS_SUM),
        ({"price": "1.0000000000000000001"}, Fault.WEIGHT_FINE),
        ({"price": "0.3333"}, Fault.WEIGHT_FINE),
        ({"price": "nan"}, Fault.WEIGHTS_TEXT),
        ({"price": "1e999999999"}, Fault.WEIGHTS_TEXT),
        ({"price": ""}, Fault.WEIGHTS_TEXT),
        ({"price": "-0.5", "load": "1.5"}, Fault.WEIGHT_NEGATIVE),
        ({"luck": "1"}, Fault.POLICY_UNKNOWN),
    ],
)
def test_other_weights_are_refused(given, code):
    with pytest.raises(BadInput) as refused:
        weights_read(given)
    assert refused.value.reason.code is code
