"""The agent's real runtime over one card, without portal and loop: slices made, started and looked at."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device
from node_agent.protocol.slices import DesiredSlice, SliceReport
from node_agent.remote_config import Configured
from node_agent.runtime.process_runtime import ProcessRuntime

TOKEN = "a-token-of-sixteen-characters-or-more"
# What a program imports and makes on the card before it begins.
START_S = 120.0


class Node:
    """Its folder lies where a work's own user may pass through."""

    def __init__(self, card: Device, **settings: Any) -> None:
        above = "/var/lib" if os.geteuid() == 0 else None
        self.home = Path(tempfile.mkdtemp(prefix="weir-card.", dir=above))
        self.home.chmod(0o711)
        self.card = card
        own = {
            "state_dir": self.home,
            "users_dir": self.home / "users",
            "server": "http://127.0.0.1:9",
            "meter_s": 1,
        }
        self.settings = AgentSettings(**(own | settings))
        self.runtime = ProcessRuntime(Configured(self.settings))

    def program(self, uid: str, code: str, *, percent: int = 100, memory_mib: int = 4096, **more: Any) -> str:
        """Start Python code in a slice of the card; its name."""
        work = {"kind": "program", "argv": ["python", "-c", code], "grace_s": 1}
        return self._start(uid, percent, memory_mib, work, **more)

    def session(self, uid: str, *, percent: int = 100, memory_mib: int = 4096, **more: Any) -> str:
        """Start a session on a slice of the card; its name."""
        return self._start(uid, percent, memory_mib, {"kind": "session"}, session={"token": TOKEN}, **more)

    def _start(self, uid: str, percent: int, memory_mib: int, work: dict[str, Any], **more: Any) -> str:
        wanted = {
            "slice_uid": uid,
            "generation": 1,
            "device_uid": self.card.uid,
            "compute_percent": percent,
            "memory_mib": memory_mib,
            "state": "running",
            "work": work,
            **more,
        }
        self.runtime.make(DesiredSlice.model_validate(wanted), self.card)
        self.runtime.start(uid)
        return uid

    def report(self, uid: str) -> SliceReport | None:
        return next((one.report for one in self.runtime.list() if one.slice_uid == uid), None)

    def until(
        self, uid: str, is_so: Callable[[SliceReport], Any], wait_s: float = START_S, *, may_end: bool = False
    ) -> SliceReport:
        """The first report for which it is so. Raises AssertionError with all that is known."""
        deadline = time.monotonic() + wait_s
        while True:
            found = self.report(uid)
            if found is not None and is_so(found):
                return found
            is_over = found is not None and found.state in ("exited", "failed", "refused") and not may_end
            if is_over or time.monotonic() > deadline:
                raise AssertionError(f"{found}\n{self.log(uid)[-3000:]}\n{self._errors(uid)}")
            time.sleep(0.05)

    def ended(self, uid: str, wait_s: float = START_S) -> SliceReport:
        """Its report once it has ended."""
        return self.until(uid, lambda found: found.ended_at is not None, wait_s, may_end=True)

    def log(self, uid: str) -> str:
        """All it has written."""
        pieces, at = [], 0
        while (chunk := self.runtime.log(uid, at)) is not None:
            pieces.append(chunk.text)
            at += len(chunk.text.encode())
        return "".join(pieces)

    def _errors(self, uid: str) -> str:
        path = self.home / "slices" / uid / "shim.err"
        return path.read_text() if path.exists() else ""

    def close(self) -> None:
        self.runtime.stop_all()
        shutil.rmtree(self.home, ignore_errors=True)
