"""The state of a job out of the states of its tasks' replicas, and whether it is tried again (JC-6.4-7 to -9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.jointcloud.engine.reasons import BadInput, Fault

LEAST_RETRIES = 2
"""A retry policy tries at least so often again: N is greater than 1 (JC-6.4-Rb)."""


class RunState(StrEnum):
    """How a replica, a task or a job is. The words are those of interface A.3, which says `failed` of what was stopped
    (JC-Q-5)."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_ended(self) -> bool:
        """Whether nothing more will happen."""
        return self in (RunState.COMPLETED, RunState.FAILED, RunState.STOPPED)

    @property
    def shown(self) -> RunState:
        """As interface A.3 says it."""
        return RunState.FAILED if self is RunState.STOPPED else self


Rule = Callable[[Sequence[RunState]], bool]
"""Whether tasks in these states make the job succeed, or fail; there is at least one."""


def _all(state: RunState) -> Rule:
    return lambda tasks: all(task is state for task in tasks)


def _any(state: RunState) -> Rule:
    return lambda tasks: any(task is state for task in tasks)


SUCCESS_RULES: dict[str, Rule] = {
    "all_succeeded": _all(RunState.COMPLETED),
    "any_succeeded": _any(RunState.COMPLETED),
}
"""State policies a and b (JC-6.4-Sa, -Sb). Another one is a line here."""
FAILURE_RULES: dict[str, Rule] = {"all_failed": _all(RunState.FAILED), "any_failed": _any(RunState.FAILED)}
"""State policies c and d (JC-6.4-Sc, -Sd)."""


@dataclass(frozen=True, slots=True)
class StatePolicy:
    """When a job has succeeded and when it has failed, by the names of the rules.

    Success is looked at first: of one task that succeeded and one that failed, "any_succeeded" beside "any_failed"
    makes a job that succeeded.
    """

    success: str = "all_succeeded"
    failure: str = "any_failed"

    def __post_init__(self) -> None:
        for name, rules in ((self.success, SUCCESS_RULES), (self.failure, FAILURE_RULES)):
            if name not in rules:
                raise BadInput(Fault.STATE_POLICY, policy=name, known=", ".join(sorted(rules)))


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a failed job is tried again at most; None: never. A number below 2 is refused (JC-6.4-Rb)."""

    retries: int | None = None

    def __post_init__(self) -> None:
        if self.retries is not None and self.retries < LEAST_RETRIES:
            raise BadInput(Fault.RETRIES, retries=self.retries, least=LEAST_RETRIES)


def task_state(replicas: Sequence[RunState]) -> RunState:
    """A task has failed with one of its replicas, and has completed with all; it was stopped if one was and none
    failed. It runs once one has begun, and is pending before."""
    if not replicas:
        return RunState.PENDING
    for state in (RunState.FAILED, RunState.STOPPED):
        if state in replicas:
            return state
    if all(state is RunState.COMPLETED for state in replicas):
        return RunState.COMPLETED
    return RunState.PENDING if all(state is RunState.PENDING for state in replicas) else RunState.RUNNING


def job_state(
    replicas: Sequence[Sequence[RunState]], policy: StatePolicy, *, is_stopped: bool = False
) -> RunState:
    """A job's state out of those of each task's replicas. `is_stopped`: somebody asked for its end; it counts as
    stopped once nothing of it runs any more.

    Where neither rule holds, a job whose tasks have all ended has failed: it can no longer succeed.
    """
    if not replicas:
        raise BadInput(Fault.TASKS_EMPTY)
    tasks = [task_state(each) for each in replicas]
    is_over = all(state.is_ended for each in replicas for state in each) and all(
        len(each) for each in replicas
    )
    if is_stopped:
        if is_over:
            return RunState.COMPLETED if SUCCESS_RULES[policy.success](tasks) else RunState.STOPPED
        return RunState.PENDING if all(task is RunState.PENDING for task in tasks) else RunState.RUNNING
    if SUCCESS_RULES[policy.success](tasks):
        return RunState.COMPLETED
    if FAILURE_RULES[policy.failure](tasks):
        return RunState.FAILED
    if is_over:
        return (
            RunState.STOPPED
            if RunState.STOPPED in tasks and RunState.FAILED not in tasks
            else RunState.FAILED
        )
    return RunState.PENDING if all(task is RunState.PENDING for task in tasks) else RunState.RUNNING


def is_retried(state: RunState, policy: RetryPolicy, retries_made: int) -> bool:
    """Whether a job in this state, tried again so often already, is tried again: never what succeeded (JC-6.4-Ra) or
    was stopped, what failed until the policy's number is used up."""
    return state is RunState.FAILED and policy.retries is not None and retries_made < policy.retries
