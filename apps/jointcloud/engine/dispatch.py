"""What to do when a centre refuses what a plan sent it: the next best centre in the same cycle, or back.

A gang's task that no other centre takes brings the whole gang back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from apps.jointcloud.engine.cycle import Cycle, placed_of
from apps.jointcloud.engine.reasons import BadInput, Fault, Reason
from apps.jointcloud.engine.types import Binding, Plan, Snapshot


class Redirect(NamedTuple):
    """After a refusal: where the task goes instead, or None and why it waits again; and what has to be taken back from
    the centres it went to: its own replicas that do not stay where they are, and the rest of a waiting gang."""

    instead: Binding | None
    take_back: tuple[Binding, ...] = ()
    why_waiting: tuple[Reason, ...] = ()


class Dispatching:
    """The carrying out of one plan: tell it of each refusal, and it says what next. It reads no centre."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self._cycle = Cycle(snapshot, plan.now)
        self._jobs = {job.id: job for job in snapshot.jobs}
        self._tasks = {task.id: task for job in snapshot.jobs for task in job.tasks}
        self._bound = {binding.task_id: binding for binding in plan.bindings}
        for binding in plan.bindings:
            spec_id = self._tasks[binding.task_id].spec_id
            for name in binding.centre_ids:
                self._cycle.room.bind(self._cycle.factors.place[name], spec_id, 1)

    def refused(self, task_id: str, centre_id: str) -> Redirect:
        """The centre did not take the task, or one of its replicas: all its replicas are placed anew, without it."""
        binding = self._bound.get(task_id)
        if binding is None:
            raise BadInput(Fault.TASK_UNKNOWN, task=task_id)
        if centre_id not in binding.centre_ids:
            raise BadInput(Fault.CENTRE_UNKNOWN, centre=centre_id)
        job = self._jobs[binding.job_id]
        task = self._tasks[task_id]
        task = replace(task, refused_by=task.refused_by | {centre_id})
        self._tasks[task_id] = task
        self._cycle.take_back(job, [self._bound.pop(task_id)])
        elsewhere = Counter(name for name in binding.centre_ids if name != centre_id)
        others = [other for other in self._bound.values() if other.job_id == job.id]
        place = self._cycle.factors.place
        siblings = [place[name] for other in others for name in other.centre_ids]
        instead = self._cycle.task(job, task, (*placed_of(self._cycle.factors, job), *siblings))
        if instead is not None:
            self._bound[task_id] = instead
            return Redirect(instead, _replicas(binding, elsewhere - Counter(instead.centre_ids)))
        own, why = _replicas(binding, elsewhere), self._cycle.why_waiting(job, task)
        if not job.is_gang:
            return Redirect(None, own, why)
        self._cycle.take_back(job, others)
        for other in others:
            del self._bound[other.task_id]
        return Redirect(None, (*own, *others), why)


def _replicas(binding: Binding, counts: Counter[str]) -> tuple[Binding, ...]:
    """The replicas of a binding at these centres, so many at each; nothing where there is none."""
    names = tuple(sorted(counts.elements()))
    return (binding._replace(centre_ids=names),) if names else ()
