"""What one work keeps on the node's disk, watched: its folder, its temporary files, and files it has deleted and still
has open.

Measured by `du` beside the shim, so that a folder of any depth or size costs the shim nothing; more often the faster
the disk fills.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from node_agent.files import read_json
from node_agent.runtime import proc
from node_agent.runtime.records.slice_records import SliceSpec
from node_agent.runtime.shim import ending
from node_agent.runtime.shim.ending import End

CALM_S, BUSY_S = 30.0, 1.0
FREE_MAX_BYTES, FREE_PERCENT = 1024**3, 5
_MIB = 1024 * 1024


class DiskWatch:
    """Watches the work whose files lie in `folders`, on the disk of the first of them.

    `limit_mib` is what it may keep there. What is reserved for it is all its own; else it is never more than half of
    what was free at its start.
    """

    def __init__(
        self, folders: tuple[Path, ...], limit_mib: int, others: Path, *, is_reserved: bool = False
    ) -> None:
        """`others`: the folder of all slices of this agent, one of which gives way on a full disk: of those for which
        nothing is reserved the largest."""
        self._folders, self._others = folders, others
        self._device = os.stat(folders[0]).st_dev
        self._total_bytes, self._free_bytes = self._space()
        self._floor_bytes = min(FREE_MAX_BYTES, self._total_bytes * FREE_PERCENT // 100)
        room_mib = max(self._free_bytes - self._floor_bytes, 0) // 2 // _MIB
        self.is_reserved = is_reserved
        self.limit_mib = limit_mib if is_reserved else max(min(limit_mib, room_mib), 1)
        self.used_mib = 0
        # The process that measures, and the CPU seconds that all of them took: both are ours, not the work's.
        self.pid, self.cpu_s = 0, 0.0
        self._began_s = self._ended_s = float("-inf")

    @classmethod
    def of(cls, spec: SliceSpec, kept: tuple[Path, ...], others: Path) -> DiskWatch | None:
        """That of a slice, whose work keeps its files in the folders `kept`; None where it has no bound."""
        return cls(kept, spec.disk_mib, others, is_reserved=spec.has_scratch_disk) if spec.disk_mib else None

    def look(self, pids: Iterable[int]) -> End | None:
        """Measure where it is time to, and take in what was measured; why the work has to end, if it has to."""
        now_s = time.monotonic()
        if self.pid:
            self._take(pids, now_s)
        elif self._is_due(now_s):
            self._began_s, self._free_bytes = now_s, self._space()[1]
            with contextlib.suppress(OSError):
                self._measure()
        if self.used_mib > self.limit_mib:
            return ending.out_of_disk(self.limit_mib)
        return ending.disk_full() if self._must_give_way() else None

    def _must_give_way(self) -> bool:
        """Whether the disk is nearly full and it is this work of the agent that makes room: the one that keeps the most
        on it, of those that keep anything for which nothing is reserved, where there are such."""
        if not self.used_mib or self._space()[1] >= self._floor_bytes:
            return False
        states = [read_json(path) or {} for path in self._others.glob("*/state.json")]
        return (not self.is_reserved, self.used_mib) >= max(map(_weight, states), default=(False, 0))

    def _is_due(self, now_s: float) -> bool:
        """Often while the disk fills, hardly ever while nothing changes; at once where the rest of the limit, or of the
        disk, may be half gone."""
        free_bytes = self._space()[1]
        taken_bytes = self._free_bytes - free_bytes
        left_bytes = min((self.limit_mib - self.used_mib) * _MIB, self._free_bytes - self._floor_bytes)
        if taken_bytes > _MIB and taken_bytes > left_bytes // 2:
            return True
        wait_s = BUSY_S if abs(taken_bytes) > _MIB else CALM_S
        return now_s - self._ended_s > max(wait_s, 10 * (self._ended_s - self._began_s))

    def _measure(self) -> None:
        self._output, write_fd = os.pipe()
        try:
            self.pid = os.posix_spawnp(
                "du",
                ["du", "-skx", *(str(folder) for folder in self._folders if folder.is_dir())],
                {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, write_fd, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
            )
        finally:
            os.close(write_fd)
            if not self.pid:
                os.close(self._output)

    def _take(self, pids: Iterable[int], now_s: float) -> None:
        pid, _status, usage = os.wait4(self.pid, os.WNOHANG)
        if not pid:
            return
        self.pid, self._ended_s = 0, now_s
        self.cpu_s += usage.ru_utime + usage.ru_stime
        with os.fdopen(self._output, "rb") as output:
            sizes = [int(line.split()[0]) for line in output.read().splitlines() if line.split()[:1]]
        self.used_mib = sum(sizes) // 1024 + proc.deleted_bytes(pids, self._device) // _MIB

    def _space(self) -> tuple[int, int]:
        """Bytes of the whole disk, and those that are free; a disk that ran out of names for files has none."""
        facts = os.statvfs(self._folders[0])
        is_out = facts.f_files and facts.f_favail * 100 < facts.f_files
        return facts.f_blocks * facts.f_frsize, 0 if is_out else facts.f_bavail * facts.f_frsize


def _weight(state: dict[str, Any]) -> tuple[bool, int]:
    """How soon a work makes room, by what its shim last wrote: not reserved before reserved, then the largest."""
    used = state.get("disk_used_mib")
    if state.get("state") != "running" or not isinstance(used, int) or not used:
        return False, 0
    return not state.get("has_scratch_disk"), used
