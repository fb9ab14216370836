"""Processes told apart for certain: a pid alone is reused, a pid with its start is not."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


def _start_tick(pid: int) -> int | None:
    """The kernel's clock tick at which a process started, or None where none runs (a zombie does not run).

    Ticks count from boot, so that a clock that is set does not make a process look like another one: psutil's
    `create_time` is a time of day and moves with the clock.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, for its whole life: its pid and the clock tick at which it started."""

    pid: int
    start_tick: int

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity | None":
        """The process that has this pid now, or None."""
        start_tick = _start_tick(pid)
        return None if start_tick is None else cls(pid, start_tick)

    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        return _start_tick(self.pid) == self.start_tick

    def send(self, signum: int) -> None:
        """Send a signal to this process, and to no other that got its pid since."""
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signum)
