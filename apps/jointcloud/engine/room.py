"""What changes within a cycle: what is free in every centre, and how many tasks each has."""

from __future__ import annotations

import numpy as np

from apps.jointcloud.engine.factors import Factors
from apps.jointcloud.engine.scores import Row

BOUNDLESS = 10**9
"""So many of a specification that asks for nothing fit."""
_FEW = 8
"""Up to so many changed centres are counted one by one, more all at once."""


class Room:
    """The centres' figures after all that the cycle has bound so far, in the order of `Factors.centres`.

    `log`: the place of every bind. Who keeps something by centre looks from where it last read for what has changed.
    """

    def __init__(self, factors: Factors) -> None:
        self.factors = factors
        free = [dict(centre.free) for centre in factors.centres]
        self.free = np.array([[each.get(name, 0) for each in free] for name in factors.resources], np.int64)
        self.free = self.free.reshape(len(factors.resources), len(free))
        self.running = np.array([centre.running_tasks for centre in factors.centres], np.int64)
        self.waiting = np.array([centre.waiting_tasks for centre in factors.centres], np.int64)
        self.log: list[int] = []
        self._slots: dict[str, tuple[Row, int]] = {}
        self._asked: dict[str, list[tuple[int, int]]] = {}

    def slots(self, spec_id: str) -> Row:
        """How many more replicas of a specification each centre has room for; the next bind changes the row."""
        kept = self._slots.get(spec_id)
        if kept is None:
            return self._slots_counted(spec_id)
        row, read = kept
        if read == len(self.log):
            return row
        if len(self.log) - read > _FEW:
            return self._slots_counted(spec_id)
        asked = self._asked[spec_id]
        if asked:
            free = self.free.item
            for place in self.log[read:]:
                row[place] = min([free(i, place) // amount for i, amount in asked])
        self._slots[spec_id] = row, len(self.log)
        return row

    def _slots_counted(self, spec_id: str) -> Row:
        need = self.factors.need(spec_id)
        asked = self.factors.kept(("asked", spec_id), lambda: np.flatnonzero(need))
        if asked.size:
            row: Row = (self.free[asked] // need[asked]).min(axis=0)
        else:
            row = np.full(len(self.running), BOUNDLESS, np.int64)
        self._asked[spec_id] = [(int(i), int(need[i, 0])) for i in asked]
        self._slots[spec_id] = row, len(self.log)
        return row

    def bind(self, place: int, spec_id: str, replicas: int) -> None:
        """Take the room of so many replicas in a centre; a negative number gives it back."""
        asked = self._asked.get(spec_id)
        if asked is None:
            self._slots_counted(spec_id)
            asked = self._asked[spec_id]
        for i, amount in asked:
            self.free[i, place] -= amount * replicas
        self.running[place] += replicas
        self.log.append(place)
