"""Nodes of a run's own: real agents on the control node, which join, work and leave as any other."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from apps.conformance.harness.processes import outside_environment, process_start, processes_end

_STOP_WORK_S = 240


@dataclass
class Agent:
    """One node. `settings` are its variables without their prefix, for example `devices="1x1:1024"`."""

    name: str
    folder: Path
    url: str
    settings: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def plan(self) -> Path:
        """The file that says which devices the node has; it is read again while the agent runs."""
        return self.folder / "devices.json"

    def devices_set(self, count: int, *, memory_mib: int = 1024, cores: int = 1) -> None:
        """Put cards into the node or take them out."""
        draft = self.plan.with_suffix(".new")
        draft.write_text(json.dumps({"count": count, "memory_mib": memory_mib, "cores": cores}))
        draft.replace(self.plan)

    def start(self, join_token: str = "") -> None:
        """Start the agent; again after it was killed, without a token."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        state = self.folder / "state"
        state.mkdir(exist_ok=True, mode=0o755)
        settings = {
            "server": self.url,
            "name": self.name,
            "state_dir": str(state),
            "meter_s": "1",
            **self.settings,
        }
        if "devices" not in settings and "simulate" not in settings:
            self.plan.exists() or self.devices_set(1)
            settings["devices_file"] = str(self.plan)
        variables = {f"WEIR_AGENT_{key.upper()}": text for key, text in settings.items()}
        if join_token:
            variables["WEIR_AGENT_JOIN_TOKEN"] = join_token
        self._process = process_start(
            [sys.executable, "-m", "node_agent"],
            label=self.name,
            environment={**outside_environment(), **variables},
            log=self.folder / "agent.log",
        )

    def kill(self) -> None:
        """As a power cut would end the agent; what it runs lives on."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        """End the agent and all that it runs."""
        agent_end(self.name, self.folder)

    def has_joined(self) -> bool:
        return (self.folder / "state" / "credential.json").exists()

    def joined(self, patience_s: float = 20) -> bool:
        """Wait until the node has its credential; whether it came."""
        until_s = time.monotonic() + patience_s
        while not self.has_joined() and time.monotonic() < until_s:
            time.sleep(0.1)
        return self.has_joined()


def agent_end(name: str, folder: Path) -> None:
    """End an agent of a run's, also an earlier run's, and all work that it left running."""
    processes_end(name)
    state = folder / "state"
    if state.is_dir():
        subprocess.run(
            [sys.executable, "-m", "node_agent", "stop-work"],
            env={**outside_environment(), "WEIR_AGENT_STATE_DIR": str(state), "WEIR_AGENT_NAME": name},
            cwd=settings.BASE_DIR,
            check=False,
            capture_output=True,
            timeout=_STOP_WORK_S,
        )
