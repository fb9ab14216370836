"""What was compressed by zstd, read as it streams by: by the C library that Linux itself unpacks its packages with."""

from __future__ import annotations

import ctypes
import io
from functools import cache
from typing import IO, Any

_BLOCK = 128 * 1024


class ZstdMissing(Exception):
    """This machine has no libzstd."""


class _Buffer(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("done", ctypes.c_size_t)]


class ZstdFile(io.RawIOBase):
    """`inner` unpacked, from its beginning and onwards only. Making it raises ZstdMissing, and MemoryError where there
    is no room to unpack in; reading ValueError for what is no zstd, EOFError for what ends too early."""

    _stream: ctypes.c_void_p | None = None

    def __init__(self, inner: IO[bytes]) -> None:
        super().__init__()
        self._inner, self._library = inner, _library()
        self._stream = ctypes.c_void_p(self._library.ZSTD_createDStream())
        if not self._stream:
            raise MemoryError("no room to unpack zstd in")
        self._given = ctypes.create_string_buffer(b"", _BLOCK)
        self._taken = ctypes.create_string_buffer(_BLOCK)
        self._input = _Buffer(ctypes.addressof(self._given), 0, 0)
        self._plain, self._at, self._is_within = b"", 0, False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end."""
        if size < 0:
            raise ValueError("say how much")
        while len(self._plain) < size and (more := self._next()):
            self._plain += more
        found, self._plain = self._plain[:size], self._plain[size:]
        self._at += len(found)
        return found

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        """Onwards only."""
        if whence or offset < self._at:
            raise ValueError("not back")
        while self._at < offset and self.read(min(offset - self._at, _BLOCK)):
            continue
        return self._at

    def close(self) -> None:
        if self._stream:
            self._library.ZSTD_freeDStream(self._stream)
            self._stream = None
        super().close()

    def _next(self) -> bytes:
        """The next piece; none at the end."""
        while True:
            if self._input.done == self._input.size:
                block = self._inner.read(_BLOCK)
                if not block and self._is_within:
                    raise EOFError("it ends too early")
                if not block:
                    return b""
                ctypes.memmove(self._given, block, len(block))
                self._input.size, self._input.done = len(block), 0
            output = _Buffer(ctypes.addressof(self._taken), _BLOCK, 0)
            left = self._library.ZSTD_decompressStream(
                self._stream, ctypes.byref(output), ctypes.byref(self._input)
            )
            if self._library.ZSTD_isError(left):
                raise ValueError("it is no zstd")
            self._is_within = left != 0
            if output.done:
                return self._taken.raw[: output.done]


@cache
def _library() -> Any:
    try:
        found = ctypes.CDLL("libzstd.so.1")
    except OSError as error:
        raise ZstdMissing() from error
    found.ZSTD_createDStream.restype = ctypes.c_void_p
    found.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    found.ZSTD_decompressStream.restype = ctypes.c_size_t
    found.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    found.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return found
