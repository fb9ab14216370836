"""The plain loop that defines a plan: every task, every centre, every policy, one after the other, nothing kept.

It shares no code with the policies, filters and the cycle but their words (`types`, `reasons`) and the order of jobs.
Tests hold the engine to it bit for bit; the bench measures the engine against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps.jointcloud.engine.reasons import Code, Finding, Reason, reason
from apps.jointcloud.engine.types import (
    MOST,
    MOST_COUNT,
    ONE,
    Binding,
    Centre,
    Data,
    Image,
    Job,
    Offer,
    Plan,
    Snapshot,
    Spec,
    Task,
    Waiting,
)


@dataclass
class State:
    """A centre and what the cycle has changed of it."""

    centre: Centre
    free: dict[str, int]
    offers: dict[str, Offer]
    running: int


class Plain:
    """One snapshot, read into dictionaries."""

    def __init__(self, snapshot: Snapshot, now: int) -> None:
        self.now, self.settings = now, snapshot.settings
        self.states = {
            centre.id: State(
                centre, dict(centre.free), {o.spec_id: o for o in centre.offers}, centre.running_tasks
            )
            for centre in snapshot.centres
        }
        self.specs: dict[str, Spec] = {spec.id: spec for spec in snapshot.specs}
        self.images: dict[str, Image] = {image.id: image for image in snapshot.images}
        self.data: dict[str, Data] = {data.id: data for data in snapshot.data}
        self.distances = {(one, two): far for one, two, far in snapshot.distances}
        self.distances |= {(two, one): far for (one, two), far in self.distances.items()}

    # Filters

    def refusal(self, state: State, job: Job, task: Task) -> Code | None:
        """The first filter that refuses the centre."""
        centre, spec = state.centre, self.specs.get(task.spec_id)
        if not centre.is_available:
            return Code.UNAVAILABLE
        if self.now - centre.seen_at_s > self.settings.stale_s:
            return Code.STALE
        if centre.is_drained:
            return Code.DRAINED
        if job.tenant and centre.tenants is not None and job.tenant not in centre.tenants:
            return Code.NOT_SERVED
        rested = centre.failed_at_s + self.settings.cool_off_s
        if centre.failed_in_row >= self.settings.cool_off_failures and self.now < rested:
            return Code.COOLING_OFF
        if task.centre_ids and centre.id not in task.centre_ids:
            return Code.NOT_NAMED
        if centre.id in task.refused_by:
            return Code.REFUSED_IT
        if spec is None or task.spec_id not in state.offers:
            return Code.NOT_OFFERED
        if spec.job_types and job.job_type and job.job_type not in spec.job_types:
            return Code.JOB_TYPE
        if task.image_id is not None:
            image = self.images.get(task.image_id)
            if image is None or not self.has_image(centre, image):
                return Code.IMAGE_MISSING
            if image.spec_ids and task.spec_id not in image.spec_ids:
                return Code.IMAGE_UNFIT
        if (centre.security_grade or 0) < task.min_security_grade:
            return Code.SECURITY_GRADE
        sets = [self.data.get(name) for name in task.data_ids]
        for data in sets:
            stays = data is not None and (data.is_private or data.size_bytes > self.settings.move_bytes)
            if data is not None and stays and centre.id not in data.centre_ids:
                return Code.DATA_STAYS
        for data in sets:
            if data is None or not data.centre_ids:
                return Code.DATA_NOWHERE
        if self.slots(state, task) < task.replicas:
            return Code.NO_ROOM
        return None

    def has_image(self, centre: Centre, image: Image) -> bool:
        if centre.id in image.centre_ids:
            return True
        return centre.takes_images and image.is_copyable and len(image.centre_ids) > 0

    def slots(self, state: State, task: Task) -> int:
        """How many replicas fit."""
        spec = self.specs.get(task.spec_id)
        if spec is None:
            return MOST_COUNT
        fits = [state.free.get(name, 0) // amount for name, amount in spec.amounts if amount]
        return min(fits, default=MOST_COUNT)

    # Figures of the policies: more is better, None is unknown

    def figure(self, policy: str, state: State, job: Job, task: Task, siblings: list[str]) -> int | None:
        """What a policy says of a centre."""
        match policy:
            case "manual":
                return 1 if state.centre.id in task.centre_ids else 0
            case "fcfs":
                return -state.centre.waiting_tasks
            case "load":
                return -state.running
            case "idle":
                return self.slots(state, task)
            case "security":
                return state.centre.security_grade
            case "performance":
                return state.offers[task.spec_id].performance
            case "price":
                return negative(state.offers[task.spec_id].price)
            case "data":
                return -self.missing(state.centre, task)
            case "network":
                return negative(self.way(state.centre))
            case "energy":
                return negative(self.joules(state, task))
            case "qos":
                return negative(self.missed(state.centre, task))
            case "topology":
                return negative(self.away(state.centre, siblings)) if job.is_distributed else 0
        raise AssertionError(policy)

    def variances(self, task: Task, names: list[str]) -> dict[str, int | None]:
        """Fairness: minus the variance of the numbers of tasks of all centres if the task went to each of these, times
        the square of the number of centres, which makes it whole."""
        numbers = {name: state.running + state.centre.waiting_tasks for name, state in self.states.items()}
        count, total = len(numbers), sum(numbers.values()) + task.replicas
        squares = sum(number * number for number in numbers.values())
        told: dict[str, int | None] = {}
        for name in names:
            was = numbers[name]
            after = squares - was * was + (was + task.replicas) ** 2
            told[name] = -(count * after - total * total)
        return told

    def missing(self, centre: Centre, task: Task) -> int:
        lacks = 0
        for name in task.data_ids:
            data = self.data.get(name)
            if data is not None and centre.id not in data.centre_ids:
                lacks = min(MOST, lacks + data.size_bytes)
        return lacks

    def transfer(self, centre: Centre, task: Task) -> int | None:
        """Seconds of the copy."""
        lacks = self.missing(centre, task)
        if lacks == 0:
            return 0
        if centre.network is None:
            return None
        rate = centre.network.bandwidth_mbps * 125_000
        return min(MOST_COUNT, (lacks + rate - 1) // rate)

    def way(self, centre: Centre) -> int | None:
        """Microseconds until a message of 64 MiB is there."""
        network = centre.network
        if network is None:
            return None
        if network.loss_ppm == 10**6:
            return MOST
        once = network.latency_us + network.jitter_us + 8 * 64 * 1024 * 1024 // network.bandwidth_mbps
        return min(MOST - 1, once * 10**6 // (10**6 - network.loss_ppm))

    def joules(self, state: State, task: Task) -> int | None:
        """Formula 1 with steady powers."""
        offer, spec = state.offers[task.spec_id], self.specs[task.spec_id]
        static = spec.static_w if offer.static_w is None else offer.static_w
        executing = spec.executing_w if offer.executing_w is None else offer.executing_w
        copying = self.transfer(state.centre, task)
        if copying is None or executing is None or (static is None and copying > 0):
            return None
        return min(MOST, (static or 0) * copying + executing * self.duration(task))

    def duration(self, task: Task) -> int:
        return self.settings.usual_duration_s if task.duration_s is None else task.duration_s

    def missed(self, centre: Centre, task: Task) -> int | None:
        """How far the demands are missed, in permille."""
        missed = 0
        if task.latency_us is not None:
            if centre.network is None:
                return None
            missed += beyond(centre.network.latency_us, task.latency_us)
        if task.deadline_s is not None:
            copying = self.transfer(centre, task)
            if copying is None:
                return None
            ends = copying + (centre.expected_wait_s or 0) + self.duration(task)
            missed += beyond(ends, max(1, task.deadline_s - self.now))
        return missed

    def away(self, centre: Centre, siblings: list[str]) -> int | None:
        """The sum of the distances to the job's other replicas."""
        total = 0
        for name in siblings:
            far = 0 if name == centre.id else self.distances.get((centre.id, name))
            if far is None:
                return None
            total += far
        return total

    # The cycle

    def best(self, job: Job, task: Task, siblings: list[str]) -> tuple[str, int] | None:
        """The best centre and its final score."""
        names = [name for name, state in self.states.items() if self.refusal(state, job, task) is None]
        if not names:
            return None
        sums = dict.fromkeys(names, 0)
        for policy, weight in job.weights or self.settings.weights:
            if policy == "fairness":
                figures = self.variances(task, names)
            else:
                figures = {
                    name: self.figure(policy, self.states[name], job, task, siblings) for name in names
                }
            for name, score in scored(figures).items():
                sums[name] += weight * score
        finals = {name: (2 * total + ONE) // (2 * ONE) for name, total in sums.items()}
        best = min(names, key=lambda name: self.order(name, finals[name], task))
        return best, finals[best]

    def order(self, name: str, final: int, task: Task) -> tuple[int, int, int, str]:
        state = self.states[name]
        price = state.offers[task.spec_id].price
        return -final, state.running, MOST + 1 if price is None else price, name

    def why(self, job: Job, task: Task) -> tuple[Reason, ...]:
        """Counts of the first refusals."""
        first = [self.refusal(state, job, task) for state in self.states.values()]
        return tuple(reason(code, centres=first.count(code)) for code in Code if code in first)

    def bind(self, name: str, task: Task, replicas: int) -> None:
        for resource, amount in self.specs[task.spec_id].amounts:
            if amount:
                self.states[name].free[resource] = self.states[name].free.get(resource, 0) - amount * replicas
        self.states[name].running += replicas

    def task(self, job: Job, task: Task, siblings: list[str]) -> Binding | None:
        """Bind one task, whole or split."""
        found = self.best(job, task, siblings)
        if found is not None:
            self.bind(found[0], task, task.replicas)
            return Binding(job.id, task.id, (found[0],) * task.replicas, found[1])
        if not task.may_split or task.replicas == 1:
            return None
        taken: list[tuple[str, int]] = []
        for _ in range(task.replicas):
            single = replace(task, replicas=1)
            found = self.best(job, single, [*siblings, *(name for name, _ in taken)])
            if found is None:
                for name, _ in taken:
                    self.bind(name, task, -1)
                return None
            self.bind(found[0], task, 1)
            taken.append(found)
        return Binding(job.id, task.id, tuple(name for name, _ in taken), min(score for _, score in taken))

    def job(self, job: Job) -> tuple[list[Binding], list[Waiting]]:
        """Bind a job; a gang whole."""
        siblings = [name for name in job.placed if name in self.states]
        bound: list[Binding] = []
        waiting: list[Waiting] = []
        for task in job.tasks:
            found = self.task(job, task, siblings)
            if found is not None:
                bound.append(found)
                siblings += found.centre_ids
                continue
            waiting.append(Waiting(job.id, task.id, self.why(job, task)))
            if job.is_gang:
                lacking = reason(Finding.GANG_INCOMPLETE, task=task.id)
                for binding in bound:
                    for name in binding.centre_ids:
                        self.bind(name, next(t for t in job.tasks if t.id == binding.task_id), -1)
                others = {other.id: Waiting(job.id, other.id, (lacking,)) for other in job.tasks}
                return [], list((others | {task.id: waiting[0]}).values())
        return bound, waiting


def plain_plan(snapshot: Snapshot, *, now: int, seed: int) -> Plan:
    """What `plan` has to return."""
    work = Plain(snapshot, now)
    bindings: list[Binding] = []
    waiting: list[Waiting] = []
    for job in sorted(snapshot.jobs, key=lambda j: (-j.priority, j.submitted_at_s, j.submitted_seq, j.id)):
        bound, refused = work.job(job)
        bindings += bound
        waiting += refused
    return Plan(tuple(bindings), tuple(waiting), now, seed)


def scored(figures: dict[str, int | None]) -> dict[str, int]:
    """Scores of 0 to 100: the best 100, the worst 0, equal 100, unknown 0, half up between."""
    known = [figure for figure in figures.values() if figure is not None]
    if not known:
        return dict.fromkeys(figures, 0)
    least, most = min(known), max(known)
    if least == most:
        return {name: 0 if figure is None else 100 for name, figure in figures.items()}
    span = most - least
    return {
        name: 0 if figure is None else (200 * (figure - least) + span) // (2 * span)
        for name, figure in figures.items()
    }


def negative(figure: int | None) -> int | None:
    """Of a figure of which less is better."""
    return None if figure is None else -figure


def beyond(figure: int, bound: int) -> int:
    """By how many permille a bound is missed, rounded up; ten times it is the most."""
    return min(10_000, max(0, -(-(figure - bound) * 1000 // bound)))
