"""Holds the volumes of one work to their sizes, as a process beside its shim: storage over a network can hang, and a
shim must not.

    python -m node_agent.runtime.volumes.watcher FOLDER…

Each volume's folder has a file, written by the portal, that tells its size in MiB; it is read anew every few seconds,
so a volume grows and shrinks while work writes. Where its file system has quotas of projects it is told the size. Else
what the volume holds is measured, the more often the faster its disk fills, and told once it is more. Each line that is
written is of one volume: its place among the folders, how it is held, and how much it holds and may hold in MiB. It
ends with who reads it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from node_agent.protocol.storage import VOLUME_SIZE
from node_agent.runtime.volumes import project_quota

LOOK_S, SIZE_S = 0.2, 2.0
CALM_S, BUSY_S = 30.0, 1.0
_MIB = 1024 * 1024
QUOTA, WATCHED, UNTOLD = "quota", "watched", "untold"


@dataclass(slots=True)
class Volume:
    """One volume of the work. `held_by`: how; `size_mib`: what it was last told, None: nothing."""

    folder: Path
    has_quotas: bool
    held_by: str = UNTOLD
    size_mib: int | None = None
    used_mib: int = 0
    free_bytes: int = 0
    size_read_s: float = float("-inf")
    began_s: float = float("-inf")
    ended_s: float = float("-inf")

    def look(self) -> bool:
        """Whether something is to be told of it."""
        now_s = time.monotonic()
        told = self.held_by, self.size_mib
        if now_s - self.size_read_s >= SIZE_S:
            self.size_read_s = now_s
            self._size_take(size_read(self.folder))
        if self.held_by == WATCHED and self._is_due(now_s):
            self._measure(now_s)
        return told != (self.held_by, self.size_mib) or self.is_over

    @property
    def is_over(self) -> bool:
        return self.held_by == WATCHED and self.size_mib is not None and self.used_mib > self.size_mib

    def _size_take(self, size_mib: int | None) -> None:
        if size_mib is None or size_mib == self.size_mib:
            return
        self.held_by = WATCHED
        if self.has_quotas:
            try:
                project_quota.hold(self.folder, size_mib)
                self.held_by = QUOTA
            except (OSError, RecursionError) as error:
                print(
                    f"a volume is measured, as its file system holds it to no quota: {error}", file=sys.stderr
                )
        self.size_mib, self.ended_s = size_mib, float("-inf")

    def _is_due(self, now_s: float) -> bool:
        """At once where the room that is left may be half gone, but never more than half of the time."""
        if now_s - self.ended_s <= self.ended_s - self.began_s:
            return False
        taken_bytes = self.free_bytes - _free_bytes(self.folder)
        left_bytes = ((self.size_mib or 0) - self.used_mib) * _MIB
        if taken_bytes > _MIB and taken_bytes > left_bytes // 2:
            return True
        wait_s = BUSY_S if abs(taken_bytes) > _MIB else CALM_S
        return now_s - self.ended_s > max(wait_s, 10 * (self.ended_s - self.began_s))

    def _measure(self, now_s: float) -> None:
        self.began_s, self.free_bytes = now_s, _free_bytes(self.folder)
        used_mib = _taken_mib(self.folder)
        if used_mib > (self.size_mib or 0):
            # Many small files take more of a disk than they hold, which is what was sold and what the portal shows.
            used_mib = min(used_mib, _held_mib(self.folder))
        self.used_mib, self.ended_s = used_mib, time.monotonic()


def size_read(folder: Path) -> int | None:
    """The size that the portal has told of a volume, in MiB; None where it told none."""
    try:
        size_mib = int((folder / VOLUME_SIZE).read_text())
    except (OSError, ValueError):
        return None
    return size_mib if 0 < size_mib < 2**40 else None


def _free_bytes(folder: Path) -> int:
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def _taken_mib(folder: Path) -> int:
    """What a volume takes of its disk; what cannot be read is passed over."""
    words = _said("du", "-skx", str(folder / "files")).split()
    return int(words[0]) // 1024 if words else 0


def _held_mib(folder: Path) -> int:
    """What its files hold: of one with holes what it takes, of one with several names once."""
    lines = _said("find", str(folder / "files"), "-xdev", "-type", "f", "-printf", "%i %s %b\n").splitlines()
    found = {one[0]: min(int(one[1]), int(one[2]) * 512) for one in map(str.split, lines) if len(one) == 3}
    return sum(found.values()) // _MIB


def _said(*command: str) -> str:
    """By a program that goes down as deep as folders are."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True, check=False
    ).stdout


def main(folders: list[str]) -> int:
    """Look at the volumes until nobody listens."""
    volumes = [Volume(Path(one), project_quota.is_offered(Path(one))) for one in folders]
    is_first, shim = True, os.getppid()
    try:
        while True:
            for place, one in enumerate(volumes):
                if one.look() or is_first:
                    print(place, one.held_by, one.used_mib, one.size_mib or 0, flush=True)
            is_first = False
            # Who listens may be gone without a word, and nothing be to tell.
            if os.getppid() != shim:
                return 0
            time.sleep(LOOK_S)
    except (BrokenPipeError, OSError):
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
