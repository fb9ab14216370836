"""Whose turn it is on a card: of works that are stopped and continued one runs at a time, or each would have a part of
the card while it runs.

Pure. Every shim of a card finds the same turns from the same entries and the same clock; nobody is asked for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from node_agent.runtime.shim.sharing.device_sharing import Entry

PERIOD_S = 0.25
"""Long beside what it takes to stop a work and continue another, short beside what a person notices."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The part of each period in which a work may run: from `begin` to `end`, of 0 to 1."""

    begin: float
    end: float

    def may_run(self, now_s: float) -> bool:
        """Whether it is the work's turn; `now_s` is the clock that all shims of the host have."""
        return self.begin <= _place(now_s) < self.end

    def left_s(self, now_s: float) -> float:
        """Seconds until that changes."""
        place = _place(now_s)
        edge = self.end if self.begin <= place < self.end else self.begin
        return ((edge - place) % 1.0) * PERIOD_S


def turn_of(own: Entry, others: Iterable[Entry]) -> Turn | None:
    """The turn of a work beside the others of its card, in the order of their shims' starts; None where it is alone.

    Where more was promised than there is, those that compute have their part of what is promised to them all.
    """
    rows = list(others)
    if own.compute_percent + sum(entry.compute_percent for entry in rows) > 100:
        rows = [entry for entry in rows if entry.is_busy]
    if not rows:
        return None
    whole = max(100, own.compute_percent + sum(entry.compute_percent for entry in rows))
    mine = (own.start_ticks, own.pid)
    before = sum(entry.compute_percent for entry in rows if (entry.start_ticks, entry.pid) < mine)
    return Turn(before / whole, (before + own.compute_percent) / whole)


def _place(now_s: float) -> float:
    return now_s / PERIOD_S % 1.0
