"""Frames the worker has not acknowledged: kept for sending again, bounded by credits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from weir_wire import wire
from weir_wire.wire import CHUNK_BYTES, CREDIT_BYTES, CREDIT_FRAMES, SessionLost

Payload = bytes | memoryview
Counted = tuple[int, int, Payload]
"""Number, kind and payload of a frame."""

_BUFFER_BYTES = CHUNK_BYTES + (4 << 10)
_BUFFERS_KEPT = 24


class Buffers:
    """Memory of large payloads, used again: fresh pages cost several times what the copy into them does."""

    def __init__(self) -> None:
        self._free: list[bytearray] = []

    def pack(self, parts: Sequence[Any]) -> Payload:
        """One payload of these parts, copied."""
        size = sum(map(wire.size_of, parts))
        if not CHUNK_BYTES // 4 <= size <= _BUFFER_BYTES:
            return b"".join(parts)
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = bytearray(_BUFFER_BYTES)
        view, at = memoryview(buffer)[:size], 0
        for part in parts:
            piece = memoryview(part)
            if piece.nbytes:
                view[at : at + piece.nbytes] = piece.cast("B")
                at += piece.nbytes
        return view

    def give_back(self, payload: Payload) -> None:
        """Nobody reads the payload any more."""
        if isinstance(payload, memoryview) and len(self._free) < _BUFFERS_KEPT:
            self._free.append(payload.obj)  # type: ignore[arg-type]


class Backlog:
    """Numbers frames and keeps them until they have run. Safe to use from several threads."""

    def __init__(self) -> None:
        self.buffers = Buffers()
        self._changed = threading.Condition()
        self._frames: deque[Counted] = deque()
        self._bytes = 0
        self._last = 0
        self._lost: SessionLost | None = None

    @property
    def lost(self) -> SessionLost | None:
        """Why nothing can be sent any more, or None."""
        return self._lost

    def wait(self) -> None:
        """Until there is credit for one more frame. Raises SessionLost."""
        if self._lost is None and len(self._frames) < CREDIT_FRAMES and self._bytes < CREDIT_BYTES:
            return
        with self._changed:
            self._changed.wait_for(self._may_go)
        if self._lost is not None:
            raise self._again(self._lost)

    def _may_go(self) -> bool:
        has_credit = len(self._frames) < CREDIT_FRAMES and self._bytes < CREDIT_BYTES
        return has_credit or self._lost is not None

    def add(self, kind: int, payload: Payload) -> int:
        """Keep a frame; its number. Raises SessionLost."""
        with self._changed:
            if self._lost is not None:
                raise self._again(self._lost)
            self._last += 1
            self._frames.append((self._last, kind, payload))
            self._bytes += len(payload)
            return self._last

    def acknowledge(self, number: int) -> None:
        """All frames up to this number have run."""
        with self._changed:
            frames = self._frames
            while frames and frames[0][0] <= number:
                payload = frames.popleft()[2]
                self._bytes -= len(payload)
                self.buffers.give_back(payload)
            self._changed.notify_all()

    def waiting(self) -> list[Counted]:
        """What must be sent again over a new connection, in order."""
        with self._changed:
            return list(self._frames)

    def lose(self, why: SessionLost) -> None:
        """Nothing will be sent any more; whoever waits is told. The first reason stays."""
        with self._changed:
            self._lost = self._lost or why
            self._frames.clear()
            self._bytes = 0
            self._changed.notify_all()

    @staticmethod
    def _again(lost: SessionLost) -> SessionLost:
        return SessionLost(*lost.args)
