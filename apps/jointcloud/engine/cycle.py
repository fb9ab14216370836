"""One scheduling cycle (JC-6.5-4): what waits, in order, to the best centres of a snapshot.

Order: priority, then first come. A task goes to the candidate with the highest final score; equal ones by fewer running
tasks, then the lower price, then the smaller ID. What finds no centre goes on waiting and holds up nobody.
"""

from __future__ import annotations

import gc
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from apps.jointcloud.engine.check import snapshot_check
from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.model import model_of
from apps.jointcloud.engine.reasons import Finding, Reason, reason
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.standing import Standings
from apps.jointcloud.engine.types import Binding, Job, Plan, Snapshot, Task, Waiting


def plan(snapshot: Snapshot, *, now: int, seed: int) -> Plan:
    """What to dispatch at `now`. The same snapshot, `now` and `seed` give the same plan; the seed is for policies that
    draw, of which none is built in. `BadInput` where the snapshot cannot be meant."""
    snapshot_check(snapshot)
    work = Cycle(snapshot, now)
    bindings: list[Binding] = []
    waiting: list[Waiting] = []
    with unsearched():
        for job in in_order(snapshot.jobs):
            bound, refused = work.job(job)
            bindings += bound
            waiting += refused
    return Plan(tuple(bindings), tuple(waiting), now, seed)


@contextmanager
def unsearched() -> Iterator[None]:
    """Inside, nobody looks for circles of objects: a cycle makes rows by the ten thousand and no circles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def in_order(jobs: tuple[Job, ...]) -> list[Job]:
    """By priority, the highest first, then as they came."""
    return sorted(jobs, key=lambda job: (-job.priority, job.submitted_at_s, job.submitted_seq, job.id))


class Cycle:
    """The state of a cycle: the room that is left, and how the centres stand for each kind of task."""

    def __init__(self, snapshot: Snapshot, now: int) -> None:
        self.factors = Factors(snapshot, now)
        self.room = Room(self.factors)
        self._model = model_of(snapshot.settings.model)
        self._standings: dict[Hashable, Standings] = {}

    def job(self, job: Job) -> tuple[list[Binding], list[Waiting]]:
        """Bind its tasks; of a gang all or none."""
        siblings = placed_of(self.factors, job)
        bound: list[Binding] = []
        waiting: list[Waiting] = []
        for task in job.tasks:
            found = self.task(job, task, tuple(siblings))
            if found is None:
                waiting.append(Waiting(job.id, task.id, self.why_waiting(job, task)))
                if job.is_gang:
                    break
                continue
            bound.append(found)
            siblings += [self.factors.place[name] for name in found.centre_ids]
        if not job.is_gang or not waiting:
            return bound, waiting
        self.take_back(job, bound)
        lacking = waiting[0]
        others = (reason(Finding.GANG_INCOMPLETE, task=lacking.task_id),)
        return [], [
            lacking if task.id == lacking.task_id else Waiting(job.id, task.id, others) for task in job.tasks
        ]

    def task(self, job: Job, task: Task, siblings: tuple[int, ...]) -> Binding | None:
        """Bind one task, with its replicas in one centre, or where it may split in several; None where it cannot."""
        found = self._standing(job, task).best(Ask(task, job, siblings))
        if found is not None:
            place, score = found
            self.room.bind(place, task.spec_id, task.replicas)
            return Binding(job.id, task.id, (self.factors.centres[place].id,) * task.replicas, score)
        return self._split(job, task, siblings) if task.may_split and task.replicas > 1 else None

    def _split(self, job: Job, task: Task, siblings: tuple[int, ...]) -> Binding | None:
        single = replace(task, replicas=1)
        standing = self._standing(job, single)
        places: list[int] = []
        scores: list[int] = []
        for _ in range(task.replicas):
            found = standing.best(Ask(single, job, (*siblings, *places)))
            if found is None:
                for place in places:
                    self.room.bind(place, task.spec_id, -1)
                return None
            self.room.bind(found[0], task.spec_id, 1)
            places.append(found[0])
            scores.append(found[1])
        return Binding(job.id, task.id, tuple(self.factors.centres[i].id for i in places), min(scores))

    def take_back(self, job: Job, bindings: list[Binding]) -> None:
        """Give back the room of tasks of a job."""
        specs = {task.id: task.spec_id for task in job.tasks}
        for binding in bindings:
            for name in binding.centre_ids:
                self.room.bind(self.factors.place[name], specs[binding.task_id], -1)

    def why_waiting(self, job: Job, task: Task) -> tuple[Reason, ...]:
        """For how many centres which filter is the first that refuses the task."""
        return self._standing(job, task).why_waiting()

    def _standing(self, job: Job, task: Task) -> Standings:
        weights = job.weights or self.factors.settings.weights
        kind = (
            task.spec_id,
            task.image_id,
            task.data_ids,
            task.replicas,
            task.min_security_grade,
            task.centre_ids,
            task.refused_by,
            task.duration_s,
            task.deadline_s,
            task.latency_us,
            job.job_type,
            job.tenant,
            job.weights,
        )
        found = self._standings.get(kind)
        if found is None:
            ask = Ask(task, job)
            found = Standings(self.factors, self.room, ask, weights, self._model)
            self._standings[kind] = found
        return found


def placed_of(factors: Factors, job: Job) -> list[int]:
    """The places of the centres where replicas of a job are already, as far as they are in the snapshot."""
    return [factors.place[name] for name in job.placed if name in factors.place]
