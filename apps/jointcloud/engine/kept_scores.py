"""The scores of one policy over the candidates, kept while a cycle changes the figures of single centres."""

from __future__ import annotations

import numpy as np

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import UNKNOWN, Row, normalised


class KeptScores:
    """Figures and scores by candidate. Whatever changes a score changes the weighted sums by as much."""

    def __init__(self, policy: Policy, weight: int) -> None:
        assert policy.figure_at is not None
        self._policy, self._weight, self._figure_at = policy, weight, policy.figure_at
        self._figures = self._scores = np.empty(0, np.int64)
        self._least = self._most = self._leasts = self._mosts = 0
        self.is_old = False
        """Whether scores lack a change."""
        # Figures that are all equal, or not all known, are scored anew with every change.
        self._is_level = False

    def begin(self, sums: Row, factors: Factors, room: Room, ask: Ask, places: Row) -> None:
        """Score all candidates, and add to the sums."""
        self._figures = self._policy.figures(factors, room, ask).take(places)
        self._scores = np.zeros(len(places), np.int64)
        self.is_old = True
        self.settle(sums)

    def change(self, sums: Row, column: int, room: Room, spec_id: str, place: int) -> None:
        """This candidate's figure may be another now."""
        was, now = self._figures.item(column), self._figure_at(room, spec_id, place)
        if was == now:
            return
        self._figures[column] = now
        if self.is_old or self._is_level:
            self.is_old = True
            return
        self._leasts += (now == self._least) - (was == self._least)
        self._mosts += (now == self._most) - (was == self._most)
        if not self._leasts or not self._mosts or not self._least <= now <= self._most:
            self.is_old = True
            return
        span = self._most - self._least
        score = (200 * (now - self._least) + span) // (2 * span)
        before = self._scores.item(column)
        if score != before:
            self._scores[column] = score
            sums[column] += self._weight * (score - before)

    def settle(self, sums: Row) -> None:
        """After all changes, where they left it old: score all candidates anew, the best or the worst is another."""
        figures = self._figures
        least, most = np.minimum.reduce(figures).item(), np.maximum.reduce(figures).item()
        self.is_old, self._is_level = False, least in (most, UNKNOWN)
        if self._is_level:
            scores = normalised(figures)
        else:
            scores = (200 * (figures - least) + (most - least)) // (2 * (most - least))
            self._leasts = int(np.count_nonzero(figures == least))
            self._mosts = int(np.count_nonzero(figures == most))
        sums += self._weight * (scores - self._scores)
        self._scores, self._least, self._most = scores, least, most
