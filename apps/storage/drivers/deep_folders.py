"""Folders that work has filled, walked through and deleted however deep they are.

Work makes a chain of folders deeper than any recursion, any path and any number of open files. Nothing here follows a
link, and at most three folders are open at a time.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class _Level:
    """A folder on the way down: what it is called, which it is, and the folders in it that are still to be entered."""

    name: str
    key: tuple[int, int]
    below: list[str]


def files_below(top: int) -> Iterator[os.stat_result]:
    """The facts of all plain files in an open folder and below. What is moved or deleted meanwhile may be missing."""
    walk = _Walk(top)
    try:
        yield from walk.files()
    finally:
        walk.close()


class _Walk:
    """One folder is open, and known by name and number are those above it."""

    def __init__(self, top: int) -> None:
        self._top, self._here = top, os.open(".", _FOLDER, dir_fd=top)
        self._levels: list[_Level] = []

    def close(self) -> None:
        os.close(self._here)

    def files(self) -> Iterator[os.stat_result]:
        yield from self._listed("")
        while self._levels:
            if not self._levels[-1].below:
                self._up()
                continue
            name = self._levels[-1].below.pop()
            # What work deletes or moves while this walks is gone.
            with suppress(OSError):
                self._go(os.open(name, _FOLDER, dir_fd=self._here))
                yield from self._listed(name)

    def _go(self, folder: int) -> None:
        os.close(self._here)
        self._here = folder

    def _listed(self, name: str) -> Iterator[os.stat_result]:
        """The files of the folder that was gone to, and what there is below it."""
        level = _Level(name, _key(self._here), [])
        self._levels.append(level)
        with os.scandir(self._here) as found:
            for entry in found:
                with suppress(FileNotFoundError):
                    facts = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(facts.st_mode):
                        level.below.append(entry.name)
                    elif stat.S_ISREG(facts.st_mode):
                        yield facts

    def _up(self) -> None:
        self._levels.pop()
        if not self._levels:
            return
        with suppress(OSError):
            above = os.open("..", _FOLDER, dir_fd=self._here)
            if _key(above) == self._levels[-1].key:
                self._go(above)
                return
            os.close(above)
        # It was moved, and what is above it now may lie outside, or deleted: the way is gone again from the top.
        self._return()

    def _return(self) -> None:
        """To the lowest folder of the way that is still where it was."""
        here = os.open(".", _FOLDER, dir_fd=self._top)
        for depth, level in enumerate(self._levels[1:], 1):
            try:
                below = os.open(level.name, _FOLDER, dir_fd=here)
            except OSError:
                below = -1
            if below < 0 or _key(below) != level.key:
                with suppress(OSError):
                    os.close(below)
                del self._levels[depth:]
                break
            os.close(here)
            here = below
        self._go(here)


def _key(folder: int) -> tuple[int, int]:
    facts = os.fstat(folder)
    return facts.st_dev, facts.st_ino


def tree_remove(path: Path) -> None:
    """Delete a folder with all that is in it; what resists stays. Broken off, it may be asked for again."""
    with suppress(OSError):
        top = os.open(path, _FOLDER)
        try:
            while _flattened(top):
                pass
        finally:
            os.close(top)
        path.rmdir()


def _flattened(top: int) -> bool:
    """Delete the files of a folder and of those in it, and lift what lies below these up into it; whether that got
    on."""
    got_on = False
    for name in _folders_alone(top):
        with suppress(OSError):
            below = os.open(name, _FOLDER, dir_fd=top)
            try:
                for inner in _folders_alone(below):
                    os.rename(inner, uuid4().hex, src_dir_fd=below, dst_dir_fd=top)
            finally:
                os.close(below)
            os.rmdir(name, dir_fd=top)
            got_on = True
    return got_on


def _folders_alone(folder: int) -> list[str]:
    """Delete what is no folder; the folders that are left."""
    folders = []
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return folders
