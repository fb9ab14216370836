"""What the works of one device tell each other, so that together they stay within the real device.

One small file per work. It matters only where more was promised than there is (POOL-12.5): then compute
is shared in proportion among those that compute, and memory is refused once the device itself is full.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from node_agent.runtime import proc


@dataclass(frozen=True, slots=True)
class Entry:
    """One work on the device: its shim, what it was promised, what it uses."""

    pid: int
    start_ticks: int
    compute_percent: int
    memory_mib: int
    used_mib: int
    is_busy: int

    @classmethod
    def parse(cls, text: str) -> Entry | None:
        """None where the text is torn or no entry."""
        parts = text.split()
        if len(parts) != 6 or not all(part.isdigit() for part in parts):
            return None
        return cls(*map(int, parts))


class PeerUsage:
    """A work's own entry (`posted`, None: not yet), and the others'. Every method passes over trouble with the
    disk."""

    def __init__(self, folder: Path, slice_uid: str) -> None:
        self._folder, self._name = folder, slice_uid
        self._pid, self._ticks = os.getpid(), proc.start_ticks(os.getpid())
        self.posted: Entry | None = None

    def post(self, *, compute_percent: int, memory_mib: int, used_mib: int, is_busy: bool) -> None:
        """Replace the work's own entry."""
        entry = Entry(self._pid, self._ticks, compute_percent, memory_mib, used_mib, int(is_busy))
        if entry == self.posted:
            return
        part = self._folder / f".{self._name}"
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            part.write_text(" ".join(map(str, astuple(entry))))
            part.replace(self._folder / self._name)
            self.posted = entry

    def others(self) -> list[Entry]:
        """The entries of the other living works on the device."""
        return [entry for entry in self._entries() if proc.is_alive(entry.pid, entry.start_ticks)]

    def _entries(self) -> Iterable[Entry]:
        with contextlib.suppress(OSError):
            for name in os.listdir(self._folder):
                if name == self._name or name.startswith("."):
                    continue
                with contextlib.suppress(OSError):
                    entry = Entry.parse((self._folder / name).read_text(errors="replace"))
                    if entry is not None:
                        yield entry

    def close(self) -> None:
        """Take the work's own entry away."""
        with contextlib.suppress(OSError):
            (self._folder / self._name).unlink(missing_ok=True)


def compute_rate(compute_percent: int, others: Iterable[Entry]) -> float:
    """The share to hold now: less than promised only while those that compute were promised more than all."""
    promised = compute_percent + sum(entry.compute_percent for entry in others if entry.is_busy)
    return compute_percent * min(1.0, 100 / promised)


def memory_room(memory_mib: int, used_mib: int, device_mib: int, others: Iterable[Entry]) -> int | None:
    """MiB by which the work may still grow; None where its own limit is all that counts."""
    rows = list(others)
    if not device_mib or memory_mib + sum(entry.memory_mib for entry in rows) <= device_mib:
        return None
    free_mib = device_mib - used_mib - sum(entry.used_mib for entry in rows)
    return max(min(free_mib, memory_mib - used_mib), 0)
