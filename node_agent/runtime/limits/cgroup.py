"""Control groups of version 2: the kernel's own limits, where this machine lets us write them."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

PERIOD_US = 100_000
_MIB = 1024 * 1024
_WANTED = {"memory", "cpu"}


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One slice's group. Every method raises OSError where the kernel refuses."""

    path: Path

    @property
    def version(self) -> str:
        return "cgroup-v2"

    @property
    def name(self) -> str:
        """How a container runtime names the group: from the top."""
        return f"/weir/{self.path.name}"

    def limit_memory(self, memory_mib: int) -> None:
        """Hold memory, without swap, to the MiB; past it the kernel kills the whole group."""
        (self.path / "memory.max").write_text(str(memory_mib * _MIB))
        with contextlib.suppress(OSError):
            (self.path / "memory.swap.max").write_text("0")
        with contextlib.suppress(OSError):
            (self.path / "memory.oom.group").write_text("1")

    def limit_compute(self, percent: float, cores: int) -> None:
        """Hold CPU time to a share of `cores` cores."""
        self.limit_cores(percent * cores / 100)

    def limit_cores(self, cores: float) -> None:
        """Hold processor time to so many cores."""
        quota_us = max(int(cores * PERIOD_US), 1000)
        (self.path / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")

    def enter(self) -> None:
        """Move the calling process in."""
        (self.path / "cgroup.procs").write_text("0")

    def memory_mib(self) -> int:
        """Memory charged now, in MiB."""
        return -(-int((self.path / "memory.current").read_text()) // _MIB)

    def memory_kills(self) -> int:
        """How often the kernel has killed for memory here."""
        return kills_read(self.path / "memory.events")

    def remove(self) -> None:
        """Kill what is left and take the group away; what resists is left to the next boot."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        with contextlib.suppress(OSError):
            self.path.rmdir()


def kills_read(events: Path) -> int:
    """What a file of a control group says of how often the kernel has killed for memory."""
    try:
        lines = events.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def cgroup_make(name: str, mounts: Path = Path("/proc/self/mounts")) -> Cgroup | None:
    """A group with memory and cpu limits under `<mount>/weir`, or None where that is not allowed."""
    for mount in _mounts(mounts):
        try:
            return _make(mount, name)
        except OSError:
            continue
    return None


def _mounts(mounts: Path) -> list[Path]:
    lines = (line.split() for line in mounts.read_text().splitlines())
    return [Path(line[1]) for line in lines if len(line) > 2 and line[2] == "cgroup2"]


def _make(mount: Path, name: str) -> Cgroup:
    offered = set((mount / "cgroup.controllers").read_text().split())
    if not offered >= _WANTED:
        raise PermissionError(f"{mount} offers no memory and cpu controllers")
    parent = mount / "weir"
    parent.mkdir(exist_ok=True)
    for group in (mount, parent):
        control = group / "cgroup.subtree_control"
        if not set(control.read_text().split()) >= _WANTED:
            control.write_text("+memory +cpu")
    path = parent / name
    path.mkdir(exist_ok=True)
    if not os.access(path / "memory.max", os.W_OK):
        path.rmdir()
        raise PermissionError(f"{path} has no writable memory.max")
    return Cgroup(path)
