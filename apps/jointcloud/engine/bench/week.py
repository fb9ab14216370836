"""A simulated week of jobs on six centres: what they cost and how long they wait, by who chooses the centres."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from math import sin, tau
from random import Random

from apps.jointcloud.engine.bench.worlds import SPECS, centre, sets
from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.engine.types import Centre, Data, Job, Plan, Settings, Snapshot, Task, Weights

WEEK_S, CYCLE_S, HOUR_S = 7 * 86_400, 120, 3600
GPUS = (420, 320, 260, 200, 150, 90)
GPUS_OF = {spec.id: dict(spec.amounts)["gpu"] for spec in SPECS}

Choose = Callable[[Snapshot, int], list[tuple[str, str]]]
"""Of a snapshot at an instant: which task to which centre, in this order."""
Watch = Callable[[Snapshot, list[tuple[str, str]]], None]


@dataclass
class Outcome:
    """What a week came to: prices times hours of run, and seconds from submission until the data was there."""

    jobs: int = 0
    cost_minor: float = 0.0
    wait_s: int = 0

    @property
    def mean_wait_s(self) -> float:
        """Seconds."""
        return self.wait_s / max(1, self.jobs)


@dataclass(frozen=True)
class Week:
    """What is given to whoever chooses: centres, data, and jobs of one task in the order of their submission."""

    centres: tuple[Centre, ...]
    data: tuple[Data, ...]
    jobs: tuple[Job, ...]


def week(seed: int, jobs: int) -> Week:
    """Six centres with 1,440 GPUs; jobs of 1 to 8 GPUs and a quarter of an hour to eight hours, more by day than by
    night; two in five need data, of 1 to 150 GB, that lies in two to four centres."""
    rng = Random(seed)
    centres = tuple(centre(rng, i, gpus) for i, gpus in enumerate(GPUS))
    centres = tuple(replace(each, running_tasks=0, waiting_tasks=0, expected_wait_s=0) for each in centres)
    data = sets(rng, 40, [each.id for each in centres])
    times = sorted(_arrivals(rng, jobs))
    return Week(centres, data, tuple(_job(rng, i, at_s) for i, at_s in enumerate(times)))


def _arrivals(rng: Random, jobs: int) -> Iterator[int]:
    left = jobs
    while left:
        at_s = rng.randrange(WEEK_S)
        if rng.random() < 0.6 + 0.4 * sin(tau * at_s / 86_400):
            left -= 1
            yield at_s


def _job(rng: Random, number: int, at_s: int) -> Job:
    duration = min(8 * HOUR_S, max(HOUR_S // 4, round(rng.lognormvariate(8.8, 0.8))))
    names = (f"d{rng.randint(0, 39):02}",) if rng.random() < 0.4 else ()
    task = Task(f"t{number:05}", rng.choice(SPECS).id, None, names, duration_s=duration)
    return Job(f"j{number:05}", (task,), submitted_at_s=at_s, submitted_seq=number, job_type="batch")


def run(given: Week, choose: Choose, weights: Weights, watch: Watch | None = None) -> Outcome:
    """Let the week pass in cycles of two minutes. Room is held from dispatch, while data is copied too; a job that
    finds no centre waits for the next cycle. After the week the cycles go on until all have run."""
    free = {each.id: dict(each.free) for each in given.centres}
    running = dict.fromkeys(free, 0)
    tasks = {job.tasks[0].id: job for job in given.jobs}
    ends: list[tuple[int, int, str, str]] = []
    waiting: list[Job] = []
    came, order, outcome = 0, count(), Outcome()
    settings = Settings(weights=weights, move_bytes=10**12)
    amounts = {spec.id: spec.amounts for spec in SPECS}
    for now in count(CYCLE_S, CYCLE_S):
        while ends and ends[0][0] <= now:
            _, _, place, spec_id = heappop(ends)
            running[place] -= 1
            for name, amount in amounts[spec_id]:
                free[place][name] += amount
        while came < len(given.jobs) and given.jobs[came].submitted_at_s <= now:
            waiting.append(given.jobs[came])
            came += 1
        if not waiting:
            if came == len(given.jobs):
                return outcome
            continue
        rows = tuple(
            replace(each, seen_at_s=now, free=tuple(free[each.id].items()), running_tasks=running[each.id])
            for each in given.centres
        )
        snapshot = Snapshot(rows, SPECS, (), given.data, tuple(waiting), (), settings)
        chosen = choose(snapshot, now)
        if watch is not None:
            watch(snapshot, chosen)
        for task_id, place in chosen:
            job = tasks[task_id]
            _start(given, job, place, now, outcome)
            spec_id, task = job.tasks[0].spec_id, job.tasks[0]
            for name, amount in amounts[spec_id]:
                free[place][name] -= amount
            running[place] += 1
            gone = now + copy_s(given, task, place) + (task.duration_s or 0)
            heappush(ends, (gone, next(order), place, spec_id))
        names = {task_id for task_id, _ in chosen}
        waiting = [job for job in waiting if job.tasks[0].id not in names]
    raise AssertionError("the cycles do not end")


def _start(given: Week, job: Job, place: str, now: int, outcome: Outcome) -> None:
    task = job.tasks[0]
    outcome.jobs += 1
    outcome.cost_minor += price_of(given.centres, place, task.spec_id) * (task.duration_s or 0) / HOUR_S
    outcome.wait_s += now + copy_s(given, task, place) - job.submitted_at_s


def copy_s(given: Week, task: Task, place: str) -> int:
    """How long the data that the centre lacks takes to get there."""
    at = next(each for each in given.centres if each.id == place)
    lacks = sum(d.size_bytes for d in given.data if d.id in task.data_ids and place not in d.centre_ids)
    rate = at.network.bandwidth_mbps if at.network else 1
    return -(-lacks // (rate * 125_000))


def price_of(centres: Sequence[Centre], place: str, spec_id: str) -> int:
    """Minor currency per hour."""
    at = next(each for each in centres if each.id == place)
    return next(offer.price or 0 for offer in at.offers if offer.spec_id == spec_id)


def engine(snapshot: Snapshot, now: int) -> list[tuple[str, str]]:
    """The engine, by the snapshot's weights."""
    made: Plan = plan(snapshot, now=now, seed=1)
    return [(binding.task_id, binding.centre_ids[0]) for binding in made.bindings]


def simple(name: str, seed: int = 1) -> Choose:
    """The usual simple ways, first come, first served, among the centres with room: random, round robin, first fit (the
    first by ID), cheapest first."""
    rng, turn = Random(seed), count()

    def pick(fitting: list[Centre], spec_id: str) -> Centre:
        if name == "random":
            return rng.choice(fitting)
        if name == "round_robin":
            return fitting[next(turn) % len(fitting)]
        if name == "first_fit":
            return fitting[0]
        return min(fitting, key=lambda each: price_of(fitting, each.id, spec_id))

    def choose(snapshot: Snapshot, now: int) -> list[tuple[str, str]]:
        free = {each.id: dict(each.free) for each in snapshot.centres}
        amounts = {spec.id: spec.amounts for spec in snapshot.specs}
        chosen = []
        for job in snapshot.jobs:
            task = job.tasks[0]
            need = amounts[task.spec_id]
            fitting = [e for e in snapshot.centres if all(free[e.id][r] >= amount for r, amount in need)]
            if fitting:
                place = pick(fitting, task.spec_id).id
                chosen.append((task.id, place))
                for resource, amount in need:
                    free[place][resource] -= amount
        return chosen

    return choose
