"""The ports of a machine by which the members of a gang on it are reached from others: a block for each gang."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

# Below those at which gangs meet, and those that Linux gives by itself.
_FIRST, _LAST, _SIZE = 10_000, 19_999, 200


@dataclass(frozen=True, slots=True)
class Block:
    """From `first` to `last`, taken as long as `lock` is open."""

    first: int
    last: int
    lock: int

    @classmethod
    def take(cls, beside: Path | None) -> Self:
        """A block that no other gang of this machine has, told by files beside this one, and in which nothing listens.
        Raises OSError where there is none."""
        assert beside is not None, "a network that is reached from other machines is a gang's"
        for first in range(_FIRST, _LAST, _SIZE):
            lock = os.open(beside.with_name(f"ports-{first}"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            if all(map(_is_free, range(first, first + _SIZE))):
                return cls(first, first + _SIZE - 1, lock)
            os.close(lock)
        raise OSError(errno.EADDRINUSE, "no ports are left by which a gang is reached from other nodes")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET) as tried, suppress(OSError):
        tried.bind(("", port))
        return True
    return False
