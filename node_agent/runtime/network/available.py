"""Which network work has on this node: found out by trying, told to the server and to operators."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from node_agent.protocol.fields import NetworkLevel
from node_agent.runtime.isolation.levels import Isolation
from node_agent.runtime.network import pasta

PROBE_S = 120


@dataclass(frozen=True, slots=True)
class Networking:
    """`level`: `private`: each work has a network of its own that leads outside; `none`: one of its own that leads
    nowhere; `node`: it has the node's; `refused`: no program runs here, for it would have the node's. `problem` is why
    it is not as it should be; `is_chosen`: the operator has said so."""

    level: NetworkLevel
    problem: str = ""
    is_chosen: bool = False

    @property
    def is_own(self) -> bool:
        return self.level in ("private", "none")

    @property
    def refusal(self) -> str:
        """Why programs cannot be run here; empty: they can."""
        if self.level != "refused":
            return ""
        return (
            f"programs are refused on this node, because they would share its network: {self.problem}; mend that, or "
            "leave WEIR_AGENT_WORK_NETWORK unset to let them"
        )

    @property
    def sentence(self) -> str:
        """What an operator is told at the agent's start."""
        if self.level == "private":
            return "each work has a network of its own: it reaches neither this node's ports nor other work's"
        if self.level == "none":
            return (
                "each work has a network of its own that leads nowhere, as WEIR_AGENT_WORK_NETWORK=none says"
            )
        if self.level == "refused":
            return self.refusal
        why = "as WEIR_AGENT_WORK_NETWORK=node says" if self.is_chosen else self.problem
        return f"work shares the network of this node and reaches its ports: {why}"


def network_find(choice: str, isolation: Isolation, home: Path, library: Path) -> Networking:
    """What the operator chose, where it can be had. `library` is what work imports from."""
    if choice == "node":
        return Networking("node", is_chosen=True)
    problem = ""
    if isolation.level != "namespaces":
        problem = "work has no namespaces of its own here"
    elif choice != "none":
        problem = pasta.problem()
    problem = problem or _tried("none" if choice == "none" else "private", home, library)
    if not problem:
        return Networking("none" if choice == "none" else "private", is_chosen=bool(choice))
    return Networking("refused" if choice else "node", problem[:400])


def _tried(level: str, home: Path, library: Path) -> str:
    """Why work cannot be given such a network; empty: it can."""
    command = [sys.executable, "-m", "node_agent.runtime.network.probe", level]
    env = {**os.environ, "PYTHONPATH": str(library)}
    try:
        done = subprocess.run(
            command, env=env, cwd=home, capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1] if lines else f"status {done.returncode}")
