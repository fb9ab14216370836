"""Facts about processes, read from the kernel: descendants, CPU time, memory, identity."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_MIB = 1024 * 1024


def boot_id() -> str:
    """The kernel's id of this boot; a process id means nothing in another."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def stat_fields(pid: int) -> list[str] | None:
    """/proc/<pid>/stat from the third field on, or None where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    return text.rpartition(")")[2].split()


def start_ticks(pid: int) -> int:
    """When the process started, in clock ticks since boot; 0 where it is gone."""
    fields = stat_fields(pid)
    return int(fields[19]) if fields else 0


def is_alive(pid: int, started_ticks: int) -> bool:
    """Whether this very process (not a later one of the same number) still runs."""
    fields = stat_fields(pid) if pid > 0 else None
    return fields is not None and fields[0] not in ("Z", "X") and int(fields[19]) == started_ticks


def descendants(pid: int) -> list[int]:
    """All living children and children's children of a process."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    except OSError:
        return found
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time of these processes, of the children they have reaped, and of those this process reaped."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime + sum(_cpu_of(pid) for pid in pids)


def _cpu_of(pid: int) -> float:
    fields = stat_fields(pid)
    if fields is None:
        return 0.0
    reaped_s = (int(fields[13]) + int(fields[14])) / _TICKS
    try:
        # The clock of another process (clock_getcpuclockid): nanoseconds where stat has 10 ms.
        return reaped_s + time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return reaped_s + (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mib(pids: list[int], *, limit_mib: int) -> int:
    """Resident memory that is the processes' own: anonymous and shared, not the files of their programs.

    Whole MiB, rounded down. Pages shared among them are counted once, at some cost, only when that decides.
    """
    resident = sum(_sum_of(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:")) for pid in pids)
    if len(pids) > 1 and resident > limit_mib * _MIB:
        resident = sum(_sum_of(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for pid in pids)
    return resident // _MIB


def data_mib(pid: int) -> int:
    """Data memory as the kernel's data limit counts it, in MiB rounded up; 0 where the process is gone."""
    return -(-_sum_of(f"/proc/{pid}/status", ("VmData:",)) // _MIB)


def _sum_of(path: str, names: tuple[str, ...]) -> int:
    """The bytes on these lines of a kernel file; 0 where the process is gone."""
    try:
        lines = Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes; those already gone are passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def session_members(leader: int, leader_ticks: int, slice_uid: str) -> list[int]:
    """Processes of a work whose shim is gone: by its session or group, or by the slice in their environment.

    The kernel does not reuse a number while a session or group bears it; where the leader's number
    belongs to a later process, only the environment counts.
    """
    mark = f"WEIR_SLICE={slice_uid}".encode()
    has_kin = leader > 0 and start_ticks(leader) in (0, leader_ticks)
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        fields = stat_fields(pid)
        if pid == os.getpid() or not fields or fields[0] in ("Z", "X"):
            continue
        if (has_kin and str(leader) in (fields[2], fields[3])) or mark in _environment(pid):
            found.append(pid)
    return found


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
