"""The users that work runs as: one for each folder of work, of no two agents of a host the same.

All agents of a host share one table under a lock. A user is given again only once the folder it was taken for is gone,
no process runs as it, and nothing in the folders that everybody may write to belongs to it; and as late as possible.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from node_agent.files import read_json, write_atomic

USERS = 5_000
SHARED_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
_MAKING_S = 600.0
"""So long may pass between taking a user and making the folder it was taken for."""


class NoUserLeft(Exception):
    """Every user of the range is held."""


class WorkUsers:
    """The host's table in `folder`; its users begin with `base`. Methods raise OSError where it cannot be used."""

    def __init__(self, folder: Path, base: int) -> None:
        self._folder, self._base = folder, base

    def take(self, path: Path) -> int:
        """A user for the work whose files will lie in `path`; the one it has, if it has one. Raises NoUserLeft."""
        with self._table() as table:
            held: dict[str, dict[str, Any]] = table["held"]
            for uid, entry in list(held.items()):
                if entry["path"] == str(path):
                    return int(uid)
                if not os.path.lexists(entry["path"]) and time.time() - entry["at"] > _MAKING_S:
                    del held[uid]
            free = self._free({int(uid) for uid in held}, table["next"])
            held[str(free)] = {"path": str(path), "at": time.time()}
            table["next"] = free + 1
            return free

    def release(self, path: Path) -> None:
        """The folder is gone: its user is free."""
        with self._table() as table:
            table["held"] = {uid: entry for uid, entry in table["held"].items() if entry["path"] != str(path)}

    def _free(self, held: set[int], first: int) -> int:
        taken = held | set(_running()) | set(_owning())
        begin = max(first - self._base, 0)
        for step in range(USERS):
            uid = self._base + (begin + step) % USERS
            if uid not in taken and not _is_somebody(uid):
                return uid
        raise NoUserLeft(
            f"all users from {self._base} to {self._base + USERS - 1} are held: remove finished work, "
            "or set WEIR_AGENT_WORK_UID_BASE to another range"
        )

    @contextmanager
    def _table(self) -> Iterator[dict[str, Any]]:
        """The table, kept again when the block ends without an error."""
        self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        path = self._folder / "work-users.json"
        lock = os.open(self._folder / "work-users.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            table = {"next": self._base, "held": {}, **(read_json(path) or {})}
            before = json.dumps(table)
            yield table
            if json.dumps(table) != before:
                write_atomic(path, json.dumps(table).encode())
        finally:
            os.close(lock)


def _running() -> Iterator[int]:
    """The users that processes of this machine run as, may become again, or open files as (psutil leaves out that)."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            for line in Path(f"/proc/{name}/status").read_text(errors="replace").splitlines():
                if line.startswith("Uid:"):
                    yield from map(int, line.split()[1:])


def _owning() -> Iterator[int]:
    """The users to whom something in a folder that everybody may write to belongs."""
    for folder in SHARED_FOLDERS:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_uid


def _is_somebody(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
