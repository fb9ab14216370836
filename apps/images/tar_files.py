"""Tar files read so that nobody else reads them otherwise.

An archive is checked here by Python, stored by skopeo and unpacked by umoci. Where these could understand a header
differently (one size or name here, another there), the archive is refused; and whatever its headers say, the bytes that
stream by are counted.
"""

from __future__ import annotations

import io
import re
import tarfile
import time
from typing import IO, Any, Self, cast

from django.utils.translation import gettext as _

from apps.images.errors import ImageRefused

# More than this no header of a tar file, no manifest and no configuration has.
READ_MAX_BYTES = 4 * 2**20
_BLOCK = 2**20
# What an extended header for all files may hold (git writes the commit there).
_COMMON_MAX_BYTES = 2**16
# The kinds of extended headers, each with those that may come before it for one file.
_BEFORE: dict[bytes, set[bytes]] = {
    tarfile.XGLTYPE: set(),
    tarfile.XHDTYPE: {tarfile.XGLTYPE},
    tarfile.GNUTYPE_LONGNAME: {tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK},
    tarfile.GNUTYPE_LONGLINK: {tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME},
}
_MEANT = ("path", "linkpath", "size")
_MAGIC, _PREFIX, _TAIL = slice(257, 265), slice(345, 500), slice(508, 512)
_POSIX, _STAR = b"ustar\x0000", b"tar\0"
# Python looks for a number at each of its digits, and reads a list of holes as long as it says that it is.
_ENDLESS_NUMBER = re.compile(rb"[0-9]{64}")
_HOLES = re.compile(rb"[0-9] GNU\.sparse\.")


class Bound:
    """What all layers of an image may be together: `limit_bytes` unpacked, looked at within `limit_s`."""

    def __init__(self, limit_bytes: int, limit_s: float) -> None:
        self._limit_bytes, self._limit_s = limit_bytes, limit_s
        self._end_s = time.monotonic() + limit_s

    def check(self, counted_bytes: int) -> None:
        """Raises ImageRefused for more, and for later."""
        if counted_bytes > self._limit_bytes:
            raise ImageRefused(
                _("Unpacked the image is larger than the %(limit)s MiB that this centre allows.")
                % {"limit": self._limit_bytes // 2**20}
            )
        if time.monotonic() > self._end_s:
            raise ImageRefused(
                _("The image could not be looked at within %(limit)s minutes.")
                % {"limit": int(self._limit_s // 60)}
            )


class TarSource(io.RawIOBase):
    """A file that a `tarfile.TarFile` reads headers of: never a huge piece at once, since it reads whatever length a
    header claims. `chain`: the kinds of extended headers that were read and whose file is still to come."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self.chain: set[bytes] = set()
        self.is_extended_next = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= READ_MAX_BYTES:
            raise ValueError("a header is too large")
        found = self._inner.read(size)
        if self.is_extended_next:
            self.is_extended_next = False
            if _ENDLESS_NUMBER.search(found):
                raise ValueError("a header holds an endless number")
            if _HOLES.search(found):
                raise ImageRefused(_("A file of it has holes, which not every reader counts."))
        return found

    def tell(self) -> int:
        return self._inner.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._inner.seek(offset, whence)


class LayerStream(TarSource):
    """A layer, unpacked as it streams by: read onwards only, and counted. `before_bytes`: what the layers below it
    are."""

    def __init__(self, inner: IO[bytes], bound: Bound, before_bytes: int) -> None:
        super().__init__(inner)
        self._bound, self._before_bytes = bound, before_bytes
        self._at, self._last = 0, b""

    @property
    def passed_bytes(self) -> int:
        """How much of it streamed by."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        self._last = super().read(size)
        self._count(len(self._last))
        return self._last

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence or offset < self._at:
            raise ValueError("not back")
        while self._at < offset and (block := self._inner.read(min(offset - self._at, _BLOCK))):
            self._count(len(block))
        return self._at

    def end_check(self) -> None:
        """What tarfile took for the end is the end for everybody: nothing but zeros from there on. Raises
        ImageRefused."""
        block = self._last
        while block:
            if block.strip(b"\0"):
                raise ImageRefused(_("A layer holds something behind its end."))
            block = self._inner.read(_BLOCK)
            self._count(len(block))

    def _count(self, more_bytes: int) -> None:
        self._at += more_bytes
        self._bound.check(self._before_bytes + self._at)


class PlainEntry(tarfile.TarInfo):
    """A header that says the same to everybody. Reading another one raises ImageRefused."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """A header. Some readers take the field `prefix` for a part of the name where others do not."""
        found = super().frombuf(buf, encoding, errors)
        is_posix = buf[_MAGIC] == _POSIX and buf[_TAIL] != _STAR
        if not is_posix and bytes(buf[_PREFIX]).strip(b"\0"):
            _ambiguous(found.name)
        return found

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        """Of several extended headers for one file some readers heed the first, others the last."""
        source = cast("TarSource", tar.fileobj)
        if self.type in (tarfile.GNUTYPE_SPARSE, tarfile.SOLARIS_XHDTYPE) or self.size < 0:
            _ambiguous(self.name)
        if self.type in _BEFORE:
            if source.chain - _BEFORE[self.type]:
                _ambiguous(self.name)
            source.chain.add(self.type)
            source.is_extended_next = self.type in (tarfile.XHDTYPE, tarfile.XGLTYPE)
        else:
            source.chain.clear()
        return cast("tarfile.TarInfo", super()._proc_member(tar))  # type: ignore[misc]


def entry_check(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
    """Whether a file is one thing to everybody. Raises ImageRefused."""
    common: dict[str, Any] = tar.pax_headers  # type: ignore[assignment]
    if (
        entry.size < 0
        or any(entry.pax_headers.get(name) == "" for name in _MEANT)
        or any(name in common for name in _MEANT)
        or sum(len(name) + len(value) for name, value in common.items()) > _COMMON_MAX_BYTES
    ):
        _ambiguous(entry.name)


def tar_opened(source: TarSource) -> tarfile.TarFile:
    """A tar file of plain headers. Raises ImageRefused, and what tarfile raises."""
    return tarfile.TarFile(fileobj=cast("IO[bytes]", source), tarinfo=PlainEntry)


def name_shown(name: object) -> str:
    """A name of an archive in a sentence: what is no text in it could be neither kept nor sent."""
    return str(name)[:200].encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _ambiguous(name: str) -> None:
    raise ImageRefused(
        _("The headers of %(path)s can be read in several ways, as other names or sizes.")
        % {"path": name_shown(name)}
    )
