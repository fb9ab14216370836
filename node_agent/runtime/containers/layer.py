"""What work has changed over its image, as a layer that goes upon that: a tar as images are made of.

The overlay keeps what was written as files, what was deleted as devices of the number 0, and folders that cover those
of the image by a mark. Nothing is followed, and nothing is written as a device.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import IO

from node_agent.work_container import Changes

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_MARK = "trusted.overlay.opaque"
# The overlay's words for what lies elsewhere: such a file is not whole by itself.
_ELSEWHERE = ("trusted.overlay.redirect", "trusted.overlay.metacopy")
_BLOCK = 2**20


class LayerFailed(Exception):
    """There is no layer to be had; the text says why, for people."""


class LayerWriter:
    """Writes one layer. `look` is told how many bytes there are, again and again, and may raise to break off."""

    def __init__(self, changes: Changes, out: IO[bytes], look: Callable[[int], None]) -> None:
        self._changes, self._out, self._look = changes, out, look
        self._names: dict[tuple[int, int], str] = {}
        self._above = {above for path in changes.not_of_image for above in path.parents}
        self.left_out = 0

    def write(self) -> None:
        """Raises LayerFailed, OSError."""
        # Of all formats the one in which every name is its bytes.
        with tarfile.TarFile(
            fileobj=self._out, mode="w", format=tarfile.GNU_FORMAT, copybufsize=_BLOCK
        ) as tar:
            try:
                self._folder(tar, "", [])
            except RecursionError as error:
                raise LayerFailed("its folders lie too deep in each other") from error

    def _folder(self, tar: tarfile.TarFile, name: str, waiting: list[tuple[str, os.stat_result]]) -> None:
        """All that is in a folder. `waiting`: folders above it that are said only where something follows: the way to a
        place of ours is none of the image's."""
        for entry, facts in _entries(os.path.join(self._changes.files, name)):
            inner = f"{name}/{entry}" if name else entry
            path = PurePosixPath("/", inner)
            if path in self._changes.not_of_image:
                continue
            if path in self._above and stat.S_ISDIR(facts.st_mode):
                waiting.append((inner, facts))
                self._folder(tar, inner, waiting)
                if waiting:
                    waiting.pop()
                continue
            for above, its_facts in waiting:
                self._add(tar, above, its_facts)
            waiting.clear()
            self._add(tar, inner, facts)
            if stat.S_ISDIR(facts.st_mode):
                self._folder(tar, inner, waiting)

    def _add(self, tar: tarfile.TarFile, name: str, facts: os.stat_result) -> None:
        folder, _slash, base = name.rpartition("/")
        if base.startswith(_WHITEOUT):
            # In an image it would delete what it is called after.
            self.left_out += 1
        elif stat.S_ISCHR(facts.st_mode) and facts.st_rdev == 0:
            self._empty(tar, os.path.join(folder, f"{_WHITEOUT}{base}"))
        elif stat.S_ISREG(facts.st_mode):
            self._file(tar, name, facts)
        elif stat.S_ISLNK(facts.st_mode):
            link = self._entry(name, facts, tarfile.SYMTYPE)
            link.linkname, link.mode = os.readlink(self._place(name)), 0o777
            tar.addfile(link)
        elif stat.S_ISDIR(facts.st_mode):
            tar.addfile(self._entry(name, facts, tarfile.DIRTYPE))
            if self._marked(name, _MARK):
                self._empty(tar, f"{name}/{_OPAQUE}")
        else:
            self.left_out += 1
        self._look(tar.offset)

    def _file(self, tar: tarfile.TarFile, name: str, facts: os.stat_result) -> None:
        key = (facts.st_dev, facts.st_ino)
        if facts.st_nlink > 1 and key in self._names:
            link = self._entry(name, facts, tarfile.LNKTYPE)
            link.linkname = self._names[key]
            tar.addfile(link)
            return
        if any(self._marked(name, word) for word in _ELSEWHERE):
            raise LayerFailed(f"/{name} is not whole in what was written over the image")
        self._names[key] = name
        entry = self._entry(name, facts, tarfile.REGTYPE)
        entry.size = facts.st_size
        with os.fdopen(os.open(self._place(name), os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            found = os.fstat(file.fileno())
            if (found.st_dev, found.st_ino, found.st_size) != (*key, facts.st_size):
                raise LayerFailed(f"/{name} was changed while it was read")
            tar.addfile(entry, _Watched(file, tar.offset, self._look))  # type: ignore[arg-type]

    def _entry(self, name: str, facts: os.stat_result, kind: bytes) -> tarfile.TarInfo:
        """Its header. What was the work's is the image's own user's, which the next work is, and no file makes anybody
        else of who runs it. Where the work was one of all others in its image, so is the next: it may do as much."""
        entry = tarfile.TarInfo(name)
        entry.type, entry.mtime = kind, int(facts.st_mtime)
        entry.mode = stat.S_IMODE(facts.st_mode)
        changes = self._changes
        entry.uid, entry.gid = (
            own if one == changes.user else one
            for one, own in zip((facts.st_uid, facts.st_gid), changes.owner, strict=True)
        )
        if facts.st_uid == changes.user:
            if not changes.is_owned:
                own = entry.mode & 0o700
                entry.mode |= own >> 3 | own >> 6
            if kind != tarfile.DIRTYPE:
                entry.mode &= ~(stat.S_ISUID | stat.S_ISGID)
        return entry

    def _empty(self, tar: tarfile.TarFile, name: str) -> None:
        entry = tarfile.TarInfo(name)
        entry.mode = 0
        tar.addfile(entry)

    def _marked(self, name: str, word: str) -> bool:
        try:
            return os.getxattr(self._place(name), word, follow_symlinks=False) not in (b"", b"n")
        except OSError:
            return False

    def _place(self, name: str) -> str:
        return os.path.join(self._changes.files, name)


def _entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as found:
        rows = sorted((entry.name, entry.stat(follow_symlinks=False)) for entry in found)
    yield from rows


class _Watched:
    """A file as it is read; who writes the layer is told how far that is."""

    def __init__(self, file: IO[bytes], begin: int, look: Callable[[int], None]) -> None:
        self._file, self._at, self._look = file, begin, look

    def read(self, size: int) -> bytes:
        found = self._file.read(min(size, _BLOCK) if size > 0 else _BLOCK)
        self._at += len(found)
        self._look(self._at)
        return found
