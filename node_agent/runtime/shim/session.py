"""The shim's side of a session: what its worker is told and what it tells, by three files in its folder.

The folder belongs to the worker's user, so nothing in it is trusted: no link is followed, no file is
waited for, and only what has the right kind is taken over.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from pathlib import Path
from typing import Any

from node_agent.runtime.isolation.untrusted_files import Seen, file_look, file_put, seen_of
from node_agent.runtime.records.meter import NS
from node_agent.runtime.records.slice_records import SliceSpec
from node_agent.turn import Turn

READ_BYTES = 64 * 1024
_AGE_MAX_S = 2.0
_NUMBER = (int, float)
_REPORTED: dict[str, type | tuple[type, ...]] = {
    "port": int,
    "fingerprint": str,
    "attached": bool,
    "transport": str,
    "bandwidth_mib_s": _NUMBER,
    "latency_us": _NUMBER,
    "operators": int,
    "move": str,
    "move_reason": str,
    "pause_ms": _NUMBER,
}
_URGENT = ("port", "attached", "transport", "move", "move_reason")


class SessionControl:
    """Tells a session's worker and hears it. `last_use_ns` is the last device call, on the shim's clock."""

    def __init__(self, folder: Path, spec: SliceSpec, now_ns: int) -> None:
        self._folder, self._spec = folder, spec
        self._told: dict[str, Any] = {}
        self._seen: Seen | None = None
        self._urgent: tuple[Any, ...] = ()
        self.status: dict[str, Any] = {}
        self.last_use_ns = now_ns

    @property
    def is_ready(self) -> bool:
        """Whether the worker listens."""
        return self._typed("port", int) is not None

    @property
    def memory_mib(self) -> int:
        """Device memory of the session as its worker accounts it."""
        return math.ceil(min(max(self._typed("memory_mib", _NUMBER) or 0, 0), 1e9))

    @property
    def is_mounted(self) -> bool:
        return self.status.get("mounted") is True

    @property
    def busy_s(self) -> float:
        """Seconds of the device used, where the worker times them (on cards)."""
        return float(self._typed("busy_s", _NUMBER) or 0.0)

    @property
    def end(self) -> str:
        """Why the worker asks that the slice end, as a word; empty: it goes on."""
        return str(self._typed("end", str) or "")[:200].replace("\0", "")

    def tell(
        self, session: dict[str, Any], compute_percent: int, memory_mib: int, turn: Turn | None = None
    ) -> None:
        """Replace session.json if anything in it has changed; `turn`: when it may run on a card that others have too.
        Raises OSError."""
        spec = self._spec
        content = {
            "slice_uid": spec.slice_uid,
            "device": spec.torch_device,
            "compute_percent": compute_percent,
            "memory_mib": memory_mib,
            "is_paced": not spec.is_throttled,
            "turn": None if turn is None else turn.to_json(),
            "token": session["token"],
            "ticket": session.get("ticket"),
            "move_to": session.get("move_to"),
            "host": spec.bind,
            "detach_s": spec.detach_s,
            "idle_timeout_s": spec.idle_timeout_s,
        }
        if content != self._told:
            self._write("session.json", content)
            self._told = content

    def notify(self, reason_code: str, text: str) -> None:
        """Say why the session is about to end, for its client; a full disk costs only the sentence."""
        with contextlib.suppress(OSError):
            self._write("notice.json", {"reason_code": reason_code, "text": text})

    def look(self, now_ns: int) -> bool:
        """Read status.json if it is new; whether something the server should hear at once has changed."""
        found = self._read()
        if found is None:
            return False
        self.status, age_s = found
        idle_s = self._typed("idle_s", _NUMBER)
        if idle_s is not None and idle_s >= 0:
            used_ns = now_ns - int((min(idle_s, 1e9) + age_s) * NS)
            self.last_use_ns = max(self.last_use_ns, used_ns)
        urgent = (*map(self.status.get, _URGENT), self.is_mounted, self.end)
        is_news, self._urgent = urgent != self._urgent, urgent
        return is_news

    def report(self, now_ns: int) -> dict[str, Any]:
        """What the server is told, by the names of its report."""
        known = {name: self._typed(name, kind) for name, kind in _REPORTED.items()}
        told = {name: value for name, value in known.items() if value is not None}
        return {"host": self._spec.host, "idle_s": max(now_ns - self.last_use_ns, 0) / NS, **told}

    def _typed(self, name: str, kind: type | tuple[type, ...]) -> Any:
        value = self.status.get(name)
        is_right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        return value if is_right else None

    def _write(self, name: str, content: dict[str, Any]) -> None:
        file_put(self._folder, name, json.dumps(content).encode(), self._spec.work_uid)

    def _read(self) -> tuple[dict[str, Any], float] | None:
        """The status and its age in seconds; None where there is nothing new that makes sense."""
        found = file_look(self._folder / "status.json", self._seen, READ_BYTES)
        if found is None:
            return None
        data, facts = found
        self._seen = seen_of(facts)
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            return None
        age_s = min(max(time.time() - facts.st_mtime, 0.0), _AGE_MAX_S)
        return (content, age_s) if isinstance(content, dict) else None
