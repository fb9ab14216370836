"""How well this node can keep work apart from itself and from other work: found out by trying."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from node_agent.protocol.fields import IsolationLevel
from node_agent.runtime.isolation import seccomp

Level = Literal["namespaces", "user", "none"]
PROBE_S = 60


@dataclass(frozen=True, slots=True)
class Isolation:
    """`level`: `namespaces`: work sees its own files and processes only; `user`: it runs as a user of its own and sees
    what any user does; `none`: it would run as the agent does. `problem` is why it is not better. `has_user`: each work
    has a user of its own. `is_forced`: work runs even so, because an operator has said that it may. `filter_problem`:
    why the kernel's calls are not filtered for work; "": they are.
    """

    level: Level
    problem: str = ""
    has_user: bool = False
    is_forced: bool = False
    filter_problem: str = ""

    @property
    def word(self) -> IsolationLevel:
        """What the server is told."""
        if self.level != "none":
            return self.level
        return "unsafe" if self.is_forced else "refused"

    @property
    def refusal(self) -> str:
        """Why programs cannot be run here; empty: they can."""
        if self.level != "none" or self.is_forced:
            return ""
        return (
            f"programs are refused on this node, because nothing would keep them from what is the agent's: "
            f"{self.problem}; run the agent as root or allow user namespaces, "
            "or set WEIR_AGENT_ALLOW_ROOT_WORK=1 to run programs that you trust"
        )

    @property
    def sentence(self) -> str:
        """What an operator is told at the agent's start."""
        unfiltered = f"; no call of the kernel is refused to it: {self.filter_problem}"
        return self._level_sentence + (unfiltered if self.filter_problem and not self.refusal else "")

    @property
    def _level_sentence(self) -> str:
        if self.level == "namespaces":
            return "work runs walled off: it sees its own files and processes only"
        if self.level == "user":
            return f"work runs as users of its own and sees the node's files as any user does: {self.problem}"
        if self.is_forced:
            return (
                "work runs as the agent's own user, with nothing between them, because "
                f"WEIR_AGENT_ALLOW_ROOT_WORK=1 is set: {self.problem}"
            )
        return self.refusal


def isolation_find(home: Path, library: Path, *, uid_base: int, is_forced: bool) -> Isolation:
    """Try what keeps work apart on this node, the strictest first. `library` is what work imports from."""
    found = _level_find(home, library, uid_base, is_forced=is_forced)
    return replace(found, filter_problem=seccomp.problem())


def _level_find(home: Path, library: Path, uid_base: int, *, is_forced: bool) -> Isolation:
    is_root = os.geteuid() == 0
    if is_root and not uid_base:
        return Isolation(
            "none", "WEIR_AGENT_WORK_UID_BASE is 0, so work has no user of its own", is_forced=is_forced
        )
    uid = uid_base if is_root else None
    refused = _tried("namespaces", home, library, uid)
    if not refused:
        return Isolation("namespaces", has_user=is_root)
    problem = f"the kernel gives no namespaces here ({refused})"
    if not is_root:
        return Isolation("none", f"the agent is not root, and {problem}"[:400], is_forced=is_forced)
    user = _tried("user", home, library, uid)
    if not user:
        return Isolation("user", problem[:400], has_user=True)
    problem = f"{problem}, and another user cannot run {sys.executable} ({user})"
    return Isolation("none", problem[:400], is_forced=is_forced)


def _tried(level: Level, home: Path, library: Path, uid: int | None) -> str:
    """Why work cannot be run this way; empty: it can."""
    with tempfile.TemporaryDirectory(prefix="isolation.", dir=home) as folder:
        probe = [sys.executable, "-m", "node_agent.runtime.isolation.probe"]
        command = [*probe, level, folder, str(library), str(uid or "")]
        env = {**os.environ, "PYTHONPATH": str(library)}
        try:
            done = subprocess.run(
                command, env=env, cwd="/", capture_output=True, text=True, timeout=PROBE_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1] if lines else f"status {done.returncode}")
