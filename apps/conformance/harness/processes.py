"""Processes that a run starts on the control node, known by a label in their environment and ended for certain."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
from django.conf import settings

LABEL = "WEIR_CONFORMANCE"


def process_start(
    command: list[str], *, label: str, environment: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """Start one in a session of its own, its output in a file."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            env={**environment, LABEL: label},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=settings.BASE_DIR,
        )


def processes_of(label: str) -> Iterator[psutil.Process]:
    """The processes that carry the label, whoever started them and whenever; not this one."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(LABEL) == label:
                yield process


def processes_end(label: str, *, patience_s: float = 8) -> None:
    """Ask them to leave, wait, and kill what stays."""
    for signal_them in (psutil.Process.terminate, psutil.Process.kill):
        found = list(processes_of(label))
        for process in found:
            with contextlib.suppress(psutil.Error):
                signal_them(process)
        if not psutil.wait_procs(found, timeout=patience_s)[1] and not found:
            return


def outside_environment() -> dict[str, str]:
    """What a process that is not the portal's gets: none of the server's secrets."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("WEIR_", "DJANGO_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    root = Path(settings.BASE_DIR)
    modules = f"{root}{os.pathsep}{root / 'client'}"
    return {**kept, "PATH": path, "PYTHONPATH": modules, "PYTHONUNBUFFERED": "1"}
