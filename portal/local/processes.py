"""Processes told apart for certain: a pid alone is reused, a pid with its start time is not."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path


def _start_tick(pid: int) -> int | None:
    """The kernel's clock tick at which a process started, or None where none runs (a zombie does not run).

    Ticks count from boot, so that a clock that is set does not make a process look like another one.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, for its whole life: its pid and the clock tick at which it started."""

    pid: int
    start_tick: int

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity | None":
        """The process that has this pid now, or None."""
        start_tick = _start_tick(pid)
        return None if start_tick is None else cls(pid, start_tick)

    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        return _start_tick(self.pid) == self.start_tick

    def send(self, signum: int) -> None:
        """Send a signal to this process, and to no other that got its pid since."""
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signum)


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
    """Replace a small file in one step, readable by its owner only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)


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
