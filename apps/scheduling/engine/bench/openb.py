"""The study of GPU allocation under fragmentation (USENIX ATC 2023), run on its published nodes and tasks.

Tasks are drawn from a list, shuffled, until what they ask for reaches a part of the capacity; each is placed by the
policy or refused; nobody leaves. Told is how much of the capacity is handed out when so much has arrived.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    Device,
    Node,
    Placing,
    Policy,
    Queue,
    Request,
    RunningWorkload,
    Snapshot,
    Typical,
)
from apps.scheduling.engine.resources.workload_mix import tally
from apps.scheduling.engine.state.scheduler_state import SchedulerState

MILLI = 1000
MILLI_PER_PERCENT = 10
MARKS_PERCENT = (90, 100, 110, 130)
CARD_MIB = 16_384
MOST_AT_ONCE = 4_096
TENANT = QUEUE = "study"


@dataclass(frozen=True, slots=True)
class Host:
    """A node of the study: CPU in milli-cores, memory in MiB, GPUs of one model."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the study: `gpu_milli` of each of `gpus` GPUs, of any of the models (none named: of any)."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    models: frozenset[str]

    @property
    def asked_milli(self) -> int:
        """Thousandths of a GPU it asks for in all."""
        return self.gpus * self.gpu_milli


class Contender(Protocol):
    """A policy at work on one cluster."""

    def place(self, tasks: Sequence[Task]) -> list[bool]:
        """Whether each of these, in this order, was placed."""
        ...


def read_hosts(path: Path) -> list[Host]:
    """The nodes of a list. Raises ValueError where a column is missing or no number."""
    return [
        Host(row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
        for row in _rows(path, "sn", "cpu_milli", "memory_mib", "gpu", "model")
    ]


def read_tasks(path: Path) -> list[Task]:
    """The tasks of a list; a list without `gpu_spec` names no models. Raises ValueError as above."""
    return [
        Task(
            int(row["cpu_milli"]), int(row["memory_mib"]), int(row["num_gpu"]),
            int(row["gpu_milli"]) if int(row["num_gpu"]) else 0,
            frozenset(filter(None, (row.get("gpu_spec") or "").split("|"))),
        )
        for row in _rows(path, "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    ]  # fmt: skip


def _rows(path: Path, *columns: str) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        missing = set(columns) - set(reader.fieldnames or ())
        if missing:
            raise ValueError(f"{path} has no column {sorted(missing)[0]!r}: give a list of the study.")
        return list(reader)


def capacity_milli(hosts: Sequence[Host]) -> int:
    """Thousandths of a GPU in all."""
    return MILLI * sum(host.gpus for host in hosts)


def arrivals(tasks: Sequence[Task], asked_milli: int, rng: Random) -> list[Task]:
    """The tasks as they arrive: the list shuffled, cut at random or prolonged by draws to ask for so much."""
    if not any(task.asked_milli for task in tasks):
        raise ValueError("No task of the list asks for a GPU: the study has nothing to measure.")
    queue = list(tasks)
    rng.shuffle(queue)
    asked = sum(task.asked_milli for task in queue)
    while asked > asked_milli:
        asked -= queue.pop(rng.randrange(len(queue))).asked_milli
    while asked + (drawn := rng.choice(tasks)).asked_milli <= asked_milli:
        queue.append(drawn)
        asked += drawn.asked_milli
    return queue


def shuffled(hosts: Sequence[Host], rng: Random) -> list[Host]:
    """The nodes in random order, since policies give ties to the first."""
    order = list(hosts)
    rng.shuffle(order)
    return order


def run(contender: Contender, queue: Sequence[Task], capacity: int, arrived: float) -> dict[str, float]:
    """Percent of the capacity that is handed out when so many percent of it have been asked for."""
    marks = [mark for mark in MARKS_PERCENT if mark <= round(100 * arrived)]
    at: dict[str, float] = {}
    asked = given = start = 0
    while start < len(queue):
        some = queue[start : start + max(1, min(start, MOST_AT_ONCE))]
        for task, placed in zip(some, contender.place(some), strict=True):
            asked += task.asked_milli
            given += task.asked_milli * placed
            while marks and 100 * asked >= marks[0] * capacity:
                at[str(marks.pop(0))] = round(100 * given / capacity, 3)
        start += len(some)
    at.update({str(mark): round(100 * given / capacity, 3) for mark in marks})
    return at


class Weir:
    """The engine itself, kept warm: each batch of arrivals is one of its cycles over what runs by then.

    The mix of work is counted from the arrivals before the batch, whether they were placed or not.
    """

    def __init__(self, hosts: Sequence[Host], placing: Placing, seed: int) -> None:
        nodes, devices = [], []
        for i, host in enumerate(hosts):
            node_id = f"{i:05}-{host.name}"
            nodes.append(Node(node_id, host_cpu_milli=host.cpu_milli, host_memory_mib=host.memory_mib))
            devices += [
                Device(f"{node_id}-{k}", node_id, CARD_MIB, model=host.model) for k in range(host.gpus)
            ]
        policy = Policy(placing=placing, patience_s=None, reserved_starts=0)
        self._warm = SchedulerState(Snapshot(tuple(nodes), tuple(devices), (Queue(QUEUE),), policy=policy))
        self._seed = seed
        self._mix: tuple[Typical, ...] = ()
        self._seq = 0

    def place(self, tasks: Sequence[Task]) -> list[bool]:
        """One cycle of the engine over what arrives now; what it refuses goes away."""
        warm = self._warm
        requests = [self._request(task) for task in tasks]
        for request in requests:
            warm.request_put(request)
        placed = {
            placement.request_id: placement.grants for placement in plan_kept(warm, 0, self._seed).placements
        }
        for request in requests:
            warm.request_drop(request.id)
            if request.id in placed:
                warm.running_put(RunningWorkload(request.id, TENANT, QUEUE, placed[request.id]))
        self._mix = tally(requests, self._mix)
        warm.mix_put(self._mix)
        return [request.id in placed for request in requests]

    def _request(self, task: Task) -> Request:
        self._seq += 1
        shares = max(1, task.gpus)
        return Request(
            f"t{self._seq:06}", TENANT, QUEUE, self._seq, task.gpu_milli // MILLI_PER_PERCENT, 0, shares,
            exclusive=task.gpu_milli == MILLI, single_node=True, models=task.models if task.gpus else frozenset(),
            host_cpu_milli=-(-task.cpu_milli // shares), host_memory_mib=-(-task.memory_mib // shares),
        )  # fmt: skip
