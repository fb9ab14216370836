"""Reads what work writes of itself into its folder of metrics, while it writes.

The folder is the work's: no link is followed, nothing is waited for, and how many files, folders, names and bytes are
read is bounded. What is beyond a bound, or is no number, is left out and said once in the work's log.
"""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from node_agent.protocol.metric_bounds import FOLDER, NAME_CHARACTERS, NAMES_PER_WORK, STEP_MAX
from node_agent.runtime.metrics.json_lines import JsonLines
from node_agent.runtime.metrics.points import Point

# Of one look: how deep, how many files are read, how many entries of all folders together are looked at.
DEPTH, FILES, ENTRIES = 4, 64, 2_000
# Over the whole life of the work.
FILES_EVER = 256
PIECE_BYTES = 128 * 1024
_NOTES = 16
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class _Followed:
    """A file as far as it was read. `reader` None: it is not read on. `waits_at`: its size when nothing whole stood
    next in it."""

    prefix: str
    reader: JsonLines | Literal["events"] | None
    offset: int = 0
    waits_at: int = -1


@dataclass(slots=True)
class MetricsReader:
    """`home` is the folder that the work runs in, `note` writes a line into its log."""

    home: os.PathLike[str]
    note: Callable[[str], None]
    has_more: bool = False
    _turn: int = 0
    _entries_left: int = 0
    _files: dict[tuple[int, int], _Followed] = field(default_factory=dict)
    _steps: dict[str, int] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)

    def read(self, limit_bytes: int) -> list[Point]:
        """What was written since, a piece of each file in turn and of at most so many bytes; each point has a step and
        a time. `has_more` is whether a file holds more of it that can be read now."""
        found: list[Point] = []
        files = list(self._open())
        self.has_more = False
        self._turn += 1
        first = self._turn % max(len(files), 1)
        for path, fd in (*files[first:], *files[:first]):
            try:
                limit_bytes -= self._follow(path, fd, found, may_read=limit_bytes > 0)
            except OSError:
                continue
            finally:
                os.close(fd)
        return found

    # ---- files ----

    def _open(self) -> Iterator[tuple[str, int]]:
        """The files of metrics, each open for reading: its path below the folder, and its descriptor."""
        try:
            home = os.open(self.home, _OPEN | os.O_DIRECTORY)
        except OSError:
            return
        self._entries_left = ENTRIES
        try:
            for count, (path, fd) in enumerate(self._below(home, FOLDER, "", DEPTH)):
                if count == FILES:
                    os.close(fd)
                    self._say(f"more than {FILES} files of metrics at once: the first by name are read")
                    break
                yield path, fd
        finally:
            os.close(home)

    def _below(self, parent: int, name: str, path: str, depth: int) -> Iterator[tuple[str, int]]:
        try:
            fd = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=parent)
        except OSError:
            return
        try:
            for below, is_folder in self._entries(fd):
                inner = f"{path}{below}"
                if _kind(below):
                    yield from self._file(fd, below, inner)
                elif depth and is_folder:
                    yield from self._below(fd, below, f"{inner}/", depth - 1)
        finally:
            os.close(fd)

    def _entries(self, folder: int) -> list[tuple[str, bool]]:
        """What is in a folder, by name, and whether it is a folder, as far as this look may still go."""
        found: list[tuple[str, bool]] = []
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if not self._entries_left:
                    self._say(
                        f"more than {ENTRIES} files and folders where its metrics are: the rest is not looked at"
                    )
                    break
                self._entries_left -= 1
                found.append((entry.name, entry.is_dir(follow_symlinks=False)))
        return sorted(found)

    def _file(self, folder: int, name: str, path: str) -> Iterator[tuple[str, int]]:
        try:
            fd = os.open(name, _OPEN, dir_fd=folder)
        except OSError:
            return
        if stat.S_ISREG(os.fstat(fd).st_mode):
            yield path, fd
        else:
            os.close(fd)

    # ---- what is in them ----

    def _follow(self, path: str, fd: int, found: list[Point], *, may_read: bool) -> int:
        """Read on in a file; how many bytes were read."""
        facts = os.fstat(fd)
        key = (facts.st_dev, facts.st_ino)
        if key not in self._files and len(self._files) >= FILES_EVER:
            self._say(f"more than {FILES_EVER} files of metrics: those after the first are not read")
            return 0
        known = self._files.setdefault(key, _begun(path))
        if facts.st_size < known.offset:
            # Written anew: what was there before counts no more.
            known = self._files[key] = _begun(path)
        if known.reader is None or facts.st_size in (known.offset, known.waits_at):
            return 0
        if not may_read:
            self.has_more = True
            return 0
        data = os.pread(fd, PIECE_BYTES, known.offset)
        points, taken = self._taken(path, known, data, facts.st_size - known.offset)
        found.extend(self._counted(known.prefix, points))
        known.offset += taken
        known.waits_at = -1 if taken else facts.st_size
        self.has_more |= taken > 0 and known.offset < facts.st_size
        return len(data)

    def _taken(self, path: str, known: _Followed, data: bytes, left: int) -> tuple[list[Point], int]:
        """The points of what stands next in a file of which so many bytes are left, and how many of them are read."""
        if isinstance(known.reader, JsonLines):
            return known.reader.take(data), len(data)
        # TensorBoard's format costs a library, which only work that writes it pays for.
        try:
            from node_agent.runtime.metrics.event_files import NoEventFile, records_read
        except ImportError:
            known.reader = None
            self._say("TensorBoard's files are not read: this node lacks protobuf; write lines of JSON")
            return [], 0
        try:
            return records_read(data, left)
        except NoEventFile:
            known.reader = None
            self._say(
                f"metrics in {path[:NAME_CHARACTERS]!r} are not read on: it is no file of TensorBoard's"
            )
            return [], 0

    def _counted(self, prefix: str, points: list[Point]) -> Iterator[Point]:
        """Those that are kept, each with its name below its folder, a step and a time."""
        for point in points:
            name = f"{prefix}{point.name}"
            if len(name) > NAME_CHARACTERS or not self._is_counted(name):
                continue
            step = self._steps[name] if point.step is None else point.step
            self._steps[name] = min(step + 1, STEP_MAX)
            if math.isfinite(point.value):
                yield point._replace(name=name, step=step, at=point.at or time.time())
            else:
                self._say(
                    f"metric {name!r} was no finite number at step {step}: such points are left out", name
                )

    def _is_counted(self, name: str) -> bool:
        if name in self._steps:
            return True
        if len(self._steps) >= NAMES_PER_WORK:
            self._say(f"more than {NAMES_PER_WORK} metrics: those after the first are left out")
            return False
        self._steps[name] = 0
        return True

    def _say(self, sentence: str, about: str = "") -> None:
        """A sentence once, or once of each of a few things."""
        key = about or sentence
        if key not in self._said and len(self._said) < _NOTES:
            self._said.add(key)
            self.note(sentence)


def _kind(name: str) -> str:
    if name.endswith(".jsonl"):
        return "lines"
    return "events" if "tfevents" in name else ""


def _begun(path: str) -> _Followed:
    """A file of which nothing was read yet; the folders that it lies in stand before the names of its metrics."""
    folder, _slash, name = path.rpartition("/")
    prefix = f"{folder}/" if folder else ""
    reader: JsonLines | Literal["events"] | None = JsonLines() if _kind(name) == "lines" else "events"
    return _Followed(prefix, reader if prefix.isprintable() else None)
