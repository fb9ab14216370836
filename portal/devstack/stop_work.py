"""The work of node agents outlives them on purpose, so stopping a portal stops it on its own."""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from portal.devstack.bootstrap import ROOT

_TIMEOUT_S = 30


def isolation_ask(environment: Mapping[str, str]) -> str:
    """How an agent with this environment keeps work apart on this machine, in a sentence; empty: it does not say."""
    with suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            [sys.executable, "-m", "node_agent", "isolation"],
            check=False,
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=_TIMEOUT_S,
        )
        return done.stdout.strip()
    return ""


def work_stop(state_dir: Path, environment: Mapping[str, str]) -> None:
    """Stop whatever runs in the slices of one agent, recorded in its state folder, and nothing else."""
    if not state_dir.is_dir() or not any(state_dir.iterdir()):
        return
    # One agent's work that will not end must not keep the rest of the portal from stopping.
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "node_agent", "stop-work"],
            check=False,
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
