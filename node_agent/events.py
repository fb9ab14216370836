"""The agent's own log on its way to the portal (POOL-12.18): bounded, numbered, kept until it is stored there."""

from __future__ import annotations

import logging
import threading
from collections import deque
from datetime import UTC, datetime

from node_agent.protocol.fields import EVENTS_PER_SYNC
from node_agent.protocol.sync import EventReport

KEPT = 5_000
SENTENCE = 500
_LEVELS = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
)


class EventLog(logging.Handler):
    """Numbers log records from 1. Where the portal stores none for long, new lines are dropped and counted.

    A record's `slice_uid` (by `extra`) says which slice it is about; its logger's last name the component.
    """

    def __init__(self, kept: int = KEPT) -> None:
        super().__init__()
        self._kept = kept
        self._rows: deque[EventReport] = deque()
        self._seq = self._dropped = 0
        self._guard = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line in; never raises."""
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                text = f"{text}: {record.exc_info[1]!r}"
            with self._guard:
                self._take(record, text)
        except Exception:  # what cannot be told must not stop what tells
            self.handleError(record)

    def pending(self, limit: int = EVENTS_PER_SYNC) -> tuple[EventReport, ...]:
        """The oldest lines that are not stored yet."""
        with self._guard:
            return tuple(row for row, _ in zip(self._rows, range(limit), strict=False))

    def ack(self, seq: int) -> bool:
        """All up to `seq` are stored; whether that was news and more is waiting."""
        with self._guard:
            before = len(self._rows)
            while self._rows and self._rows[0].seq <= seq:
                self._rows.popleft()
            return len(self._rows) < before and bool(self._rows)

    def _take(self, record: logging.LogRecord, text: str) -> None:
        if len(self._rows) >= self._kept:
            self._dropped += 1
            return
        if self._dropped:
            missing, self._dropped = self._dropped, 0
            self._add(
                record, "warning", f"{missing} lines of the agent's log were dropped: the portal was away", ""
            )
        self._add(record, _level(record.levelno), text, str(getattr(record, "slice_uid", "")))

    def _add(self, record: logging.LogRecord, level: str, text: str, slice_uid: str) -> None:
        self._seq += 1
        row = {
            "seq": self._seq,
            "at": datetime.fromtimestamp(record.created, UTC),
            "level": level,
            "component": record.name.rpartition(".")[2][:64],
            "slice_uid": slice_uid or None,
            "text": text.replace("\0", "\ufffd")[:SENTENCE],
        }
        self._rows.append(EventReport.model_validate(row))


def _level(number: int) -> str:
    return next((name for least, name in _LEVELS if number >= least), "debug")
