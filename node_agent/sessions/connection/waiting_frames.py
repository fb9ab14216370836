"""What a client has sent while its session waits for the other ranks of a group."""

from __future__ import annotations

from collections import deque

from weir_wire import wire
from weir_wire.transport import Frame
from weir_wire.wire import Kind


class WaitingFrames:
    """Copies, in order, as many as the client has credit for. After its last word nothing more is read."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()
        self._bytes = 0

    @property
    def has_room(self) -> bool:
        """Whether one more may be read: else the client would be sending without credit, or has said BYE."""
        has_ended = bool(self._frames) and self._frames[-1].kind == Kind.BYE
        is_full = len(self._frames) > 2 * wire.CREDIT_FRAMES or self._bytes > wire.CREDIT_BYTES
        return not (has_ended or is_full)

    def keep(self, frame: Frame) -> None:
        """Copy a frame."""
        self._frames.append(Frame(frame.kind, memoryview(bytearray(frame.payload))))
        self._bytes += len(frame.payload)

    def next(self) -> Frame | None:
        """The first one, once; None where there is none."""
        if not self._frames:
            return None
        frame = self._frames.popleft()
        self._bytes -= len(frame.payload)
        return frame

    def clear(self) -> None:
        """The connection is gone: what it brought and nobody has run comes again."""
        self._frames.clear()
        self._bytes = 0
