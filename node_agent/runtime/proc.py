"""Facts about processes, read from the kernel: descendants, CPU time, memory, identity.

The one place where the agent measures by /proc/<pid>. psutil serves the rest of the agent; here it does not: a shim
stands over each slice, and to load psutil takes it 28 ms and 4 MiB; psutil finds descendants by reading every process
of the machine (27.5 ms against 0.7 ms with 134 processes), rounds CPU time to 10 ms, tells a process by the time of
day, and does not tell apart what the limits count: anonymous and shared memory, and what deleted files hold.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

_TICKS = os.sysconf("SC_CLK_TCK")
_MIB = 1024 * 1024


def boot_id() -> str:
    """The kernel's id of this boot; a process id means nothing in another."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def host_memory_mib() -> int:
    """All of the machine's main memory, in MiB."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _MIB


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


def is_still(pid: int) -> bool:
    """Whether none of a process's threads runs, or will before it is told to go on."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    states = (stat_fields(int(thread)) for thread in threads)
    return all(fields is None or fields[0] in "TtZX" for fields in states)


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
    return usage.ru_utime + usage.ru_stime + cpu_seconds_of(pids)


def cpu_seconds_of(pids: Iterable[int]) -> float:
    """CPU time of these processes and of the children they have reaped."""
    return sum(_cpu_of(pid) for pid in pids)


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


class SharedMemory(Protocol):
    """Files in main memory that belong to these processes alone."""

    @property
    def shm_device(self) -> int:
        """The number of the device that they are on."""
        ...

    def shm_bytes(self) -> int:
        """How much they hold."""
        ...


def memory_mib(pids: list[int], *, limit_mib: int, shared: SharedMemory | None = None) -> int:
    """Resident memory that is the processes' own: anonymous and shared, not the files of their programs.

    Whole MiB, rounded down. What is shared among them, and what of `shared` they have mapped, is counted once, at
    some cost, only when that decides. Processes that end while they are looked at count as gone, not twice.
    """
    files = shared.shm_bytes() if shared is not None else 0
    resident = sum(_sum_of(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:")) for pid in pids)
    if (files or len(pids) > 1) and resident + files > limit_mib * _MIB:
        # In this order: what was mapped and is gone by the next line is left out. The other way round it would count
        # as resident and again among the files.
        if shared is not None and files:
            files -= min(files, sum(_mapped_of(pid, shared.shm_device) for pid in pids))
        resident = sum(_sum_of(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for pid in pids)
    return (resident + files) // _MIB


def _mapped_of(pid: int, device: int) -> int:
    """Bytes of a device's files that a process has mapped, its part of what it shares."""
    mark = f"{os.major(device):02x}:{os.minor(device):02x}"
    total, is_of_device = 0, False
    try:
        with Path(f"/proc/{pid}/smaps").open(errors="replace") as lines:
            for line in lines:
                fields = line.split()
                if not fields[0].endswith(":"):
                    is_of_device = fields[3] == mark
                elif is_of_device and fields[0] == "Pss:":
                    total += int(fields[1]) * 1024
    except OSError:
        return total
    return total


def inner_pid(pid: int) -> int:
    """The number by which a process knows itself in its own namespace."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return pid
    return next((int(line.split()[-1]) for line in lines if line.startswith("NSpid:")), pid)


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


def deleted_bytes(pids: Iterable[int], device: int) -> int:
    """What files of a disk hold that have no name any more and are open in these processes."""
    found: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    facts = os.stat(f"/proc/{pid}/fd/{name}")
                    if stat.S_ISREG(facts.st_mode) and not facts.st_nlink and facts.st_dev == device:
                        found[facts.st_ino] = facts.st_blocks * 512
    return sum(found.values())


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
