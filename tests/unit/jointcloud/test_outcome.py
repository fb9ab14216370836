"""Job state and retry policies, by truth tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.jointcloud.engine.outcome import (
    FAILURE_RULES,
    SUCCESS_RULES,
    RetryPolicy,
    RunState,
    StatePolicy,
    is_retried,
    job_state,
    task_state,
)
from apps.jointcloud.engine.reasons import BadInput, Fault

LETTERS = {
    "p": RunState.PENDING,
    "r": RunState.RUNNING,
    "c": RunState.COMPLETED,
    "f": RunState.FAILED,
    "s": RunState.STOPPED,
}


def states(text: str) -> list[list[RunState]]:
    """Tasks between blanks, each a letter a replica."""
    return [[LETTERS[letter] for letter in each] for each in text.split()]


@pytest.mark.parametrize(
    ("replicas", "state"),
    [
        ("p", "p"),
        ("pp", "p"),
        ("pr", "r"),
        ("pc", "r"),
        ("rc", "r"),
        ("cc", "c"),
        ("cf", "f"),
        ("rf", "f"),
        ("sf", "f"),
        ("sc", "s"),
        ("sr", "s"),
    ],
)
def test_a_tasks_state_is_that_of_its_replicas(replicas, state):
    assert task_state(states(replicas)[0]) is LETTERS[state]


@pytest.mark.req("JC-6.4-7", "JC-6.4-8", "JC-6.4-Sa", "JC-6.4-Sb", "JC-6.4-Sc", "JC-6.4-Sd")
@pytest.mark.parametrize(
    ("tasks", "all_any", "all_all", "any_any", "any_all"),
    [
        ("c c", "c", "c", "c", "c"),
        ("c r", "r", "r", "c", "c"),
        ("c p", "r", "r", "c", "c"),
        ("c f", "f", "f", "c", "c"),
        ("r f", "f", "r", "f", "r"),
        ("p f", "f", "r", "f", "r"),
        ("f f", "f", "f", "f", "f"),
        ("p p", "p", "p", "p", "p"),
        ("p r", "r", "r", "r", "r"),
        ("s c", "s", "s", "c", "c"),
        ("s f", "f", "f", "f", "f"),
        ("cc cf", "f", "f", "c", "c"),
    ],
)
def test_a_jobs_state_by_each_pair_of_rules(tasks, all_any, all_all, any_any, any_all):
    for success, failure, expected in (
        ("all_succeeded", "any_failed", all_any),
        ("all_succeeded", "all_failed", all_all),
        ("any_succeeded", "any_failed", any_any),
        ("any_succeeded", "all_failed", any_all),
    ):
        assert job_state(states(tasks), StatePolicy(success, failure)) is LETTERS[expected]


@pytest.mark.parametrize(
    ("tasks", "state"),
    [("p p", "p"), ("r p", "r"), ("s r", "r"), ("s s", "s"), ("s c", "s"), ("c c", "c"), ("f s", "s")],
)
def test_a_stopped_job_is_stopped_once_nothing_of_it_runs(tasks, state):
    assert job_state(states(tasks), StatePolicy(), is_stopped=True) is LETTERS[state]


@pytest.mark.req("JC-A.3-3.7")
def test_interface_a3_calls_stopped_failed():
    assert {state: state.shown.value for state in RunState} == {
        RunState.PENDING: "pending",
        RunState.RUNNING: "running",
        RunState.COMPLETED: "completed",
        RunState.FAILED: "failed",
        RunState.STOPPED: "failed",
    }


@given(
    st.lists(st.lists(st.sampled_from(RunState), min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from(sorted(SUCCESS_RULES)),
    st.sampled_from(sorted(FAILURE_RULES)),
    st.booleans(),
)
def test_whatever_has_ended_makes_a_job_that_has_ended(replicas, success, failure, is_stopped):
    state = job_state(replicas, StatePolicy(success, failure), is_stopped=is_stopped)
    if all(each.is_ended for task in replicas for each in task):
        assert state.is_ended
    if all(each is RunState.COMPLETED for task in replicas for each in task):
        assert state is RunState.COMPLETED


@pytest.mark.req("JC-6.4-9", "JC-6.4-Ra", "JC-6.4-Rb")
def test_a_job_that_always_fails_is_tried_exactly_so_often_again():
    policy, made = RetryPolicy(3), 0
    while is_retried(RunState.FAILED, policy, made):
        made += 1
    assert made == 3
    for state in (RunState.COMPLETED, RunState.STOPPED, RunState.RUNNING, RunState.PENDING):
        assert not is_retried(state, policy, 0)
    assert not is_retried(RunState.FAILED, RetryPolicy(), 0)


@pytest.mark.req("JC-6.4-Rb")
@pytest.mark.parametrize("retries", [1, 0, -1])
def test_fewer_than_two_retries_are_refused(retries):
    with pytest.raises(BadInput) as refused:
        RetryPolicy(retries)
    assert refused.value.reason.code is Fault.RETRIES


def test_an_unknown_rule_and_a_job_without_tasks_are_refused():
    for make, code in (
        (lambda: StatePolicy(success="luck"), Fault.STATE_POLICY),
        (lambda: StatePolicy(failure="all_succeeded"), Fault.STATE_POLICY),
        (lambda: job_state([], StatePolicy()), Fault.TASKS_EMPTY),
    ):
        with pytest.raises(BadInput) as refused:
            make()
        assert refused.value.reason.code is code
