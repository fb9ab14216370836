"""Sending a session's state to another worker, and taking it over there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from weir import wire
from weir.link_handshake import Claim, Endpoint, attach
from weir.transport import Transport
from weir.wire import Kind, WireError

from node_agent.sessions.core import Session
from node_agent.sessions.state import Course, state_load, state_stream

_CONNECT_S = 5.0
_TAKEN_S = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where a session shall go; `ticket` lets its state in, once."""

    endpoint: Endpoint
    ticket: str

    @classmethod
    def of(cls, wish: Any) -> Target | None:
        """From `move_to` of session.json; None where nothing (sensible) is wished."""
        try:
            endpoint = Endpoint(str(wish["host"]), int(wish["port"]), str(wish["fingerprint"]))
            return cls(endpoint, str(wish["ticket"]))
        except (KeyError, TypeError, ValueError):
            return None


def state_send(session: Session, course: Course, target: Target) -> None:
    """Stream everything; returns when the target has it. Raises OSError and WireError."""
    claim = Claim(purpose="state")
    transport, _welcome = attach(target.endpoint, target.ticket, claim, timeout_s=_CONNECT_S)
    try:
        for piece in state_stream(session, course):
            transport.send((Kind.STATE, [piece]))
        frame = transport.receive(_TAKEN_S)
        if frame is None or frame.kind != Kind.TAKEN:
            raise WireError("the target did not take the state over")
    finally:
        transport.close()


def state_take(session: Session, transport: Transport, other: Callable[[], Transport]) -> Course:
    """Fill an empty session from a source's stream. Raises OSError and WireError.

    A source on this machine goes over to shared memory before it sends: then `other` gives that connection.
    """
    return state_load(session, _received(transport, other))


def _received(transport: Transport, other: Callable[[], Transport]) -> Iterator[memoryview]:
    try:
        frame = transport.receive(_TAKEN_S)
    except OSError:
        transport = other()
        frame = transport.receive(_TAKEN_S)
    while frame is not None and frame.kind == Kind.STATE:
        yield frame.payload
        frame = transport.receive(_TAKEN_S)
    raise WireError("the source's state broke off")


def moved_payload(target: Target, frozen_s: float) -> bytes:
    """What MOVED tells the client."""
    host, port, fingerprint = target.endpoint
    return wire.dump_json(
        {"host": host, "port": port, "fingerprint": fingerprint, "frozen_ms": round(frozen_s * 1000, 3)}
    )
