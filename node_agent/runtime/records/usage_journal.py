"""The usage journal: one line per vouched interval, appended and fsynced before anybody may bill it.

Only the shim writes it and only forwards. A line torn by a power cut is not vouched for and is ignored.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from node_agent.runtime.records.meter import Span


@dataclass(frozen=True, slots=True)
class Segment:
    """A vouched interval with the share and memory held and what was measured in it."""

    seq: int
    start_at: str
    end_at: str
    compute_percent: int
    memory_mib: int
    cpu_seconds: float
    memory_peak_mib: int
    final: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.seq, int) or self.seq < 1:
            raise ValueError("seq must be 1 or more")
        if datetime.fromisoformat(self.end_at) <= datetime.fromisoformat(self.start_at):
            raise ValueError("an interval must end after it starts")


class JournalWriter:
    """Appends segments with rising seq."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.last_seq = 0

    def append(
        self,
        span: Span,
        *,
        compute_percent: int,
        memory_mib: int,
        cpu_seconds: float,
        memory_peak_mib: int,
        final: bool,
    ) -> None:
        """Durable on return. Raises OSError (a full disk): then the interval is not vouched for."""
        segment = Segment(
            self.last_seq + 1,
            span.start_at.isoformat(),
            span.end_at.isoformat(),
            compute_percent,
            memory_mib,
            round(max(cpu_seconds, 0.0), 6),
            memory_peak_mib,
            final,
        )
        line = json.dumps(asdict(segment), separators=(",", ":")) + "\n"
        size = os.fstat(self._fd).st_size
        try:
            if os.write(self._fd, line.encode()) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._fd)
        except OSError:
            os.ftruncate(self._fd, size)
            raise
        self.last_seq += 1


class JournalReader:
    """Follows a journal as it grows; keeps only what nobody has acknowledged yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rewind()

    def _rewind(self) -> None:
        self._offset = 0
        self._dropped = 0
        self._segments: list[Segment] = []
        self._is_torn = False

    @property
    def last_seq(self) -> int:
        return self._segments[-1].seq if self._segments else self._dropped

    def poll(self) -> None:
        """Read what was appended since. A line that is no next segment ends what is vouched for."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return
        for line in data.splitlines(keepends=True):
            segment = _parse(line)
            if self._is_torn or segment is None or segment.seq != self.last_seq + 1:
                self._is_torn = line.endswith(b"\n")
                return
            self._offset += len(line)
            self._segments.append(segment)

    def after(self, seq: int, limit: int) -> tuple[Segment, ...]:
        """The segments past an acknowledged `seq`. An acknowledgement gone back re-reads the file."""
        if seq < self._dropped:
            self._rewind()
            self.poll()
        if seq <= self.last_seq:
            self._segments = [segment for segment in self._segments if segment.seq > seq]
            self._dropped = max(self._dropped, seq)
        return tuple(self._segments[:limit]) if seq <= self.last_seq else ()

    def last_end_at(self) -> str | None:
        """When the last vouched interval ended, from the whole file."""
        reader = JournalReader(self._path)
        reader.poll()
        return reader._segments[-1].end_at if reader._segments else None


def _parse(line: bytes) -> Segment | None:
    if not line.endswith(b"\n"):
        return None
    try:
        return Segment(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
