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
        """A line of the node itself, beyond the limit too."""
        self._put(f"\n[weir] {sentence}\n".encode())

    def _write(self, text: str) -> None:
        if not text:
            return
        self.tail = (self.tail + text)[-4000:]
        data = text.replace("\0", "\ufffd").encode()
        room = self._limit_bytes - self._written_bytes
        if len(data) <= room:
            self._put(data)
        elif not self._is_full:
            self._is_full = True
            self._put(data[:room].decode(errors="ignore").encode())
            self.note(f"the log has reached its limit of {self._limit_bytes} bytes; what follows is dropped")

    def _put(self, data: bytes) -> None:
        self._written_bytes += len(data)
        try:
            os.write(self._file, data)
        except OSError:
            # A full disk costs log lines, never the work or its metering.
            self._is_full = True


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
