"""How frames travel between two ends of a session. TCP, shared memory, and what else fits the Protocol.

An RDMA transport fills the same Protocol: `send` posts, `receive` completes, payloads lie in registered
memory until the next `receive`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from weir_wire import wire
from weir_wire.wire import HEADER, WireError

Outgoing = tuple[int, Sequence[Any]]
"""A frame to send: its kind, and the buffers its payload is made of."""

_JOINED_BYTES = 64 << 10


class Frame(NamedTuple):
    """A frame received; the payload is valid until the next `receive`."""

    kind: int
    payload: memoryview


class Transport(Protocol):
    """One connection. `name` is what status and statistics say."""

    name: str

    def send(self, *frames: Outgoing) -> None:
        """Send whole frames, in order; safe from several threads. Raises OSError when the other end is gone."""
        ...

    def receive(self, timeout_s: float | None) -> Frame | None:
        """The next frame, or None when there was none in time. Raises OSError, and WireError for a frame too
        long to skip. One thread only."""
        ...

    def close(self) -> None:
        """Cut the connection; whoever sends or receives gets an OSError. Safe from any thread, and twice."""
        ...

    def abandon(self) -> None:
        """Let go of the descriptors in a forked child without a word to the other end."""
        ...


class Stream(ABC):
    """What transports over a stream of bytes share: cutting it into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray(256 << 10)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0

    @abstractmethod
    def read_some(self, view: memoryview, timeout_s: float | None) -> int:
        """Fill some of the view; 0 when nothing came in time. Raises OSError at the end of the stream."""

    @abstractmethod
    def write_all(self, view: memoryview) -> None:
        """Write all of it. Raises OSError."""

    def receive(self, timeout_s: float | None) -> Frame | None:
        """See Transport."""
        if not self.fill(HEADER.size, timeout_s):
            return None
        length, kind = HEADER.unpack_from(self._buffer, self._start)
        if length > wire.MAX_PAYLOAD:
            raise WireError(f"a frame of {length} bytes; at most {wire.MAX_PAYLOAD} are allowed", "too_long")
        if not self.fill(HEADER.size + length, timeout_s):
            return None
        return Frame(kind, self.take(HEADER.size, length))

    def fill(self, wanted: int, timeout_s: float | None) -> bool:
        """Whether so many bytes lie ready, after waiting for them where need be."""
        while self._end - self._start < wanted:
            if self._start + wanted > len(self._buffer):
                self._make_room(wanted)
            n = self.read_some(self._view[self._end :], timeout_s)
            if not n:
                return False
            self._end += n
        return True

    def take(self, skip: int, length: int) -> memoryview:
        """The payload behind `skip` bytes; what follows it comes next."""
        begin = self._start + skip
        self._start = begin + length
        payload = self._view[begin : self._start]
        if self._start == self._end:
            self._start = self._end = 0
        return payload

    def write_frames(self, frames: Iterable[Outgoing]) -> None:
        """Write frames: small ones in one piece, large buffers as they are."""
        pieces: list[Any] = []
        size = 0
        for kind, parts in frames:
            length = sum(map(wire.size_of, parts))
            pieces += (HEADER.pack(length, kind), *parts)
            size += length + HEADER.size
        if size <= _JOINED_BYTES:
            self.write_all(memoryview(b"".join(pieces)))
            return
        for piece in pieces:
            view = memoryview(piece)
            if view.nbytes:
                self.write_all(view.cast("B"))

    def _make_room(self, wanted: int) -> None:
        """Begin again at the front of the buffer, or of a larger one."""
        rest = bytes(self._view[self._start : self._end])
        if wanted > len(self._buffer):
            self._buffer = bytearray(wanted + (64 << 10))
            self._view = memoryview(self._buffer)
        self._start, self._end = 0, len(rest)
        self._view[: len(rest)] = rest
