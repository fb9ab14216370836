"""What was installed on this node, each set of packages once: a folder by its key, which nobody writes to any more.

A folder is there whole or not at all. Who uses one holds a lock on it, shared; who installs or removes it, alone: the
kernel lets go of a lock with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from node_agent.files import read_json, tree_remove, write_json

FILES, _FACTS = "files", "packages.json"
_MIB = 1024 * 1024


class NoRoom(Exception):
    """The set is too large for the room that there is, or the others are all in use; says which."""

    def __init__(self, sentence: str, *, is_lasting: bool) -> None:
        super().__init__(sentence)
        self.is_lasting = is_lasting


class PackageStore:
    """The folder `home`, which keeps `most_mib` at the most."""

    def __init__(self, home: Path, most_mib: int) -> None:
        self._home, self._most_mib = home, most_mib
        home.mkdir(mode=0o700, parents=True, exist_ok=True)

    def files(self, key: str) -> Path:
        """Where the files of a set are, or are to be."""
        return self._home / key / FILES

    def is_there(self, key: str) -> bool:
        """Whether a set is installed."""
        return (self._home / key / _FACTS).exists()

    def use(self, key: str) -> Hold | None:
        """A hold on a set that is there, as long as it is not let go of; None where it is not, or not to be had now."""
        hold = Hold.take(self._lock_of(key), fcntl.LOCK_SH)
        if hold is None:
            return None
        if not self.is_there(key):
            hold.let_go()
            return None
        with suppress(OSError):
            os.utime(self._home / key)
        return hold

    def install(self, key: str) -> Hold | None:
        """The right to install a set that is not there; None where another has it, or it is there."""
        hold = Hold.take(self._lock_of(key), fcntl.LOCK_EX)
        if hold is not None and self.is_there(key):
            hold.let_go()
            return None
        return hold

    def keep(self, key: str, draft: Path) -> None:
        """Take in what was installed in the folder `draft`, below `files`. Raises NoRoom, OSError."""
        size_mib = -(-_size_bytes(draft) // _MIB)
        with self._alone():
            self._room_make(size_mib)
            write_json(draft / _FACTS, {"mib": size_mib})
            tree_remove(self._home / key)
            draft.rename(self._home / key)

    def _room_make(self, wanted_mib: int) -> None:
        if wanted_mib > self._most_mib:
            raise NoRoom(f"they take {wanted_mib} MiB, and this node keeps {self._most_mib} MiB at the most",
                         is_lasting=True)  # fmt: skip
        sizes = {path.name: self._mib(path) for path in self._home.iterdir() if (path / _FACTS).exists()}
        oldest_first = sorted(sizes, key=lambda key: (self._home / key).stat().st_mtime)
        for key in oldest_first:
            if sum(sizes.values()) + wanted_mib <= self._most_mib:
                break
            if self._remove(key):
                del sizes[key]
        if sum(sizes.values()) + wanted_mib > self._most_mib:
            raise NoRoom("other work uses all the room that this node has for packages", is_lasting=False)

    def _mib(self, place: Path) -> int:
        return int((read_json(place / _FACTS) or {}).get("mib") or 0)

    def _remove(self, key: str) -> bool:
        """Whether nobody uses it, and it is gone."""
        lock = self._lock_of(key)
        hold = Hold.take(lock, fcntl.LOCK_EX)
        if hold is None:
            return False
        gone = self._home / f".{key}.gone"
        tree_remove(gone)
        (self._home / key).rename(gone)
        tree_remove(gone)
        lock.unlink(missing_ok=True)
        hold.let_go()
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One of all that install here at a time counts and makes room."""
        fd = os.open(self._home / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _lock_of(self, key: str) -> Path:
        return self._home / f".{key}.lock"


class Hold:
    """A lock on a set; it ends with the process at the latest."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def take(cls, path: Path, kind: int) -> Hold | None:
        """None where others hold it."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            # Who removed the set took its lock away: what holds that one holds nothing.
            if os.stat(path).st_ino == os.fstat(fd).st_ino:
                return cls(fd)
        except OSError:
            pass
        os.close(fd)
        return None

    def let_go(self) -> None:
        """Others may have it."""
        os.close(self._fd)


def _size_bytes(folder: Path) -> int:
    """What a folder takes of the disk; no link in it is followed."""
    total, folders = 0, [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
    return total
