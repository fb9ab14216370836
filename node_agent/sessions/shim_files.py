"""The files between a worker and its shim: session.json and notice.json come, status.json goes."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

from node_agent.files import read_json, write_json
from node_agent.sessions.connection.listener import Listener
from node_agent.sessions.connection.move import Target
from node_agent.sessions.execution.limits import limits_set
from node_agent.sessions.worker_loop import Service
from node_agent.turn import Turn
from weir_wire.wire import Kind

_LOOK_S = 0.05
_STATUS_S = 0.5
# What changes all the time: written at leisure, for each write takes the interpreter from the session.
_RESTLESS = frozenset({"busy_s", "idle_s", "operators", "memory_mib"})
_MIB = 1 << 20


class Watch:
    """Looks at the files many times a second, in a thread of its own, while the session computes."""

    def __init__(self, folder: Path, service: Service, listener: Listener) -> None:
        self._folder, self._service, self._listener = folder, service, listener
        self._seen: dict[str, tuple[int, int]] = {}
        self._written: dict[str, Any] = {}
        self._written_at = 0.0
        self._idle_timeout_s: float | None = None
        self._told: set[str] = set()
        self._notice: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin; the first look and status are done on return."""
        self.look()
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def look(self) -> None:
        """One look at everything."""
        with self._lock:
            self._session_read()
            self._notice_read()
            self._idle_tell()
            self._status_write()

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_S)
            self.look()

    def _changed(self, name: str) -> dict[str, Any] | None:
        """The file's object when it is new since the last look."""
        try:
            facts = (self._folder / name).stat()
        except OSError:
            return None
        mark = (facts.st_mtime_ns, facts.st_ino)
        if self._seen.get(name) == mark:
            return None
        found = read_json(self._folder / name)
        if found is not None:
            self._seen[name] = mark
        return found

    def _session_read(self) -> None:
        settings = self._changed("session.json")
        if settings is None:
            return
        service = self._service
        with contextlib.suppress(KeyError, TypeError, ValueError):
            service.detach_s = float(settings.get("detach_s") or service.detach_s)
            idle_s = settings.get("idle_timeout_s")
            self._idle_timeout_s = service.idle_timeout_s = None if idle_s is None else float(idle_s)
            self._share_set(int(settings["memory_mib"]), int(settings["compute_percent"]))
            service.session.clock.turn_set(Turn.of(settings.get("turn")))
        service.move_to(Target.of(settings.get("move_to")))

    def _share_set(self, quota_mib: int, compute_percent: int) -> None:
        session = self._service.session
        if (quota_mib, compute_percent) != (session.quota_mib, session.compute_percent):
            limits_set(session.torch_device, quota_mib)
            session.share_set(quota_mib=quota_mib, compute_percent=compute_percent)
            self._service.tell(Kind.SHARE, quota_mib=quota_mib, compute_percent=compute_percent)

    def _notice_read(self) -> None:
        self._notice = self._changed("notice.json") or self._notice
        if self._notice is not None:
            notice = self._notice
            self._tell(str(notice.get("reason_code", "")), str(notice.get("text", "")))

    def _idle_tell(self) -> None:
        limit_s = self._idle_timeout_s
        if limit_s is not None and self._service.idle_s >= limit_s:
            self._tell("idle_timeout", f"the session used no device for {limit_s:g} s and is released")

    def _tell(self, code: str, text: str) -> None:
        """Once each; a client that is away is told when it is back."""
        if code not in self._told and self._service.tell(Kind.NOTICE, code=code, text=text):
            self._told.add(code)

    def _status_write(self) -> None:
        status, now = self._status(), time.monotonic()
        steady = {key: value for key, value in status.items() if key not in _RESTLESS}
        if steady == self._written and now - self._written_at < _STATUS_S:
            return
        # A full disk must not end the session.
        with contextlib.suppress(OSError):
            write_json(self._folder / "status.json", status, durable=False)
            self._written, self._written_at = steady, now

    def _status(self) -> dict[str, Any]:
        service = self._service
        session = service.session
        return {
            "port": self._listener.port,
            "fingerprint": self._listener.fingerprint,
            "attached": service.attached,
            "transport": service.transport_name,
            "bandwidth_mib_s": service.bandwidth_mib_s,
            "latency_us": service.latency_us,
            "operators": session.operators,
            "busy_s": round(session.clock.busy_s, 4),
            "memory_mib": -(-session.memory.used_bytes // _MIB),
            "mounted": session.operators > 0 or bool(session.table.rows),
            "idle_s": round(service.idle_s, 3),
            "move": service.move,
            "move_reason": service.move_reason[:500],
            "pause_ms": service.pause_ms,
            "end": service.end,
        }
