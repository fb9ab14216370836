"""The work of node agents outlives them on purpose, so stopping a portal stops it on its own."""

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from portal.local.bootstrap import ROOT

_TIMEOUT_S = 30


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
