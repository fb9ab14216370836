"""Duty cycle: whether the work may run now, so that over a second it gets its share and no more.

Pure. Time used and time passed come in; a balance of unused share says run or wait. What is
overdrawn by a late look is paid back, so the average is exact however coarse the looks are.
"""

from __future__ import annotations

from dataclasses import dataclass

QUANTUM_S = 0.05
BURST_S = 0.1
DEBT_S = 10.0
STEP_MIN_S = 0.002
STEP_MAX_S = 0.1
IDLE_STEP_MAX_S = 0.05
IDLE_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the work may run, and after how many seconds to ask again."""

    may_run: bool
    ask_again_s: float


class Throttle:
    """Holds a work to `percent` of a device. `used_s` counts seconds of the whole device.

    `speed` is how many devices' worth the work could take at once (a device of one core on a
    machine of four: 4.0). `burst_s`: how long unused share is kept.
    """

    def __init__(
        self, percent: float, *, speed: float, now_s: float, used_s: float, burst_s: float = BURST_S
    ) -> None:
        self._speed, self._burst_s = speed, burst_s
        self._now_s, self._used_s = now_s, used_s
        self._balance_s = 0.0
        self._may_run = True
        self._idle_step_s = 0.0
        self.resize(percent)

    def resize(self, percent: float) -> None:
        """A new share counts from now on."""
        self._rate = percent / 100

    def step(self, now_s: float, used_s: float) -> Verdict:
        """Account for what passed since the last step."""
        self._note_idleness(now_s - self._now_s, used_s - self._used_s)
        self._balance_s += (now_s - self._now_s) * self._rate - (used_s - self._used_s)
        self._balance_s = max(min(self._balance_s, self._rate * self._burst_s), -self._rate * DEBT_S)
        self._now_s, self._used_s = now_s, used_s
        if self._rate >= self._speed:
            return Verdict(True, STEP_MAX_S)
        threshold_s = 0.0 if self._may_run else self._rate * QUANTUM_S
        self._may_run = self._balance_s > 0 if self._may_run else self._balance_s >= threshold_s
        return Verdict(self._may_run, self._wait_s())

    def _note_idleness(self, passed_s: float, used_s: float) -> None:
        """A work that may run and does not is looked at ever less often; what it takes by surprise is paid
        back."""
        is_idle = self._may_run and used_s < IDLE_SHARE * passed_s
        self._idle_step_s = min(max(2 * self._idle_step_s, STEP_MIN_S), IDLE_STEP_MAX_S) if is_idle else 0.0

    def _wait_s(self) -> float:
        if self._may_run:
            wait_s = max(self._balance_s / (self._speed - self._rate), self._idle_step_s)
        else:
            wait_s = (self._rate * QUANTUM_S - self._balance_s) / self._rate
        return min(max(wait_s, STEP_MIN_S), STEP_MAX_S)
