"""One work's namespaces: processes, file system and shared memory of its own, and a network where it has one.

Their first process is a copy of the shim: it builds what the work sees, then only takes back orphans. It dies with
the shim, and with it, by the kernel's hand, every process in there. The work itself stays a child of the shim.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, Protocol

from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.isolation.view import ROOT, View

_KINDS = {"mnt": sys_.CLONE_NEWNS, "ipc": sys_.CLONE_NEWIPC}
_READY = b"ready"
_KEPT_FD = 3


class OwnNetwork(Protocol):
    """A network that the processes of one work stand in."""

    # An open file by which it is entered.
    fd: int

    @property
    def is_in_own_users(self) -> bool:
        """Whether this process is root of a user namespace of its own since it has it."""
        ...


class Namespaces:
    """Raises OSError where the kernel refuses any of it; then nothing is left behind."""

    def __init__(self, view: View, network: OwnNetwork | None = None) -> None:
        """`network`: the one that its processes stand in; None: the node's."""
        self._network = network
        # Root of a user namespace may not go back to the process namespace it came from: its children stay in the new.
        self._can_return = os.geteuid() == 0
        if not self._can_return and (network is None or not network.is_in_own_users):
            user_namespace_become()
        self._fds = {"outside": os.open("/proc/self/ns/pid", os.O_RDONLY)}
        read_fd, write_fd = os.pipe()
        try:
            self.pid = self._fork(view, write_fd)
        finally:
            os.close(write_fd)
        try:
            self._await(read_fd)
        finally:
            os.close(read_fd)
        for kind in (*_KINDS, "pid"):
            self._fds[kind] = os.open(f"/proc/{self.pid}/ns/{kind}", os.O_RDONLY)
        self._places_open(f"/proc/{self.pid}/root{ROOT}")

    def _places_open(self, root: str) -> None:
        """What is looked at from outside, by the root that the work sees."""
        shm = os.open(f"{root}/dev/shm", os.O_RDONLY | os.O_DIRECTORY)
        # The folder of the work's own terminal system.
        terminals = os.open(f"{root}/dev/pts", os.O_RDONLY | os.O_DIRECTORY)
        self._shm, self.terminals = shm, terminals

    def _fork(self, view: View, write_fd: int) -> int:
        sys_.unshare(sys_.CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                _first_process(view, self._network, write_fd)
        finally:
            if self._can_return:
                sys_.setns(self._fds["outside"], sys_.CLONE_NEWPID)
        return pid

    def _await(self, read_fd: int) -> None:
        answer = os.read(read_fd, 4096)
        if answer == _READY:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        raise OSError(answer.decode(errors="replace") or "the first process of the namespaces ended")

    @contextlib.contextmanager
    def children(self) -> Iterator[None]:
        """What is started meanwhile is a process of these namespaces; it calls `enter` before all else."""
        if not self._can_return:
            yield
            return
        sys_.setns(self._fds["pid"], sys_.CLONE_NEWPID)
        try:
            yield
        finally:
            sys_.setns(self._fds["outside"], sys_.CLONE_NEWPID)

    def enter(self) -> None:
        """In the child: see what the work sees."""
        self._network_enter()
        for kind, flag in _KINDS.items():
            sys_.setns(self._fds[kind], flag)
        os.chroot(ROOT)
        os.chdir("/")

    def _network_enter(self) -> None:
        if self._network is not None:
            sys_.setns(self._network.fd, sys_.CLONE_NEWNET)

    def shm_bytes(self) -> int:
        """Held in the work's /dev/shm."""
        facts = os.fstatvfs(self._shm)
        return (facts.f_blocks - facts.f_bfree) * facts.f_frsize

    @property
    def shm_device(self) -> int:
        """The device number of the work's /dev/shm."""
        return os.fstat(self._shm).st_dev

    def end(self) -> None:
        """Kill every process in there at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def is_reaped(self) -> bool:
        """Whether the first process is gone; it is the last to go."""
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        except ChildProcessError:
            return True

    def close(self) -> None:
        """Let go of what was held open: with the last process its file systems go."""
        for fd in (*self._fds.values(), self._shm, self.terminals):
            os.close(fd)
        self._fds.clear()


def user_namespace_become() -> None:
    """A user namespace in which this process may do what root does, to nobody but itself."""
    uid, gid = os.geteuid(), os.getegid()
    sys_.unshare(sys_.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _first_process(view: View, network: OwnNetwork | None, write_fd: int) -> NoReturn:
    try:
        if network is not None:
            sys_.setns(network.fd, sys_.CLONE_NEWNET)
        _let_go_of_the_shims(write_fd)
        sys_.unshare(sys_.CLONE_NEWNS | sys_.CLONE_NEWIPC)
        view.build()
        sys_.capabilities_drop()
        os.write(_KEPT_FD, _READY)
        os.close(_KEPT_FD)
        _reap_for_ever()
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(_KEPT_FD, str(getattr(error, "strerror", None) or error).encode()[:2000])
    finally:
        os._exit(1)


def _let_go_of_the_shims(write_fd: int) -> None:
    """Of its signals and of its open files; `write_fd` is kept as the one that is known."""
    sys_.die_with_parent(signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.dup2(write_fd, _KEPT_FD)
    os.closerange(_KEPT_FD + 1, os.sysconf("SC_OPEN_MAX"))


def _reap_for_ever() -> NoReturn:
    while True:
        signal.sigwait({signal.SIGCHLD})
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
