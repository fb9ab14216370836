"""A turn on a card: the part of each period in which one of several works runs, so that no two run at once.

Pure. Who stops works and who issues what sessions ask for have the same clock and therefore the same turns.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import Any, Self

PERIOD_S = 0.25
"""Long beside what it takes to stop a work and continue another, short beside what a person notices."""


def turn_clock_s() -> float:
    """The clock that all turns of a host go by: it never jumps and also counts a suspend."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Turn:
    """The part of each period in which a work may run: from `begin` to `end`, of 0 to 1."""

    begin: float
    end: float

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """From what `to_json` gave; None where it says none. Raises TypeError and ValueError."""
        if value is None:
            return None
        begin, end = float(value["begin"]), float(value["end"])
        if not 0 <= begin < end <= 1 + 1e-9:
            raise ValueError(f"a turn from {begin} to {end}")
        return cls(begin, end)

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    def may_run(self, now_s: float) -> bool:
        """Whether it is the work's turn; `now_s` is `turn_clock_s`."""
        return self.begin <= _place(now_s) < self.end

    def left_s(self, now_s: float) -> float:
        """Seconds until that changes."""
        place = _place(now_s)
        edge = self.end if self.begin <= place < self.end else self.begin
        return ((edge - place) % 1.0) * PERIOD_S

    def next_s(self, now_s: float) -> float:
        """Seconds until the next one begins, after the one that is now."""
        wait = (self.begin - _place(now_s)) % 1.0
        return (wait or 1.0) * PERIOD_S

    def number(self, now_s: float) -> int:
        """Which one of all this or the last one was."""
        return math.floor(now_s / PERIOD_S - self.begin)


def _place(now_s: float) -> float:
    return now_s / PERIOD_S % 1.0
