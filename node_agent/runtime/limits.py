"""The sandbox of the process runtime, put on between fork and exec.

What it holds: data memory, processes, core files, new privileges, capabilities, and the user where
the agent runs as root and another user could reach the interpreter.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

from node_agent.runtime.cgroup import Cgroup
from node_agent.runtime.records import SliceSpec

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP = 1, 36, 38, 24
_PROCESSES_OWN_USER, _PROCESSES_SHARED_USER = 512, 4096
_CAP_SYS_RESOURCE = 24
_MIB = 1024 * 1024


def _can_raise() -> bool:
    """Whether this process may raise a hard limit again: root in a container often may not."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return False
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> _CAP_SYS_RESOURCE & 1)


_CAN_RAISE = _can_raise()


def become_subreaper() -> None:
    """Orphans among the descendants come back to this process, so none is lost from sight."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def data_limit(pid: int, memory_mib: int | None) -> None:
    """Change the data memory limit of a running process (None: lift it); one already gone is passed over."""
    limit = resource.RLIM_INFINITY if memory_mib is None else memory_mib * _MIB
    with contextlib.suppress(ProcessLookupError, PermissionError):
        hard = limit if _CAN_RAISE else resource.prlimit(pid, resource.RLIMIT_DATA)[1]
        resource.prlimit(pid, resource.RLIMIT_DATA, (limit, hard))


def sandbox(spec: SliceSpec, group: Cgroup | None, *, data_limit_mib: int | None) -> Callable[[], None]:
    """What the child does before it becomes the work. Any failure in it fails the start."""
    shim_pid = os.getpid()

    def enter() -> None:
        if group is not None:
            group.enter()
        _limit_resources(spec)
        _drop_capabilities()
        if spec.work_uid is not None:
            os.setgroups([])
            os.setgid(spec.work_uid)
            os.setuid(spec.work_uid)
        os.umask(0o077)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        # After the change of user, which would undo it.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != shim_pid:
            os._exit(1)
        if data_limit_mib is not None:
            _own_data_limit(data_limit_mib)

    return enter


def _own_data_limit(memory_mib: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = memory_mib * _MIB if hard == resource.RLIM_INFINITY else min(memory_mib * _MIB, hard)
    # The work cannot raise a hard limit again. Where we could not either, growing needs the room.
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit if _CAN_RAISE else hard))


def _limit_resources(spec: SliceSpec) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    processes = _PROCESSES_SHARED_USER if spec.work_uid is None else _PROCESSES_OWN_USER
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = processes if hard == resource.RLIM_INFINITY else min(processes, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))


def _drop_capabilities() -> None:
    if os.geteuid() != 0:
        return
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        _prctl(_PR_CAPBSET_DROP, capability)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")


def user_can_work(uid: int, paths: list[Path]) -> bool:
    """Whether another user could execute or enter all these paths; tried in a child that becomes it."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os._exit(0 if all(os.access(path, os.X_OK) for path in paths) else 1)
        except OSError:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
