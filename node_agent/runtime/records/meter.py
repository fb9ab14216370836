"""The arithmetic of metering: whole seconds, contiguous from the start, and no second nobody watched.

Pure but for its clock: instants come in as nanoseconds of `clock_ns`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

NS = 1_000_000_000
GAP_NS = 3 * NS
"""A loop that looks every second and was away longer than three periods vouches for none of that time."""


def clock_ns() -> int:
    """A clock that never jumps and also counts a suspend."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of `seconds` whole seconds."""

    start_at: datetime
    seconds: int

    @property
    def end_at(self) -> datetime:
        return self.start_at + timedelta(seconds=self.seconds)


class Meter:
    """Cuts run time into spans. `run_timeout_s` bounds the sum of all spans exactly."""

    def __init__(
        self, started_at: datetime, now_ns: int, *, period_s: int, run_timeout_s: int | None
    ) -> None:
        self._period_s = period_s
        self._timeout_s = run_timeout_s
        self._base_at, self._base_ns = started_at, now_ns
        self._closed_s = 0
        self._before_s = 0
        self._seen_ns = now_ns

    @property
    def vouched_s(self) -> int:
        """Whole seconds cut so far."""
        return self._before_s + self._closed_s

    def instant(self, now_ns: int) -> datetime:
        """The wall instant of a clock reading, free of jumps of the wall clock."""
        return self._base_at + timedelta(microseconds=(now_ns - self._base_ns) // 1000)

    @property
    def run_timeout_s(self) -> int | None:
        """For how long it may run in all."""
        return self._timeout_s

    def extend(self, run_timeout_s: int) -> None:
        """Let it run so long in all from now on; it cannot be less than what was cut already."""
        self._timeout_s = max(run_timeout_s, self.vouched_s)

    @property
    def is_used_up(self) -> bool:
        """Whether all of the run time has been cut."""
        return self.vouched_s == self._timeout_s

    def remaining_ns(self, now_ns: int) -> int | None:
        """Nanoseconds of run left (negative: overrun), or None where the run time is not limited."""
        if self._timeout_s is None:
            return None
        return (self._timeout_s - self._before_s) * NS - (now_ns - self._base_ns)

    def see(self, now_ns: int) -> Span | None:
        """Vouch for the time up to now; returns a span when a period is full or a gap broke it."""
        if now_ns - self._seen_ns > GAP_NS:
            span = self.close(self._seen_ns)
            self._rebase(now_ns)
            return span
        self._seen_ns = max(self._seen_ns, now_ns)
        is_full = (now_ns - self._base_ns) // NS - self._closed_s >= self._period_s
        return self.close(now_ns) if is_full else None

    def close(self, now_ns: int) -> Span | None:
        """Cut at the last whole second before now; None if there is none since the last cut."""
        whole_s = (now_ns - self._base_ns) // NS
        if self._timeout_s is not None:
            whole_s = min(whole_s, self._timeout_s - self._before_s)
        if whole_s <= self._closed_s:
            return None
        span = Span(self._base_at + timedelta(seconds=self._closed_s), whole_s - self._closed_s)
        self._closed_s = whole_s
        return span

    def _rebase(self, now_ns: int) -> None:
        self._base_at = self.instant(now_ns)
        self._base_ns = self._seen_ns = now_ns
        self._before_s += self._closed_s
        self._closed_s = 0
