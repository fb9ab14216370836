"""Processes recorded in files, ended and waited for."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from apps.kernel.process_identity import ProcessIdentity


def identity_write(path: Path, pid: int) -> None:
    """Record a running process so that a later start can find it; the file is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    identity = ProcessIdentity.of(pid)
    if identity is not None:
        text_write(path, json.dumps(asdict(identity)))


def identity_read(path: Path) -> ProcessIdentity | None:
    """The process recorded in a file, or None where the file is missing or torn."""
    try:
        return ProcessIdentity(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def text_write(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Replace a small file in one step, readable by its owner only; where that fails the old one stays.

    Raises:
        OSError: the disk is full, or the folder is not ours.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def wait_until(condition: Callable[[], bool], *, timeout_s: float, every_s: float = 0.05) -> bool:
    """Whether the condition came true in time."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(every_s)
    return True


def end(identity: ProcessIdentity, signals: Iterable[tuple[int, float]]) -> bool:
    """Try each signal in turn, waiting so many seconds after it; whether the process is gone."""
    for signum, timeout_s in signals:
        identity.send(signum)
        if wait_until(lambda: not identity.is_alive(), timeout_s=timeout_s):
            return True
    return False


def last_lines(path: Path, count: int = 12) -> list[str]:
    """The end of a log file, without blank lines."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16_384))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()][-count:]


STOP_SIGNALS = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))
