"""How the centres stand for tasks of one kind, while a cycle binds one task after the other.

The weighted sum of every candidate is kept. What has been bound since it was last asked for changes it at those centres
alone, unless the best or the worst figure of a policy has moved, or a centre has become full or free: then that policy,
or all, are scored anew. The result is that of computing everything for every task, which `engine/bench/plain.py` does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.filter import CODES, PASSES, first_refusals
from apps.jointcloud.engine.kept_scores import KeptScores
from apps.jointcloud.engine.model import Model
from apps.jointcloud.engine.policies.registry import policy_of
from apps.jointcloud.engine.reasons import Code, Reason, reason
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import BEST, UNKNOWN, Row, normalised, rounded, weighted
from apps.jointcloud.engine.types import MOST, ONE, Weights

_FEW = 12
"""After more binds all is scored anew: that is quicker than one centre after the other."""

_FULL, _NEVER = -1, -2
"""In the place of a column: no candidate for want of room, or for another reason."""


class Standings:
    """The centres before tasks that ask for the same: `ask` is one of them."""

    def __init__(self, factors: Factors, room: Room, ask: Ask, weights: Weights, model: Model) -> None:
        self._factors, self._room, self._model = factors, room, model
        self._spec_id, self._replicas = ask.task.spec_id, ask.task.replicas
        self._first = first_refusals(factors, ask)
        self._is_open = self._first == PASSES
        self._policies = [(policy_of(name), weight) for name, weight in weights if weight]
        fixed = [each for each in self._policies if each[0].figure_at is None and not each[0].moves]
        self._fixed = np.array([policy.figures(factors, room, ask) for policy, _ in fixed], np.int64)
        self._fixed_weights = np.array([weight for _, weight in fixed], np.int64)
        self._moving = [each for each in self._policies if each[0].moves]
        self._kept = [KeptScores(policy, weight) for policy, weight in self._policies if policy.figure_at]
        self._cheaper: list[int] = price_order(factors, self._spec_id).tolist()
        self._read = -1
        self._mark = b""
        self._places = self._sums = self._fixed_sums = np.empty(0, np.int64)
        self._column: list[int] = []

    def best(self, ask: Ask) -> tuple[int, int] | None:
        """The place of the best candidate and its final score; None where no centre is one."""
        if not self._follow():
            self._score(ask)
        self._read = len(self._room.log)
        if not self._places.size:
            return None
        if not self._model.adds_up:
            return self._best_of(self._finals(ask))
        sums, same_for_all = self._sums, 0
        for policy, weight in self._moving:
            if policy.is_level is not None and policy.is_level(ask):
                same_for_all += BEST * weight
                continue
            figures = policy.figures(self._factors, self._room, ask).take(self._places)
            sums = sums + weight * normalised(figures)
        # A whole number of Python's, which `rounded` takes as well.
        most: int = rounded(np.maximum.reduce(sums).item() + same_for_all)
        # From the least sum on that is rounded to this score.
        equal = (sums >= most * ONE - ONE // 2 - same_for_all).nonzero()[0]
        return self._first_of(equal, most)

    def _best_of(self, finals: Row) -> tuple[int, int]:
        most = int(finals.max())
        return self._first_of(np.flatnonzero(finals == most), most)

    def _first_of(self, equal: Row, score: int) -> tuple[int, int]:
        """Of candidates with the same score the one with the fewest running tasks, then the first by price and ID."""
        places = self._places.take(equal).tolist()
        if len(places) == 1:
            return places[0], score
        running, cheaper = self._room.running.item, self._cheaper
        return min([(running(i), cheaper[i], i) for i in places])[2], score

    def _follow(self) -> bool:
        """Bring the kept sums up to what has been bound since; False where all has to be scored anew."""
        changed = self._room.log[self._read :] if self._read >= 0 else []
        if self._read < 0 or len(changed) > _FEW or not self._model.adds_up:
            return False
        sums, room, spec_id, kepts = self._sums, self._room, self._spec_id, self._kept
        slots = room.slots(spec_id).item
        for place in changed:
            column = self._column[place]
            if column == _NEVER:
                continue
            if (slots(place) >= self._replicas) != (column >= 0):
                return False
            if column >= 0:
                for kept in kepts:
                    kept.change(sums, column, room, spec_id, place)
        for kept in kepts:
            if kept.is_old:
                kept.settle(sums)
        return True

    def _score(self, ask: Ask) -> None:
        candidates = self._is_open & (self._room.slots(self._spec_id) >= self._replicas)
        mark = candidates.tobytes()
        if mark != self._mark or self._read < 0:
            self._candidates_are(candidates, mark)
        if not self._places.size or not self._model.adds_up:
            return
        self._sums = self._fixed_sums.copy()
        for kept in self._kept:
            kept.begin(self._sums, self._factors, self._room, ask, self._places)

    def _candidates_are(self, candidates: NDArray[np.bool_], mark: bytes) -> None:
        self._mark, self._places = mark, np.flatnonzero(candidates)
        column = np.where(self._is_open, _FULL, _NEVER)
        column[self._places] = np.arange(self._places.size)
        self._column = column.tolist()
        if self._places.size and len(self._fixed):
            self._fixed_sums = weighted(normalised(self._fixed[:, self._places]), self._fixed_weights)
        else:
            self._fixed_sums = np.zeros(self._places.size, np.int64)

    def _finals(self, ask: Ask) -> Row:
        """The final scores by a model that is no sum."""
        rows = [policy.figures(self._factors, self._room, ask) for policy, _ in self._policies]
        scores = normalised(np.array(rows, np.int64)[:, self._places])
        return self._model.final(scores, np.array([weight for _, weight in self._policies], np.int64))

    def why_waiting(self) -> tuple[Reason, ...]:
        """For how many centres which filter is the first that refuses, where no centre is a candidate: those that no
        other filter refuses have no room."""
        counts = np.bincount(self._first, minlength=PASSES + 1)
        counts[CODES.index(Code.NO_ROOM)] += counts[PASSES]
        return tuple(reason(code, centres=int(counts[i])) for i, code in enumerate(CODES) if counts[i])


def price_order(factors: Factors, spec_id: str) -> Row:
    """Each centre's place in the order of prices, an unknown one last, equal ones by ID."""
    price = factors.price(spec_id)
    order = np.argsort(np.where(price == UNKNOWN, MOST + 1, price), kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places
