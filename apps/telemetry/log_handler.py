"""What the server's own components warn of, brought into the pool's log (POOL-12.18).

A handler for Python's logging: whoever warns never waits for the database, and never fails by it.
"""

import logging
import os
import queue
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any

CAPACITY = 1000
_BATCH = 200
_PAUSE_S = 0.5
_RETRY_S = 5.0
_FLUSH_S = 1.0


def component_of(arguments: list[str]) -> str:
    """Which of the server's components was started with these arguments."""
    for name in ("worker", "beat"):
        if name in arguments[1:]:
            return name
    if arguments and arguments[0].endswith("scheduler.py"):
        return "scheduler"
    return "command" if arguments and arguments[0].endswith("manage.py") else "web"


class PoolLogHandler(logging.Handler):
    """Puts records on a bounded queue that a thread of its own writes down.

    A full queue drops records and says how many once there is room; what the writing thread itself logs is left
    out, so that a database that is down cannot log about itself for ever. Safe to be forked.
    """

    def __init__(self, level: int | str = logging.WARNING, capacity: int = CAPACITY) -> None:
        super().__init__(level)
        self.component = component_of(sys.argv)
        self.dropped = 0
        self._queue: queue.Queue[dict[str, Any]] = queue.Queue(capacity)
        self._capacity = capacity
        self._pid = 0
        self._writer: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record, or count it as dropped; never waits, never raises."""
        if self._writer is not None and record.thread == self._writer.ident:
            return
        try:
            self._writer_ensure()
            self._queue.put_nowait(self._line(record))
        except queue.Full:
            self.dropped += 1
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Give the writer a moment to finish; used when the process ends."""
        until_s = time.monotonic() + _FLUSH_S
        while self._queue.unfinished_tasks and self._pid == os.getpid() and time.monotonic() < until_s:
            time.sleep(0.02)

    def _writer_ensure(self) -> None:
        """A thread of this process: a fork has none of its parent's, and must not write its parent's lines."""
        if self._pid == os.getpid():
            return
        if self._pid:
            self._queue = queue.Queue(self._capacity)
        self._pid = os.getpid()
        self._writer = threading.Thread(target=self._write_all, name="pool-log", daemon=True)
        self._writer.start()

    def _line(self, record: logging.LogRecord) -> dict[str, Any]:
        text = f"{record.name}: {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            text += f" ({type(error).__name__}: {error})"
        return {
            "text": text,
            "level": record.levelname.lower(),
            "component": self.component,
            "at": datetime.fromtimestamp(record.created, UTC),
        }

    def _write_all(self) -> None:
        while True:
            lines = [self._queue.get()]
            while len(lines) < _BATCH:
                try:
                    lines.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            self._write(lines)
            for _line in lines:
                self._queue.task_done()
            time.sleep(_PAUSE_S)

    def _write(self, lines: list[dict[str, Any]]) -> None:
        """Write a batch down, waiting for the database where it is away."""
        # Logging is set up before models can be imported.
        from django.db import DatabaseError, connection

        from apps.kernel.actor import SYSTEM
        from apps.telemetry.services.logs import logs_add
        from apps.telemetry.types import LogLine

        if self.dropped:
            text = f"{self.dropped} lines were dropped: the log could not keep up"
            self.dropped = 0
            lines = [*lines, {"text": text, "level": "warning", "component": self.component}]
        for _attempt in range(3):
            try:
                logs_add(actor=SYSTEM, lines=[LogLine(**line) for line in lines])
                return
            except DatabaseError:
                time.sleep(_RETRY_S)
            finally:
                connection.close()
