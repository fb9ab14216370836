"""Time a session computes, and the arithmetic that holds a share of a card that only knows whole kernels.

On CPU devices the shim's throttle holds the share and a stopwatch is enough.
"""

from __future__ import annotations

import time
from typing import Protocol

from node_agent.turn import Turn


class Clock(Protocol):
    """Wrapped around what a session runs. `busy_s` is device time so far."""

    busy_s: float

    def start(self) -> None:
        """Work begins."""

    def tick(self) -> None:
        """An operator was issued."""

    def stop(self) -> None:
        """Work has been issued; may wait where the session is ahead of its share."""

    def share_set(self, percent: int) -> None:
        """A new share of the device."""

    def turn_set(self, turn: Turn | None) -> None:
        """When it may run, where others have the device too; None: at any time."""


class Stopwatch:
    """Wall time of what runs in this thread."""

    def __init__(self) -> None:
        self.busy_s = 0.0
        self._began = 0.0

    def start(self) -> None:
        self._began = time.perf_counter()

    def tick(self) -> None:
        pass

    def stop(self) -> None:
        self.busy_s += time.perf_counter() - self._began

    def share_set(self, percent: int) -> None:
        pass

    def turn_set(self, turn: Turn | None) -> None:
        pass


class Pacer:
    """A bucket of device time that fills at the share's rate: what was spent ahead of it is waited for.

    Pure: `now_s` is any steady clock. Time not used within `burst_s` is lost, so an idle session gets no
    more than its share later; debts are never forgotten, so long kernels do not win anything.
    """

    def __init__(self, percent: int, now_s: float, *, burst_s: float = 0.02) -> None:
        self._share = percent / 100
        self.burst_s = burst_s
        self._credit_s = 0.0
        self._seen_s = now_s

    def share_set(self, percent: int, now_s: float) -> None:
        """Another share from now on; what was earned stays."""
        self._earn(now_s - self._seen_s)
        self._seen_s = now_s
        self._share = percent / 100

    def spent(self, busy_s: float, now_s: float) -> float:
        """Take device time used since the last call; returns how many seconds to wait before issuing more."""
        elapsed_s = max(now_s - self._seen_s, 0.0)
        self._seen_s = now_s
        self._earn(elapsed_s - busy_s)
        if self._share >= 1:
            self._credit_s = 0.0
            return 0.0
        self._credit_s += min(busy_s, elapsed_s) * self._share - busy_s
        return max(-self._credit_s / self._share, 0.0)

    def _earn(self, idle_s: float) -> None:
        earned = max(idle_s, 0.0) * self._share
        self._credit_s = min(self._credit_s + earned, self.burst_s * self._share)
