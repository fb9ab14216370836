"""Sending a session's state to another worker, and taking it over there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from node_agent.sessions.execution.core import Session
from node_agent.sessions.execution.state import Arena, Course, state_load, state_stream
from weir_wire import wire
from weir_wire.handshake import Claim, Endpoint, attach
from weir_wire.transport import Transport
from weir_wire.wire import Kind, WireError

_CONNECT_S = 5.0
_TAKEN_S = 30.0
# Less than the target's patience with a client that comes to it meanwhile.
_DECIDED_S = 2.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where a session shall go; `ticket` lets its state in, once."""

    endpoint: Endpoint
    ticket: str

    @classmethod
    def of(cls, value: Any) -> Target | None:
        """From `move_to` of session.json; None where it names no target."""
        try:
            endpoint = Endpoint(str(value["host"]), int(value["port"]), str(value["fingerprint"]))
            return cls(endpoint, str(value["ticket"]))
        except (KeyError, TypeError, ValueError):
            return None


class Mover:
    """A move at its source. `prepare` runs beside the session, which computes on; only `send` holds it up."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._transport: Transport | None = None

    def prepare(self, nbytes: int) -> None:
        """Connect, and have the target lay out so much memory. Raises OSError and WireError."""
        claim = Claim(purpose="state")
        self._transport, _ = attach(self.target.endpoint, self.target.ticket, claim, timeout_s=_CONNECT_S)
        self._send(wire.NUMBER.pack(nbytes))
        self._taken()

    def send(self, session: Session, course: Course) -> None:
        """Stream everything; returns when the target has it. Raises OSError and WireError."""
        for piece in state_stream(session, course):
            self._send(piece)
        self._taken()

    def is_settled(self, timeout_s: float = 0.0) -> bool:
        """After `send`: whether the target has said that the client is there."""
        if self._transport is None:
            return False
        try:
            frame = self._transport.receive(timeout_s)
        except (OSError, WireError):
            self.close()
            return False
        return frame is not None and frame.kind == Kind.TAKEN

    def is_called_off(self) -> bool:
        """Ask the target, which alone decides, to let the session stay; a target that is gone cannot have it."""
        if self.is_settled():
            return False
        try:
            self._send(b"")
        except (OSError, WireError):
            self.close()
            return True
        is_settled = self.is_settled(_DECIDED_S)
        self.close()
        return not is_settled

    def close(self) -> None:
        """Let the target go."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _send(self, piece: bytes | memoryview) -> None:
        if self._transport is None:
            raise ConnectionResetError("the target is not connected")
        self._transport.send((Kind.STATE, [piece]))

    def _taken(self) -> None:
        frame = None if self._transport is None else self._transport.receive(_TAKEN_S)
        if frame is None or frame.kind != Kind.TAKEN:
            raise WireError("the target did not take the state over")


class Giver:
    """The source, as the target sees it once it has the state."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def settle(self) -> bool:
        """Tell it that the client is here; False where it has taken the session back before."""
        if self.has_called_off():
            return False
        with contextlib.suppress(OSError):
            self._transport.send((Kind.TAKEN, []))
        self._transport.close()
        return True

    def has_called_off(self) -> bool:
        """Whether it has; a source that has died since has not: what it sent is all there is."""
        try:
            is_back = self._transport.receive(0.0) is not None
        except (OSError, WireError):
            return False
        if is_back:
            self._transport.close()
        return is_back


class Taker:
    """A move at its target. A source on this machine goes over to shared memory before it sends anything:
    then `other` gives that connection."""

    def __init__(self, transport: Transport, other: Callable[[], Transport]) -> None:
        self._transport, self._other = transport, other

    def take(self, session: Session) -> Course:
        """Fill an empty session from the source's stream. Raises OSError and WireError."""
        try:
            first = self._receive()
        except OSError:
            self._transport = self._other()
            first = self._receive()
        (nbytes,) = wire.NUMBER.unpack(first) if len(first) == wire.NUMBER.size else (0,)
        arena = Arena(session.torch_device, min(nbytes, session.memory.quota_bytes))
        self._transport.send((Kind.TAKEN, []))
        course = state_load(session, self._pieces(), arena)
        self._transport.send((Kind.TAKEN, []))
        return course

    def giver(self) -> Giver:
        """The source, which waits to hear that the client has come."""
        return Giver(self._transport)

    def close(self) -> None:
        """Nothing more is expected."""
        self._transport.close()

    def _pieces(self) -> Iterator[memoryview]:
        while True:
            yield self._receive()

    def _receive(self) -> memoryview:
        frame = self._transport.receive(_TAKEN_S)
        if frame is None or frame.kind != Kind.STATE:
            raise WireError("the source's state broke off")
        return frame.payload


def moved_payload(target: Target, frozen_s: float) -> bytes:
    """What MOVED tells the client."""
    host, port, fingerprint = target.endpoint
    return wire.dump_json(
        {"host": host, "port": port, "fingerprint": fingerprint, "frozen_ms": round(frozen_s * 1000, 3)}
    )
