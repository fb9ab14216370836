"""Files in a folder that belongs to the work's user: what the shim leaves there, and what it reads of it.

Nothing in such a folder is trusted: no link is followed, no file is waited for, none is read beyond a bound.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

Seen = tuple[int, int]
"""Which file it was that was read last: its inode and its time."""


def file_put(folder: Path, name: str, data: bytes, owner_uid: int | None) -> None:
    """Replace a file in one step, readable by its owner alone. Raises OSError."""
    part = folder / f".{name}.part"
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as file:
        if owner_uid is not None:
            os.fchown(fd, owner_uid, owner_uid)
        file.write(data)
    os.replace(part, folder / name)


def file_look(path: Path, seen: Seen | None, limit_bytes: int) -> tuple[bytes, os.stat_result] | None:
    """The first bytes of a plain file and its facts; None where there is none, or it was seen before."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or seen_of(facts) == seen:
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(limit_bytes), facts
    finally:
        os.close(fd)


def seen_of(facts: os.stat_result) -> Seen:
    """What tells this file from the one that replaces it."""
    return (facts.st_ino, facts.st_mtime_ns)


def seen_now(path: Path) -> Seen | None:
    """What lies there now, as seen; None where nothing does."""
    try:
        return seen_of(os.lstat(path))
    except OSError:
        return None
