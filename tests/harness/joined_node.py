"""A machine that joins a portal as a node by the line that the portal gives for it."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.devstack import bootstrap


@contextmanager
def joined_node(folder: Path, line: str, *, storage: Path) -> Iterator[None]:
    """Run `line` on this machine, with one device of 4 GiB and the portal's `storage` for volumes; its state and its
    log lie in `folder`."""
    state = folder / "agent"
    state.mkdir()
    more = {
        "WEIR_AGENT_STATE_DIR": str(state),
        "WEIR_AGENT_DEVICES": "1x1:4096",
        "WEIR_AGENT_STORAGE_DIR": str(storage),
    }
    words = shlex.split(line)
    given = dict(word.split("=", 1) for word in words if word.startswith("WEIR_AGENT_"))
    assert words[len(given) :] == ["python", "-m", "node_agent"]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **given, **more}
    command = [sys.executable, "-m", "node_agent"]
    with (folder / "agent.log").open("wb") as log:
        agent = subprocess.Popen(command, cwd=bootstrap.ROOT, env=environment, stdout=log, stderr=log)
        try:
            yield
        finally:
            agent.terminate()
            agent.wait(60)
            subprocess.run([*command, "stop-work"], cwd=bootstrap.ROOT, env=more, check=False)
