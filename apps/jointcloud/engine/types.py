"""The words of the engine: what a cycle reads (`Snapshot`) and what it decides (`Plan`).

All values are frozen and all numbers are whole. Resources go by name (cpu, gpu, npu, mlu, memory in MB, storage in GB,
user-defined ones); instants are seconds since 1970 (UTC), spans seconds, prices minor currency per hour, power watts,
weights permille. None is "not known". Building a value that cannot be meant raises `BadInput`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from apps.jointcloud.engine.reasons import BadInput, Fault, Reason

ONE = 1000
"""What weights add up to: 1, in permille."""
MOST = 10**15
"""No figure is larger. Scores are computed in 64 bits, which hold two hundred times the difference of two."""
MOST_COUNT = 10**9
"""No number of tasks or replicas, no power, span and distance is larger: two of them may be multiplied."""

MOST_REPLICAS = 10_000

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""So much of each resource."""
Weights: TypeAlias = tuple[tuple[str, int], ...]
"""Policy and its weight in permille; together `ONE`."""

DEFAULT_WEIGHTS: Weights = (
    ("manual", 10),
    ("fcfs", 20),
    ("load", 100),
    ("energy", 60),
    ("price", 200),
    ("network", 60),
    ("data", 100),
    ("qos", 200),
    ("idle", 60),
    ("topology", 50),
    ("performance", 80),
    ("security", 20),
    ("fairness", 40),
)


def figure_check(name: str, value: int | None, least: int = 0, most: int = MOST) -> None:
    """Raise where a figure is below `least` or above `most`; None passes."""
    if value is not None and value < least:
        raise BadInput(Fault.TOO_SMALL, figure=name, value=value, least=least)
    if value is not None and value > most:
        raise BadInput(Fault.TOO_LARGE, figure=name, value=value, most=most)


def weights_check(weights: Weights) -> None:
    """Raise where a policy has two weights, a weight is negative, or they do not add up to 1."""
    seen = set()
    for policy, weight in weights:
        if policy in seen:
            raise BadInput(Fault.WEIGHT_TWICE, policy=policy)
        if weight < 0:
            raise BadInput(Fault.WEIGHT_NEGATIVE, policy=policy, permille=weight)
        seen.add(policy)
    total = sum(weight for _, weight in weights)
    if total != ONE:
        raise BadInput(Fault.WEIGHTS_SUM, permille=total, one=ONE)


@dataclass(frozen=True, slots=True)
class Network:
    """Measured figures of the way to a centre (JC-5f6): megabits per second, microseconds, lost parts in a million."""

    bandwidth_mbps: int
    latency_us: int
    jitter_us: int = 0
    loss_ppm: int = 0

    def __post_init__(self) -> None:
        figure_check("bandwidth_mbps", self.bandwidth_mbps, 1, MOST_COUNT)
        figure_check("latency_us", self.latency_us, 0, MOST_COUNT)
        figure_check("jitter_us", self.jitter_us, 0, MOST_COUNT)
        figure_check("loss_ppm", self.loss_ppm, 0, 10**6)


@dataclass(frozen=True, slots=True)
class Offer:
    """A centre offers a specification: its own price there, the figure of the benchmark job there (more is better),
    and what power its devices draw there; None takes the specification's power and knows no performance."""

    spec_id: str
    price: int | None = None
    performance: int | None = None
    static_w: int | None = None
    executing_w: int | None = None

    def __post_init__(self) -> None:
        figure_check("price", self.price)
        figure_check("performance", self.performance)
        figure_check("static_w", self.static_w, 0, MOST_COUNT)
        figure_check("executing_w", self.executing_w, 0, MOST_COUNT)


@dataclass(frozen=True, slots=True)
class Centre:
    """A centre as its adapter last told of it. `seen_at_s`: when that was. `free`: what is free of each resource.

    `failed_in_row`: dispatches that failed there one after the other, the last at `failed_at_s`. `takes_images`: an
    image that it lacks may be copied there. `tenants`: whose jobs it takes; None is everybody's.
    """

    id: str
    seen_at_s: int
    free: Amounts = ()
    offers: tuple[Offer, ...] = ()
    is_available: bool = True
    is_drained: bool = False
    takes_images: bool = False
    running_tasks: int = 0
    waiting_tasks: int = 0
    security_grade: int | None = None
    network: Network | None = None
    expected_wait_s: int | None = None
    """How long a task that comes now waits there before it starts."""
    failed_in_row: int = 0
    failed_at_s: int = 0
    tenants: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name in ("running_tasks", "waiting_tasks", "security_grade", "expected_wait_s", "failed_in_row"):
            figure_check(name, getattr(self, name), 0, MOST_COUNT)
        for name, amount in self.free:
            figure_check(name, amount)


@dataclass(frozen=True, slots=True)
class Spec:
    """A resource specification (table 3): so much of each resource, for these job types; none named is all."""

    id: str
    amounts: Amounts = ()
    job_types: frozenset[str] = frozenset()
    static_w: int | None = None
    executing_w: int | None = None

    def __post_init__(self) -> None:
        for name, amount in self.amounts:
            figure_check(name, amount)
        figure_check("static_w", self.static_w, 0, MOST_COUNT)
        figure_check("executing_w", self.executing_w, 0, MOST_COUNT)


@dataclass(frozen=True, slots=True)
class Image:
    """An image (table 5): where it is, which specifications it fits (none named is all), may it be copied."""

    id: str
    centre_ids: frozenset[str] = frozenset()
    spec_ids: frozenset[str] = frozenset()
    is_copyable: bool = True


@dataclass(frozen=True, slots=True)
class Data:
    """A data set (table 6): its size in bytes and the centres where it can be used. Private data never moves."""

    id: str
    size_bytes: int
    centre_ids: frozenset[str] = frozenset()
    is_private: bool = False

    def __post_init__(self) -> None:
        figure_check("size_bytes", self.size_bytes)


@dataclass(frozen=True, slots=True)
class Task:
    """A sub-task that waits for a centre, all its replicas together. `may_split`: where no centre takes all of them,
    its replicas may go to several.

    `centre_ids`: the centres a person named for it; none is all. `refused_by`: centres that refused it in this cycle.
    `duration_s`: how long it is expected to run. `deadline_s` and `latency_us` are what it demands (JC-5f8).
    """

    id: str
    spec_id: str
    image_id: str | None = None
    data_ids: tuple[str, ...] = ()
    replicas: int = 1
    min_security_grade: int = 0
    centre_ids: frozenset[str] = frozenset()
    refused_by: frozenset[str] = frozenset()
    duration_s: int | None = None
    deadline_s: int | None = None
    latency_us: int | None = None
    may_split: bool = False

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise BadInput(Fault.REPLICAS, task=self.id, replicas=self.replicas)
        figure_check("replicas", self.replicas, 1, MOST_REPLICAS)
        figure_check("duration_s", self.duration_s, 0, MOST_COUNT)
        figure_check("deadline_s", self.deadline_s, 0, 10**12)
        figure_check("latency_us", self.latency_us, 1, MOST_COUNT)


@dataclass(frozen=True, slots=True)
class Job:
    """A job and those of its tasks that wait, in its order. `is_gang`: all of them are bound, or none.

    `submitted_at_s` decides who came first, then `submitted_seq`. `placed`: the centre of each of its replicas
    that has one already. `weights`: its own, or None for the snapshot's. `tenant`: whose it is; "" is nobody's, whom
    every centre serves.
    """

    id: str
    tasks: tuple[Task, ...]
    priority: int = 0
    submitted_at_s: int = 0
    submitted_seq: int = 0
    is_gang: bool = False
    is_distributed: bool = True
    job_type: str = ""
    placed: tuple[str, ...] = ()
    weights: Weights | None = None
    tenant: str = ""

    def __post_init__(self) -> None:
        if self.weights is not None:
            weights_check(self.weights)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operators chose. `stale_s`: older figures of a centre count as not known. After `cool_off_failures`
    failed dispatches in a row a centre rests for `cool_off_s`. Data over `move_bytes` does not move.
    `usual_duration_s` stands in where a task names none. `model`: the evaluation model's name."""

    stale_s: int = 180
    cool_off_failures: int = 3
    cool_off_s: int = 600
    move_bytes: int = 100 * 10**9
    usual_duration_s: int = 3600
    weights: Weights = DEFAULT_WEIGHTS
    model: str = "weighted_sum"

    def __post_init__(self) -> None:
        weights_check(self.weights)
        for name in ("stale_s", "cool_off_s", "usual_duration_s"):
            figure_check(name, getattr(self, name), 0, MOST_COUNT)
        figure_check("move_bytes", self.move_bytes)
        figure_check("cool_off_failures", self.cool_off_failures, 1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All centres and what waits, at one instant. The order inside the tuples does not matter, but that of a job's
    tasks. `distances`: how far two centres are from each other, by what measure you like; either order of the two."""

    centres: tuple[Centre, ...] = ()
    specs: tuple[Spec, ...] = ()
    images: tuple[Image, ...] = ()
    data: tuple[Data, ...] = ()
    jobs: tuple[Job, ...] = ()
    distances: tuple[tuple[str, str, int], ...] = ()
    settings: Settings = Settings()

    def __post_init__(self) -> None:
        for one, other, distance in self.distances:
            figure_check(f"distance {one}, {other}", distance, 0, MOST_COUNT)


class Binding(NamedTuple):
    """This task goes to these centres: one for each replica, in the order of the replicas."""

    job_id: str
    task_id: str
    centre_ids: tuple[str, ...]
    score: int
    """The final score of its centre; of the lowest where there are several."""


class Waiting(NamedTuple):
    """This task goes on waiting. `reasons`: for how many centres which filter is the first that refuses, or that the
    rest of its gang has no room."""

    job_id: str
    task_id: str
    reasons: tuple[Reason, ...]


class Plan(NamedTuple):
    """What one cycle decided, both lists in the order of dispatch: priority, then first come."""

    bindings: tuple[Binding, ...]
    waiting: tuple[Waiting, ...]
    now: int
    seed: int
