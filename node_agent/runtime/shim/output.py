"""The work's output: from a pipe into a bounded file that is always valid UTF-8 and free of NULs."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

_READ_BYTES = 256 * 1024


class Output:
    """Copies a non-blocking pipe into the log until the limit, then only drains it and says so once."""

    def __init__(self, fd: int, path: Path, *, limit_bytes: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._limit_bytes = limit_bytes
        self._written_bytes = 0
        self._is_full = False
        self._lost_bytes = 0
        self._owed = ""
        self.tail = ""

    def copy(self) -> bool:
        """Copy what is there; False when there is nothing more now."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except OSError:
            return False
        self._write(self._decoder.decode(data, final=not data))
        return bool(data)

    def drain(self) -> None:
        """Copy the rest, at the work's end."""
        while self.copy():
            pass

    def note(self, sentence: str) -> None:
        """A line of the node itself, beyond the limit too; what a full disk does not take now comes before the next."""
        self._owed += f"\n[weir] {sentence}\n"
        self._put(b"")

    def _write(self, text: str) -> None:
        if not text:
            return
        self.tail = (self.tail + text)[-4000:]
        if self._is_full:
            return
        data = text.replace("\0", "\ufffd").encode()
        room = max(0, self._limit_bytes - self._written_bytes)
        if len(data) <= room:
            self._put(data)
        else:
            self._is_full = True
            self._put(data[:room].decode(errors="ignore").encode())
            self.note(f"the log has reached its limit of {self._limit_bytes} bytes; what follows is dropped")

    def _put(self, data: bytes) -> None:
        """A full disk costs log lines, which are counted and told later; never the work or its metering."""
        if self._lost_bytes and self._has_said(self._sentence_of_loss()):
            self._lost_bytes = 0
        if not self._lost_bytes:
            self._lost_bytes = len(data) - self._append(data)
        else:
            self._lost_bytes += len(data)
        if self._owed and not self._lost_bytes and self._has_said(self._owed):
            self._owed = ""

    def _sentence_of_loss(self) -> str:
        return f"\n[weir] {self._lost_bytes} bytes of output are missing here: the node's disk was full\n"

    def _has_said(self, text: str) -> bool:
        data = text.encode()
        return self._append(data, or_nothing=True) == len(data)

    def _append(self, data: bytes, *, or_nothing: bool = False) -> int:
        """How many bytes of it the disk took: whole characters, or all or nothing."""
        taken = self._taken(data)
        whole = len(data[:taken].decode(errors="ignore").encode())
        if or_nothing and whole < len(data):
            whole = 0
        if whole < taken:
            try:
                os.ftruncate(self._file, os.fstat(self._file).st_size - (taken - whole))
            except OSError:
                return 0
        self._written_bytes += whole
        return whole

    def _taken(self, data: bytes) -> int:
        """How many bytes of it were written. Fewer than asked in one write is no full disk yet: the next one says."""
        taken = 0
        while taken < len(data):
            try:
                taken += os.write(self._file, memoryview(data)[taken:])
            except OSError:
                break
        return taken


def read_chunk(path: Path, offset: int, limit_bytes: int) -> str | None:
    """Text from a byte offset, cut at a whole character; None where there is nothing (yet)."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(limit_bytes)
    except (OSError, OverflowError):
        return None
    try:
        return data.decode() or None
    except UnicodeDecodeError as error:
        return data[: error.start].decode() or None
