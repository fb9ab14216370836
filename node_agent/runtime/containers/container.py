"""Work in a container: started by the container runtime, in process and message namespaces that the shim has made.

The program is a child of the shim, as every work is, and not the first process of its namespaces: it ends by a signal
as it would anywhere, and with the first process the kernel ends all the others.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from node_agent.files import write_json
from node_agent.runtime.containers.bundle import RUNTIME, Program, bundle_of
from node_agent.runtime.isolation import seccomp
from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.isolation.image_root import ImageRoot
from node_agent.runtime.isolation.namespaces import Namespaces, OwnNetwork
from node_agent.runtime.isolation.view import View

_START_S = 120


class ContainerNamespaces(Namespaces):
    """The namespaces of a container. Until its program has started they are those of the first process."""

    def __init__(self, view: View, folder: Path, network: OwnNetwork | None = None) -> None:
        """`folder`: where the runtime keeps what it knows of the container."""
        super().__init__(view, network)
        self._folder = folder
        self._is_entered = False
        self._ids: list[str] = []

    def start(self, program: Program, root: ImageRoot, output: int) -> int:
        """Start the program; its process. Raises OSError with the runtime's words where it cannot."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        # The one before is forgotten with the last: its control groups are this one's too.
        self._ids.append(f"work-{len(self._ids)}")
        told, pid_file = self._folder / "log.json", self._folder / "pid"
        write_json(self._folder / "config.json", bundle_of(program, root))
        command = [*self._runtime, "--log", str(told), "--log-format", "json", "run", "--detach",
                   "--pid-file", str(pid_file), "--bundle", str(self._folder), self._ids[-1]]  # fmt: skip
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_START_S,
                preexec_fn=lambda: _built(root, told),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise OSError(errno.ETIMEDOUT, f"the container was not there within {_START_S} s") from error
        except subprocess.SubprocessError as error:
            raise OSError(errno.EIO, _said(told) or f"its files cannot be put together: {error}") from error
        if done.returncode != 0:
            raise OSError(errno.ENOEXEC, _said(told) or f"{RUNTIME} ended with {done.returncode}")
        pid = int(pid_file.read_text())
        # It may have ended already: then nothing is run beside it.
        with contextlib.suppress(FileNotFoundError):
            self._move_in(pid)
        return pid

    def _move_in(self, pid: int) -> None:
        """From now on what is run beside the program, and looked at, is in the container."""
        mounts = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
        before = (self._fds["mnt"], self._shm, self.terminals)
        self._fds["mnt"] = mounts
        self._places_open(f"/proc/{pid}/root")
        for fd in before:
            os.close(fd)
        self._is_entered = True

    def enter(self) -> None:
        """In a child that runs beside the program: see what it sees."""
        if not self._is_entered:
            raise OSError(errno.ESRCH, "the container has not started")
        self._network_enter()
        sys_.setns(self._fds["ipc"], sys_.CLONE_NEWIPC)
        # The root of this namespace is the container's.
        sys_.setns(self._fds["mnt"], sys_.CLONE_NEWNS)

    def close(self) -> None:
        """Its processes have ended: the runtime forgets it, and lets go of its control groups."""
        for name in self._ids:
            subprocess.run([*self._runtime, "delete", "--force", name], capture_output=True, check=False)
        super().close()

    @property
    def _runtime(self) -> list[str]:
        return [RUNTIME, "--root", str(self._folder / "state")]


@dataclass(slots=True)
class Adopted:
    """The program of a container: a child that another process has started, and that came to us when that one ended."""

    pid: int
    returncode: int | None = None
    _look: Callable[[int, int], tuple[int, int]] = os.waitpid

    def poll(self) -> int | None:
        """Its exit code (negative: the signal that ended it); None while it runs."""
        if self.returncode is None:
            try:
                pid, status = self._look(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Its exit code, waited for `timeout` seconds. Raises TimeoutExpired."""
        end_s = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end_s:
                raise subprocess.TimeoutExpired(RUNTIME, timeout)
            time.sleep(0.005)
        return code


def _built(root: ImageRoot, log: Path) -> None:
    """In the child that becomes the runtime: what goes wrong is written where the runtime writes its own troubles."""
    try:
        root.build()
        seccomp.install(seccomp.projects_program())
    except OSError as error:
        log.write_text(json.dumps({"msg": error.strerror or str(error)}))
        raise


def _said(log: Path) -> str:
    """The last error that the runtime has written down."""
    try:
        lines = log.read_text().strip().splitlines()
        return str(json.loads(lines[-1]).get("msg", "")) if lines else ""
    except (OSError, ValueError):
        return ""
