"""The policies that the study compares, in our own form: what `bench openb` is held against.

Each gives every node that fits a whole score from 0 to 100; the highest wins, ties go to the first node. They exist
to show that the bench is fair: their figures must be those that were published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt

from apps.scheduling.engine.bench.openb import MILLI, Host, Task

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_CPU_MILLI = 128_000
MOST_GPU_MILLI = 8 * MILLI
POPULAR_PERCENT = 95
REFUSED = -1


class Cluster:
    """The nodes in arrays: a row a node, a column a GPU, -1 where there is none."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        columns = max(host.gpus for host in hosts)
        self.left = np.array(
            [[MILLI if i < host.gpus else -1 for i in range(columns)] for host in hosts], np.int64
        )
        self.gpus = np.array([host.gpus for host in hosts], np.int64)
        self.cpu = np.array([host.cpu_milli for host in hosts], np.int64)
        self.memory = np.array([host.memory_mib for host in hosts], np.int64)
        self._with = {
            model: np.array([host.model == model for host in hosts])
            for model in {host.model for host in hosts}
        }
        self.changed = np.zeros(len(hosts), np.int64)
        self.count = 0

    @property
    def total_left(self) -> Ints:
        """Thousandths of a GPU left on each node."""
        total: Ints = self.left.clip(0).sum(axis=1)
        return total

    def fits(self, task: Task) -> Bools:
        """The nodes that take the task."""
        fits = (self.cpu >= task.cpu_milli) & (self.memory >= task.memory_mib)
        if task.gpus:
            fits &= (self.left >= task.gpu_milli).sum(axis=1) >= task.gpus
            if task.models:
                fits &= self._of(task.models)
        return fits

    def _of(self, models: frozenset[str]) -> Bools:
        nowhere = np.zeros(len(self.cpu), np.bool_)
        return np.logical_or.reduce(
            [nowhere, *(self._with[model] for model in models if model in self._with)]
        )

    def take(self, task: Task, at: int, columns: Ints) -> None:
        """Put the task on these GPUs of a node."""
        self.left[at, columns] -= task.gpu_milli
        self.cpu[at] -= task.cpu_milli
        self.memory[at] -= task.memory_mib
        self.count += 1
        self.changed[at] = self.count

    def columns(self, task: Task, at: int) -> Ints:
        """The GPUs it takes on a node: idle ones from the first on, or the fullest that still takes the share."""
        able = np.nonzero(self.left[at] >= task.gpu_milli)[0]
        if task.gpus != 1:
            return able[: task.gpus]
        return able[self.left[at][able].argmin()][None]


class Baseline:
    """One published policy on one cluster."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.cluster = Cluster(hosts)

    def place(self, tasks: Sequence[Task]) -> list[bool]:
        """Whether each of these, in this order, was placed."""
        return [self._place(task) for task in tasks]

    def _place(self, task: Task) -> bool:
        fits = self.cluster.fits(task)
        if not fits.any():
            return False
        at = self.choose(task, fits)
        self.cluster.take(task, at, self.columns(task, at))
        return True

    def choose(self, task: Task, fits: Bools) -> int:
        """The node with the highest score, the first of equals."""
        return int(np.where(fits, self.score(task), REFUSED).argmax())

    def score(self, task: Task) -> Ints:
        """0 to 100 for each node; those that do not fit may have any."""
        raise NotImplementedError

    def columns(self, task: Task, at: int) -> Ints:
        """The GPUs on the chosen node."""
        return self.cluster.columns(task, at)


class RandomNode(Baseline):
    """Any node that fits, and on it any GPU that fits."""

    def __init__(self, hosts: Sequence[Host], seed: int) -> None:
        super().__init__(hosts)
        self._rng = Random(seed)

    def choose(self, task: Task, fits: Bools) -> int:
        """A random one."""
        return int(self._rng.choice(np.nonzero(fits)[0]))

    def columns(self, task: Task, at: int) -> Ints:
        """A random one for a share; whole GPUs are all alike."""
        able = np.nonzero(self.cluster.left[at] >= task.gpu_milli)[0]
        return able[: task.gpus] if task.gpus != 1 else np.array([self._rng.choice(able)])


class DotProduct(Baseline):
    """The node whose rest is the least along what the task asks for (Tetris, turned round to pack)."""

    def score(self, task: Task) -> Ints:
        """100 less the product of rest and demand, each over the largest node's."""
        cluster = self.cluster
        cpu = cluster.cpu / MOST_CPU_MILLI * task.cpu_milli / MOST_CPU_MILLI
        gpu = cluster.total_left / MOST_GPU_MILLI * task.asked_milli / MOST_GPU_MILLI
        return (100 * (1 - (cpu + gpu) / 2)).astype(np.int64)


class BestFit(Baseline):
    """The node with the least left after the task."""

    def score(self, task: Task) -> Ints:
        """100 less what is left of CPU and GPU, half each, over the largest node's."""
        cpu = (self.cluster.cpu - task.cpu_milli) / MOST_CPU_MILLI
        gpu = (self.cluster.total_left - task.asked_milli) / MOST_GPU_MILLI
        return (100 * (1 - (cpu + gpu) / 2)).astype(np.int64)


class GpuClustering(Baseline):
    """Work of one size together: nodes that run only such work, then some, then none, then other work."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        super().__init__(hosts)
        self._runs: dict[int, Bools] = {}

    def score(self, task: Task) -> Ints:
        """A quarter of the range for each of the four cases, the fuller node higher within it."""
        if not task.gpus:
            return np.zeros_like(self.cluster.cpu)
        kinds = sum((runs.astype(np.int64) for runs in self._runs.values()), np.zeros_like(self.cluster.cpu))
        same = self._of(task)
        case = np.where(same, np.where(kinds == 1, 75, 50), np.where(kinds == 0, 25, 0))
        return 25 * (MOST_GPU_MILLI - self.cluster.total_left) // MOST_GPU_MILLI + case

    def columns(self, task: Task, at: int) -> Ints:
        """As usual; and the node now runs such work."""
        if task.gpus:
            self._of(task)[at] = True
        return super().columns(task, at)

    def _of(self, task: Task) -> Bools:
        size = task.gpus if task.gpu_milli == MILLI else 0
        return self._runs.setdefault(size, np.zeros(len(self.cluster.cpu), np.bool_))


class GpuPacking(Baseline):
    """GPUs in use first, then idle GPUs of nodes in use, then idle nodes."""

    def score(self, task: Task) -> Ints:
        """100 down to 50, 50 down to 33, and below 33."""
        left, gpus = self.cluster.left, self.cluster.gpus
        if not task.gpus:
            return np.zeros_like(gpus)
        idle = (left == MILLI).sum(axis=1)
        used = np.where((left >= task.gpu_milli) & (left < MILLI), left, MOST_GPU_MILLI)
        rest = used.min(axis=1)
        shared = np.maximum(100 - rest * 100 // MILLI // 10, 50)
        with_idle = max(50 - task.gpus, 33)
        node_in_use = np.where(rest < MILLI, shared, with_idle)
        return np.where(idle == gpus, np.maximum(33 - idle, idle), node_in_use)


class Fgd(Baseline):
    """Fragmentation gradient descent: where the fragments, as popular tasks see them, grow the least."""

    def __init__(self, hosts: Sequence[Host], tasks: Sequence[Task]) -> None:
        super().__init__(hosts)
        kinds = _popular(tasks)
        count = sum(kinds.values())
        self._part = np.array([kinds[kind] / count for kind in kinds])
        self._milli, self._milli_of = np.unique([kind.gpu_milli for kind in kinds], return_inverse=True)
        self._gpus = np.array([kind.gpus for kind in kinds], np.int64)
        self._cpu = np.array([kind.cpu_milli for kind in kinds], np.int64)
        self._open = np.array(
            [
                [bool(kind.gpus) and (not kind.models or host.model in kind.models) for kind in kinds]
                for host in hosts
            ]
        )
        self._known: dict[Task, tuple[Ints, Ints, int]] = {}

    def score(self, task: Task) -> Ints:
        """100 times the sigmoid of what the fragments shrink by, in GPUs; cut to a whole number."""
        score, column, read = self._known.get(task) or (
            np.zeros_like(self.cluster.cpu),
            np.zeros_like(self.cluster.cpu),
            -1,
        )
        rows = np.nonzero((self.cluster.changed > read) & self.cluster.fits(task))[0]
        if len(rows):
            score[rows], column[rows] = self._judge(task, rows)
        self._known[task] = (score, column, self.cluster.count)
        return score

    def columns(self, task: Task, at: int) -> Ints:
        """The GPU that the score was found for."""
        if task.gpus == 1 and task.gpu_milli < MILLI:
            return self._known[task][1][at][None]
        return np.nonzero(self.cluster.left[at] >= task.gpu_milli)[0][: task.gpus]

    def _judge(self, task: Task, rows: Ints) -> tuple[Ints, Ints]:
        left, cpu = self.cluster.left[rows], self.cluster.cpu[rows]
        able = left >= task.gpu_milli
        if not task.gpus:
            pairs, after = np.arange(len(rows)), left
            column = np.zeros_like(pairs)
        elif task.gpu_milli == MILLI:
            pairs, column = np.arange(len(rows)), able.argmax(axis=1)
            after = left - MILLI * (able & (able.cumsum(axis=1) <= task.gpus))
        else:
            pairs, column = np.nonzero(able)
            after = left[pairs]
            after[np.arange(len(pairs)), column] -= task.gpu_milli
        shrunk = self._fragments(left, cpu, rows)[pairs] - self._fragments(
            after, (cpu - task.cpu_milli)[pairs], rows[pairs]
        )
        score = (100 / (1 + np.exp(-shrunk / MILLI))).astype(np.int64)
        order = np.lexsort((column, -score, pairs))
        first = order[np.r_[True, np.diff(pairs[order]) > 0]]
        return score[first], column[first]

    def _fragments(self, left: Ints, cpu: Ints, rows: Ints) -> npt.NDArray[np.float64]:
        """Thousandths of a GPU that a popular task cannot use, on average."""
        able = left[:, :, None] >= np.maximum(self._milli, 0)
        usable = (left.clip(0)[:, :, None] * able).sum(axis=1)[:, self._milli_of]
        enough = able.sum(axis=1)[:, self._milli_of] >= self._gpus
        open_to = enough & (cpu[:, None] >= self._cpu) & self._open[rows]
        fragments: npt.NDArray[np.float64] = left.clip(0).sum(axis=1) - (usable * open_to) @ self._part
        return fragments


def _popular(tasks: Sequence[Task]) -> dict[Task, int]:
    """The most frequent kinds of task, memory left aside, that make up 95 % of the list."""
    counts = Counter(Task(task.cpu_milli, 0, task.gpus, task.gpu_milli, task.models) for task in tasks)
    kept: dict[Task, int] = {}
    for kind, count in counts.most_common():
        if 100 * sum(kept.values()) >= POPULAR_PERCENT * len(tasks):
            break
        kept[kind] = count
    return kept
