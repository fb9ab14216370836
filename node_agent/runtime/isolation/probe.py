"""Runs our interpreter once as work would be run.

`python -m node_agent.runtime.isolation.probe LEVEL FOLDER LIBRARY UID`; the last line of its errors says what went
wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from node_agent.runtime.isolation.namespaces import Namespaces
from node_agent.runtime.isolation.work_environment import Surroundings, user_become


def main(level: str, folder: str, library: str, uid: str) -> int:
    """Exit code 0: it ran."""
    path, owner = Path(folder), int(uid) if uid else None
    path.chmod(0o711)
    around = Surroundings(path, path / "work", owner, Path(library), path.parent)
    (path / "work").mkdir(mode=0o700)
    try:
        around.make()
        if owner is not None:
            os.chown(path / "work", owner, owner)
        namespaces = Namespaces(around.view(shm_mib=1)) if level == "namespaces" else None
        return _run(around, namespaces, owner)
    except (OSError, subprocess.SubprocessError) as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        return 1


def _run(around: Surroundings, namespaces: Namespaces | None, owner: int | None) -> int:
    def enter() -> None:
        if namespaces is not None:
            namespaces.enter()
        if owner is not None:
            user_become(owner)
        os.chdir(around.work)

    with namespaces.children() if namespaces is not None else nullcontext():
        process = subprocess.Popen(
            [sys.executable, "-c", "import node_agent"],
            env={"PYTHONPATH": str(around.library)},
            stdin=subprocess.DEVNULL,
            preexec_fn=enter,
        )
    status = process.wait()
    if namespaces is not None:
        namespaces.end()
    if status:
        print(f"{sys.executable} ended with status {status}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
