"""The sandbox of the process runtime, put on between fork and exec.

What it holds: data memory, processes, core files, new privileges, capabilities, calls of the kernel, the user where the
agent runs as root, and namespaces of the work's own where the kernel gives namespaces.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

from node_agent.runtime.isolation import seccomp, syscalls
from node_agent.runtime.isolation.namespaces import Namespaces
from node_agent.runtime.isolation.work_environment import user_become
from node_agent.runtime.limits.cgroup import Cgroup
from node_agent.runtime.limits.cgroup_v1 import CgroupV1
from node_agent.runtime.records.slice_records import SliceSpec

_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
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
    syscalls.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def data_limits(limits_mib: dict[int, int | None], owner: int | None) -> None:
    """Change the data memory limits of running processes (None: lift it); one already gone is passed over.

    `owner` is whose processes they are: root without CAP_SYS_RESOURCE may change nobody's limits but its own.
    """
    if owner is None or _CAN_RAISE:
        _data_limits_set(limits_mib)
    elif limits_mib:
        _as_user(owner, lambda: _data_limits_set(limits_mib))


def _data_limits_set(limits_mib: dict[int, int | None]) -> None:
    for pid, memory_mib in limits_mib.items():
        limit = resource.RLIM_INFINITY if memory_mib is None else memory_mib * _MIB
        with contextlib.suppress(ProcessLookupError, PermissionError):
            hard = limit if _CAN_RAISE else resource.prlimit(pid, resource.RLIMIT_DATA)[1]
            resource.prlimit(pid, resource.RLIMIT_DATA, (limit, hard))


def _as_user(uid: int, act: Callable[[], None]) -> None:
    """Do it in a child that has become this user, outside the user's namespaces."""
    child = os.fork()
    if child == 0:
        try:
            user_become(uid)
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def sandbox(
    spec: SliceSpec,
    home: Path,
    group: Cgroup | CgroupV1 | None,
    namespaces: Namespaces | None,
    *,
    data_limit_mib: int | None,
    file_mib: int | None = None,
) -> Callable[[], None]:
    """What the child does before it becomes the work, in its folder `home`. Any failure in it fails the start.

    `file_mib`: no file of it may become larger.
    """
    calls = seccomp.program()
    # Seen from another process namespace, the shim has no number.
    shim_pid = os.getpid() if namespaces is None else 0

    def enter() -> None:
        if group is not None:
            group.enter()
        _limit_resources(spec, file_mib)
        if namespaces is not None:
            namespaces.enter()
        _drop_capabilities(has_namespaces=namespaces is not None)
        if spec.work_uid is not None:
            user_become(spec.work_uid)
        os.chdir(home)
        os.umask(0o077)
        syscalls.prctl(_PR_SET_NO_NEW_PRIVS, 1)
        # After the change of user, which would undo it.
        syscalls.die_with_parent(signal.SIGKILL)
        if os.getppid() != shim_pid:
            os._exit(1)
        if data_limit_mib is not None:
            _own_data_limit(data_limit_mib)
        seccomp.install(calls)

    return enter


def _own_data_limit(memory_mib: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = memory_mib * _MIB if hard == resource.RLIM_INFINITY else min(memory_mib * _MIB, hard)
    # The work cannot raise a hard limit again. Where we could not either, growing needs the room.
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit if _CAN_RAISE else hard))


def _limit_resources(spec: SliceSpec, file_mib: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if file_mib is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_mib * _MIB, file_mib * _MIB))
    processes = _PROCESSES_SHARED_USER if spec.work_uid is None else _PROCESSES_OWN_USER
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = processes if hard == resource.RLIM_INFINITY else min(processes, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))


def _drop_capabilities(*, has_namespaces: bool) -> None:
    """Give up every capability, of root and of an ordinary user in a user namespace of its own. Raises OSError."""
    if os.geteuid() != 0 and not has_namespaces:
        return
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        syscalls.bounding_capability_drop(capability)
