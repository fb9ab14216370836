"""The usable room of servers: of many at once in arrays, or of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from apps.scheduling.engine.model.types import USUAL, WHOLE_CARD_PERCENT, Typical

Ints = npt.NDArray[np.int64]

CPU_STEP_MILLI = 2000
MOST_KNOWN = 200_000
"""So many servers' rooms are remembered; beyond that they are found out anew."""


class Measure:
    """The usable room of servers, weighed over the kinds of a mix. `total` is the sum of the weights."""

    def __init__(
        self, mix: Sequence[Typical], cards_by_model: dict[str, int], classes: Sequence[frozenset[str]]
    ):
        kinds = _merged(mix or USUAL)
        weights = [_weight(kind, cards_by_model) for kind in kinds]
        self.total = max(1, sum(weights))
        self._sizes, self._size_of = np.unique([kind.compute_percent for kind in kinds], return_inverse=True)
        needs = [kind.host_cpu_milli * kind.shares or 1 for kind in kinds]
        self._needs, self._need_of = np.unique(np.array(needs, np.int64), return_inverse=True)
        self._gang = np.array([kind.shares for kind in kinds], np.int64)
        open_to = [[not kind.models or bool(kind.models & models) for kind in kinds] for models in classes]
        # A pool without cards has no classes; its table is empty, but as wide as any.
        table = np.array(open_to, np.int64).reshape(len(classes), len(kinds))
        self._weights = table * np.array(weights, np.int64)
        self._known: dict[tuple[int, int, tuple[int, ...]], int] = {}
        self._kinds = [self._kinds_of(row) for row in self._weights.tolist()]

    def _kinds_of(self, weights: list[int]) -> list[tuple[int, list[tuple[int, int, int]]]]:
        """Of one class: by size, the largest first, the CPU, shares and weight of the kinds that count there."""
        sizes: dict[int, Counter[tuple[int, int]]] = {}
        rows = zip(self._size_of.tolist(), self._need_of.tolist(), self._gang.tolist(), weights, strict=True)
        for size, need, gang, weight in rows:
            if weight:
                sizes.setdefault(size, Counter())[need, gang] += weight
        return [
            (
                int(self._sizes[size]),
                [(int(self._needs[need]), gang, sum_) for (need, gang), sum_ in each.items()],
            )
            for size, each in sorted(sizes.items(), reverse=True)
        ]

    def of_one(self, free: list[int], cpu: int, of_class: int) -> int:
        """The usable room of one server: `free` percent of each of its cards and `cpu` free thousandths of a core, for
        the kinds of work of a class. What was worked out is remembered, whatever the order of the cards."""
        free = sorted(free, reverse=True)
        key = (of_class, cpu, tuple(free))
        found = self._known.get(key)
        if found is None:
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = self._of_one(free, max(0, cpu), of_class)
        return found

    def _of_one(self, free: list[int], cpu: int, of_class: int) -> int:
        filled = [0]
        for each in free:
            filled.append(filled[-1] + each)
        cards = total = 0
        for size, kinds in self._kinds[of_class]:
            while cards < len(free) and free[cards] >= size:
                cards += 1
            for need, gang, weight in kinds:
                total += filled[min(cards // gang, cpu // need) * gang] * weight
        return total

    def usable(self, free: Ints, cpu: Ints, of_class: Ints) -> Ints:
        """Usable percent times weight of each row: free percent of its cards, CPU left, class of its server."""
        free = -np.sort(-free, axis=1)
        filled = np.zeros((len(free), free.shape[1] + 1), np.int64)
        np.cumsum(free, axis=1, out=filled[:, 1:])
        cards = (free[:, :, None] >= self._sizes).sum(axis=1)
        by_cpu = np.maximum(cpu, 0)[:, None] // self._needs
        copies = np.minimum(cards[:, self._size_of] // self._gang, by_cpu[:, self._need_of])
        room = np.take_along_axis(filled, copies * self._gang, axis=1)
        usable: Ints = np.einsum("rk,rk->r", room, self._weights[of_class])
        return usable


def _merged(kinds: Sequence[Typical]) -> tuple[Typical, ...]:
    """The kinds with their host CPU rounded up: what differs by less fills a server alike, and costs time."""
    counts: Counter[Typical] = Counter()
    for kind in kinds:
        rounded = -(-kind.host_cpu_milli // CPU_STEP_MILLI) * CPU_STEP_MILLI
        counts[replace(kind, host_cpu_milli=rounded, count=1)] += kind.count
    return tuple(replace(kind, count=count) for kind, count in counts.items())


def _weight(kind: Typical, cards_by_model: dict[str, int]) -> int:
    """How much a kind counts: often, picky and small count more."""
    every = sum(cards_by_model.values())
    open_to_it = sum(cards_by_model.get(model, 0) for model in kind.models) if kind.models else every
    if not open_to_it:
        return 0
    scarce = 16 * every // open_to_it
    return max(1, kind.count * scarce * WHOLE_CARD_PERCENT**2 // kind.compute_percent**2)
