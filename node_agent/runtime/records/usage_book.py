"""A slice's usage book: what of its time is vouched for, with what it held and measured meanwhile."""

from __future__ import annotations

import contextlib
from collections import deque
from pathlib import Path
from typing import Any

from node_agent.runtime.records.meter import Meter, Span
from node_agent.runtime.records.usage_journal import JournalWriter


class UsageBook:
    """Cuts run time into intervals and writes them down. Set `compute_percent`, `memory_mib` as held."""

    def __init__(self, journal: Path, meter: Meter, *, compute_percent: int, memory_mib: int) -> None:
        self._journal, self.meter = JournalWriter(journal), meter
        self.compute_percent, self.memory_mib = compute_percent, memory_mib
        self._unwritten: deque[dict[str, Any]] = deque()
        self._used_mib = self._peak_mib = 0
        self._cpu_closed_s = 0.0

    def note_memory(self, used_mib: int) -> None:
        """Memory in use now, for the interval's peak."""
        self._used_mib = used_mib
        self._peak_mib = max(self._peak_mib, used_mib)

    def see(self, now_ns: int, cpu_s: float) -> None:
        """Vouch for the time up to now."""
        self._enter(self.meter.see(now_ns), cpu_s, is_final=self.meter.is_used_up)

    def close(self, at_ns: int, cpu_s: float, *, is_final: bool) -> None:
        """Cut at an instant: what is held changes, or nothing more is held."""
        self._enter(self.meter.close(at_ns), cpu_s, is_final=is_final)

    def write(self) -> bool:
        """Write down what is not written yet; whether all of it is. A full disk delays the vouching, it does not end
        the work."""
        with contextlib.suppress(OSError):
            while self._unwritten:
                self._journal.append(**self._unwritten[0])
                self._unwritten.popleft()
        return not self._unwritten

    def _enter(self, span: Span | None, cpu_s: float, *, is_final: bool) -> None:
        if span is None:
            return
        self._unwritten.append(
            {
                "span": span,
                "compute_percent": self.compute_percent,
                "memory_mib": self.memory_mib,
                "cpu_seconds": cpu_s - self._cpu_closed_s,
                "memory_peak_mib": self._peak_mib,
                "final": is_final,
            }
        )
        self._cpu_closed_s, self._peak_mib = cpu_s, self._used_mib
        self.write()
