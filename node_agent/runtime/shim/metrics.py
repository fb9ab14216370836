"""The shim's side of metrics: what the work writes of itself is read while it runs, and once more at its end.

It is read here, in a process that stands over this work alone: whatever a file holds, no other work's shim reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from node_agent.protocol.metric_bounds import FOLDER, VARIABLE
from node_agent.runtime.metrics.points import Point
from node_agent.runtime.metrics.reader import MetricsReader
from node_agent.runtime.metrics.spool import MetricsSpool

LOOK_S = 1.0
LOOK_BYTES, LAST_BYTES = 256 * 1024, 32 * 1024 * 1024
# Of one series: from one look, and of all that is left at the end.
POINTS_PER_LOOK, POINTS_AT_LAST = 50, 500


class MetricsControl:
    """Follows the metrics of one work; `note` writes a line into its log."""

    def __init__(self, home: Path, owner: int | None, spool: Path, note: Callable[[str], None]) -> None:
        """Before the work starts: its folder is made for it, where an earlier attempt has not left one. `owner`: its
        user."""
        with suppress(OSError):
            (home / FOLDER).mkdir(mode=0o700)
            if owner is not None:
                os.chown(home / FOLDER, owner, owner, follow_symlinks=False)
        self._reader, self._spool, self._note = MetricsReader(home, note), MetricsSpool(spool), note

    def look(self) -> None:
        """Take up what was written since; a full disk delays it."""
        if self._spool.has_room:
            self._put(self._reader.read(LOOK_BYTES), POINTS_PER_LOOK)

    def finish(self) -> None:
        """Take up what is left: nothing writes any more."""
        found: list[Point] = []
        left_bytes = LAST_BYTES
        while left_bytes > 0:
            found += self._reader.read(LOOK_BYTES)
            left_bytes -= LOOK_BYTES
            if not self._reader.has_more:
                break
        else:
            self._note(f"of its metrics the last {LAST_BYTES >> 20} MiB were too many: some are left out")
        self._put(found, POINTS_AT_LAST)

    def _put(self, points: list[Point], most_per_name: int) -> None:
        with suppress(OSError):
            self._spool.add(points, most_per_name)


def metrics_environment(home: Path) -> dict[str, str]:
    """Where the work finds the folder for its metrics."""
    return {VARIABLE: str(home / FOLDER)}
