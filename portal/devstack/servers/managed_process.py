"""One of the stack's processes: in a session of its own, with a log, known and stopped for certain."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from portal.devstack.bootstrap import ROOT
from portal.devstack.servers.privileges import child_setup
from portal.devstack.servers.processes import (
    STOP_SIGNALS,
    end,
    identity_read,
    identity_write,
    last_lines,
    wait_until,
)
from portal.private_files import log_rotate, private_log


@dataclass
class Child:
    """A process of ours.

    Attributes:
        name: also the name of its log and pid file.
        stop_timeout_s: how long it may take to leave after SIGTERM.
        fds: open files that it inherits.
        umask: what others may not do with the files it makes.
        is_recorded: whether a later stack could find it; a full disk has no room for that.
        status: how it ended last: an exit status, or a signal's number below zero.
    """

    name: str
    command: list[str]
    environment: Mapping[str, str]
    var_dir: Path
    stop_timeout_s: float = 30.0
    fds: tuple[int, ...] = ()
    umask: int = 0o077
    is_recorded: bool = False
    status: int | None = None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _is_asked: bool = field(default=False, repr=False)

    @property
    def log_path(self) -> Path:
        return self.var_dir / "log" / f"{self.name}.log"

    @property
    def pid_path(self) -> Path:
        return self.var_dir / "run" / f"{self.name}.pid"

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it; one left by an earlier stack that was killed is ended first.

        Raises:
            OSError: it cannot be started now, for example because the disk is full; nothing was started.
        """
        self.end_leftover()
        self.log_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        log_rotate(self.log_path)
        with private_log(self.log_path) as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=dict(self.environment),
                start_new_session=True,
                pass_fds=self.fds,
                umask=self.umask,
                preexec_fn=child_setup(),
            )
        self._is_asked = False
        self.record()

    def record(self) -> None:
        """Write down which process it is, where that can be done; it runs in any case."""
        if self._process is not None:
            try:
                identity_write(self.pid_path, self._process.pid)
            except OSError:
                self.is_recorded = False
            else:
                self.is_recorded = True

    def end_leftover(self) -> None:
        """End the process recorded by an earlier stack, if it still runs."""
        leftover = identity_read(self.pid_path)
        if leftover is not None:
            end(leftover, STOP_SIGNALS)
        self.pid_path.unlink(missing_ok=True)

    def has_died(self) -> bool:
        """Whether it was started and has ended by itself; its remaining children are ended with it."""
        if self._process is None:
            return False
        if not self._is_over():
            return False
        self._bury()
        return True

    def kill(self) -> None:
        """SIGKILL it with all its children, as a power cut would."""
        if self._process is not None:
            self._bury()

    def ask(self) -> None:
        """Ask it to leave, once."""
        if self._process is not None and not self._is_asked and not self._is_over():
            self._is_asked = True
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Ask it to leave, wait, and kill what is left of it."""
        if self._process is None:
            return
        self.ask()
        if not self._is_over():
            wait_until(self._is_over, timeout_s=self.stop_timeout_s)
        self._bury()

    def last_lines(self, count: int = 12) -> list[str]:
        """The end of its log."""
        return last_lines(self.log_path, count)

    def _is_over(self) -> bool:
        """Whether it ended; it stays a zombie, so that its pid and its group stay its own."""
        assert self._process is not None
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _bury(self) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.status = self._process.wait()
        self._process = None
        self.pid_path.unlink(missing_ok=True)

    def tend(self) -> None:
        """What has to be done now and then while it runs: its log is kept short, its record made up for."""
        log_rotate(self.log_path)
        if not self.is_recorded:
            self.record()
