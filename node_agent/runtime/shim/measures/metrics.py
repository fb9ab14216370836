"""The shim's side of metrics: what the work writes of itself is read while it runs, and once more at its end.

It is read here, in a process that stands over this work alone: whatever a file holds, no other work's shim reads it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from node_agent.files import SliceFolder
from node_agent.protocol.metric_bounds import FOLDER, POINTS_PER_BATCH, VARIABLE
from node_agent.runtime.metrics.points import EvenPoints
from node_agent.runtime.metrics.reader import MetricsReader
from node_agent.runtime.metrics.spool import MetricsSpool
from node_agent.runtime.records.meter import NS
from node_agent.runtime.records.slice_records import SliceSpec

LOOK_S, SEND_S = 1.0, 10.0
LOOK_BYTES = 256 * 1024
LAST_BYTES, LAST_S = 32 * 1024 * 1024, 5.0
# Of one series: each time that it is sent, and of all that is left at the end.
POINTS_PER_SEND, POINTS_AT_LAST = 100, 500


class MetricsControl:
    """Follows the metrics of one work; `note` writes a line into its log.

    Whatever fails here ends the reading, never the work.
    """

    def __init__(self, home: Path, owner: int | None, spool: Path, note: Callable[[str], None]) -> None:
        """Before the work starts: its folder is made for it, where an earlier attempt has not left one. `owner`: its
        user."""
        with suppress(OSError):
            (home / FOLDER).mkdir(mode=0o700)
            if owner is not None:
                os.chown(home / FOLDER, owner, owner, follow_symlinks=False)
        self._reader, self._spool, self._note = MetricsReader(home, note), MetricsSpool(spool), note
        self._found: dict[str, EvenPoints] = {}
        self._look_at_ns = self._send_at_ns = 0
        self._is_over = False

    def look(self, now_ns: int) -> None:
        """Take up what was written since the last look, a second after that; what was found is put on its way every
        ten seconds, in one batch."""
        if self._is_over or now_ns < self._look_at_ns:
            return
        self._look_at_ns = now_ns + int(LOOK_S * NS)
        with self._until_failure():
            if self._spool.has_room:
                self._read(POINTS_PER_SEND)
            if self._found and now_ns >= self._send_at_ns:
                self._send_at_ns = now_ns + int(SEND_S * NS)
                self._send(POINTS_PER_SEND, POINTS_PER_BATCH)

    def finish(self) -> None:
        """Take up what is left: nothing writes any more."""
        with self._until_failure():
            self._send(POINTS_PER_SEND, POINTS_PER_BATCH)
            if self._is_over:
                return
            try:
                self._read_rest()
            finally:
                self._send(POINTS_AT_LAST)

    def _read_rest(self) -> None:
        end_s, left_bytes = time.monotonic() + LAST_S, LAST_BYTES
        while left_bytes > 0 and time.monotonic() < end_s:
            self._read(POINTS_AT_LAST)
            left_bytes -= LOOK_BYTES
            if not self._reader.has_more:
                return
        self._note("it left more metrics at its end than are read then: some are missing")

    def _read(self, most_per_name: int) -> None:
        for point in self._reader.read(LOOK_BYTES):
            if point.name in self._found:
                self._found[point.name].add(point)
            else:
                self._found[point.name] = EvenPoints(point, most_per_name)

    def _send(self, most_per_name: int, most: int | None = None) -> None:
        """Put what was found on its way, of each name at most so many, and at most `most` together; a full disk loses
        it."""
        each = most_per_name if most is None else min(most_per_name, most // max(len(self._found), 1))
        points = [point for found in self._found.values() for point in found.taken(each)]
        self._found = {}
        with suppress(OSError):
            self._spool.add(points)

    @contextmanager
    def _until_failure(self) -> Iterator[None]:
        """The folder is the work's: what no reader foresees costs it its metrics, and nothing else."""
        try:
            yield
        except Exception as error:
            self._is_over = True
            self._note(f"its metrics are not read any more: {type(error).__name__}: {str(error)[:200]}")


def metrics_environment(home: Path) -> dict[str, str]:
    """Where the work finds the folder for its metrics."""
    return {VARIABLE: str(home / FOLDER)}


def metrics_open(spec: SliceSpec, folder: SliceFolder, note: Callable[[str], None]) -> MetricsControl | None:
    """None for a session: it runs our own program."""
    return None if spec.is_session else MetricsControl(folder.work, spec.work_uid, folder.metrics, note)
