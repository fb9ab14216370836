"""Control groups of version 1: one folder for memory, one for processor time, under the group we are in ourselves."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from node_agent.runtime.limits.cgroup import PERIOD_US, kills_read

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CgroupV1:
    """One work's groups. Every method raises OSError where the kernel refuses."""

    memory: Path
    cpu: Path

    @property
    def version(self) -> str:
        return "cgroup-v1"

    def limit_memory(self, memory_mib: int) -> None:
        """Hold memory, with swap where that is counted, to the MiB; past it the kernel kills a process in it."""
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
            if (self.memory / name).exists():
                (self.memory / name).write_text(str(memory_mib * _MIB))

    def limit_compute(self, percent: float, cores: int) -> None:
        """Hold CPU time to a share of `cores` cores."""
        self.limit_cores(percent * cores / 100)

    def memory_mib(self) -> int:
        """Memory charged now, in MiB."""
        return -(-int((self.memory / "memory.usage_in_bytes").read_text()) // _MIB)

    @property
    def name(self) -> str:
        """How a container runtime that we start names the group: below its own."""
        return f"weir/{self.memory.name}"

    def limit_cores(self, cores: float) -> None:
        """Hold processor time to so many cores."""
        (self.cpu / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.cpu / "cpu.cfs_quota_us").write_text(str(max(int(cores * PERIOD_US), 1000)))

    def enter(self) -> None:
        """Move the calling process in."""
        for path in (self.memory, self.cpu):
            (path / "cgroup.procs").write_text("0")

    def memory_kills(self) -> int:
        """How often the kernel has killed for memory here."""
        return kills_read(self.memory / "memory.oom_control")

    def remove(self) -> None:
        """Kill what is left and take the groups away; what resists is left to the next boot."""
        for path in (self.memory, self.cpu):
            with contextlib.suppress(OSError):
                for pid in (path / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            with contextlib.suppress(OSError):
                path.rmdir()


def cgroup_v1_make(name: str, own: Path = Path("/proc/self")) -> CgroupV1 | None:
    """Groups for memory and cpu under our own, in `weir/<name>`, or None where that is not allowed."""
    try:
        memory, cpu = (_group(own, controller) / "weir" / name for controller in ("memory", "cpu"))
        for path in (memory, cpu):
            path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    group = CgroupV1(memory, cpu)
    if os.access(memory / "memory.limit_in_bytes", os.W_OK) and os.access(cpu / "cpu.cfs_quota_us", os.W_OK):
        return group
    group.remove()
    return None


def _group(own: Path, controller: str) -> Path:
    """The folder of the group that we are in; in a container it may be told as the host sees it.

    Raises:
        FileNotFoundError: no such controller is mounted here.
    """
    mounts = (line.split() for line in (own / "mounts").read_text().splitlines())
    mount = next(
        (Path(line[1]) for line in mounts if line[2] == "cgroup" and controller in line[3].split(",")), None
    )
    if mount is None:
        raise FileNotFoundError(f"no control groups of version 1 for {controller}")
    for line in (own / "cgroup").read_text().splitlines():
        _number, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and (mount / path.lstrip("/")).is_dir():
            return mount / path.lstrip("/")
    return mount
