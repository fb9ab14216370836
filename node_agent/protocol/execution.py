"""Running a process beside work, over a stream of the tunnel whose kind is `exec`.

The portal sends messages and the agent others, each as a length of four bytes and then its bytes, of which the first
names the channel. The portal's first is a `Start`. What stands on its channel goes to the process and comes from it as
it is; the rest is JSON. The agent's last is an `Ended`; when the stream ends earlier, so does the process.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from node_agent.protocol.fields import Argument, Message, Port

# Of one message's payload, and of a process's words together.
PAYLOAD_BYTES, ARGUMENTS_BYTES = 32 * 1024, 16 * 1024

_LENGTH = struct.Struct(">I")

Cells = Annotated[int, Field(ge=1, le=4096)]
SignalName = Literal["HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "TERM", "CONT", "TSTP"]
EndCode = Literal[
    "exited", "work_ended", "not_found", "cannot_run", "too_many", "not_supported", "nobody_listens", "failed"
]


class Channel(IntEnum):
    """What a message carries; Kubernetes' numbers where it has the same."""

    STDIN, STDOUT, STDERR, ENDED, RESIZE, SIGNAL, START, CLOSE_STDIN = 0, 1, 2, 3, 4, 5, 6, 255


class Resize(Message):
    """How large the screen is."""

    rows: Cells
    columns: Cells


class Signal(Message):
    """A signal to the process and what it has started."""

    name: SignalName


class Start(Message):
    """What is to run beside the work: these words; none: a shell. `port`: instead of a program, a connection to the
    port on which the work listens. `tty`: with a terminal, of this size and kind."""

    argv: Annotated[list[Argument], Field(max_length=1024)] = []
    port: Port | None = None
    tty: bool = False
    rows: Cells = 24
    columns: Cells = 80
    term: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+._-]{1,40}$")] = "xterm-256color"


class Ended(Message):
    """It runs no more, or never did. `status` is its exit status, 128 and the signal's number where one ended it."""

    code: EndCode
    status: int | None = None
    detail: Annotated[str, StringConstraints(max_length=300)] = ""


def packed(channel: int, payload: bytes) -> bytes:
    """A message as it stands on the stream."""
    return _LENGTH.pack(len(payload) + 1) + bytes((channel,)) + payload


class Unpacker:
    """Finds the messages in the bytes of a stream, however they are cut."""

    def __init__(self) -> None:
        self._left = bytearray()

    def take(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The messages that are whole now: channel and payload.

        Raises:
            ValueError: one is empty or too long; nothing can be made of what follows.
        """
        self._left += data
        while len(self._left) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._left)
            if not 1 <= length <= PAYLOAD_BYTES + 1:
                raise ValueError(f"a message of {length} bytes")
            end = _LENGTH.size + length
            if len(self._left) < end:
                return
            message = bytes(self._left[_LENGTH.size : end])
            del self._left[:end]
            yield message[0], message[1:]
