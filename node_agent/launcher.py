"""Starts the selected release of the agent, and goes back to the one before when it does not do (POOL-12.22).

It is always the installed code that launches, so no release can break it. A release that has proved itself
replaces this process; one on trial runs as a child until it has reached the server or its time is over.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from node_agent.config import AgentSettings
from node_agent.release import BUILTIN, RELEASE_ENV, ReleaseStore

RESTART = 75
ATTEMPTS_MAX = 3
_BASE_PATH_ENV = "WEIR_AGENT_BASE_PATH"
_PARENT_ENV = "WEIR_AGENT_LAUNCHED"
_LOOK_S = 0.05
_PR_SET_PDEATHSIG = 1

log = logging.getLogger("weir.agent")


def is_launched() -> bool:
    """Whether this process was started by a launcher, so that it is the agent itself."""
    return _PARENT_ENV in os.environ


class Launcher:
    """Runs until the agent ends; `run` returns the exit status."""

    def __init__(self, settings: AgentSettings) -> None:
        self._gate_s = settings.release_gate_s
        self._store = ReleaseStore(settings.home)
        self._child: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while True:
            version = self._sound()
            if not self._store.read().is_trial:
                _become(self._store, version)
            status = self._try(version)
            if status is not None:
                return status

    def _sound(self) -> str:
        """The version to start: the selected one if it is whole and its attempts are not used up."""
        state = self._store.read()
        if not self._store.is_whole(state.version):
            self._fall_back(f"release {state.version} is damaged on this node")
        elif state.is_trial and state.attempts >= ATTEMPTS_MAX:
            self._fall_back(f"it was started {ATTEMPTS_MAX} times without reaching the server")
        return self._store.read().version

    def _fall_back(self, problem: str) -> None:
        if self._store.read().is_trial:
            self._store.roll_back(problem)
        else:
            self._store.give_up(problem)

    def _try(self, version: str) -> int | None:
        """One attempt of the release on trial; its exit status, or None where another start is due."""
        self._store.attempt()
        command, environment = _command(), _environment(self._store, version)
        self._child = subprocess.Popen(command, env=environment, preexec_fn=_dies_with_parent())
        status = self._watch(time.monotonic() + self._gate_s)
        if self._is_stopped:
            return max(status or 0, 0)
        if status is None:
            self._store.roll_back(f"it did not reach the server within {self._gate_s} s")
            return None
        if self._store.read().is_trial and status != RESTART:
            self._store.roll_back(f"it ended with status {status} before it had reached the server")
            return None
        return None if status == RESTART else abs(status)

    def _watch(self, deadline_s: float) -> int | None:
        """The child's status once it has ended; None when its time was over first."""
        child = self._child
        assert child is not None
        is_trial = True
        while (status := child.poll()) is None:
            is_trial = is_trial and self._store.read().is_trial
            if is_trial and time.monotonic() > deadline_s and not self._is_stopped:
                child.kill()
                child.wait()
                return None
            time.sleep(_LOOK_S if is_trial else 10 * _LOOK_S)
        return status

    def _stop(self, number: int, _frame: object) -> None:
        self._is_stopped = True
        if self._child is None:
            sys.exit(0)
        self._child.send_signal(signal.SIGTERM)


def restart() -> int:
    """Leave this process to what was selected. Under a launcher the status says so to it."""
    if os.environ.get(_PARENT_ENV) == "trial" and os.getppid() > 1:
        return RESTART
    os.execve(sys.executable, _command(), _base_environment())


def _become(store: ReleaseStore, version: str) -> None:
    os.execve(sys.executable, _command(), _environment(store, version) | {_PARENT_ENV: "steady"})


def _command() -> list[str]:
    # -P: the folder one stands in must not come before the release.
    return [sys.executable, "-P", "-m", "node_agent"]


def _environment(store: ReleaseStore, version: str) -> dict[str, str]:
    base = _base_environment()
    environment = base | {_PARENT_ENV: "trial", _BASE_PATH_ENV: base["PYTHONPATH"]}
    if version == BUILTIN:
        return environment
    path = os.pathsep.join([str(store.path(version)), base["PYTHONPATH"]])
    return environment | {RELEASE_ENV: version, "PYTHONPATH": path}


def _base_environment() -> dict[str, str]:
    """The environment this node's agent was first started with."""
    ours = (RELEASE_ENV, _PARENT_ENV, _BASE_PATH_ENV)
    kept = {key: value for key, value in os.environ.items() if key not in ours}
    here = str(Path(__file__).resolve().parents[1])
    given = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    path = os.environ.get(_BASE_PATH_ENV) or os.pathsep.join([*given, here])
    return kept | {"PYTHONPATH": path}


def _dies_with_parent() -> Callable[[], None]:
    """An agent without its launcher would meet a second one in its folder."""
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
