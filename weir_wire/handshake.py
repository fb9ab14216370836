"""How a client and a worker prove to each other that both know the session's token, over pinned TLS."""

from __future__ import annotations

import functools
import importlib.metadata
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

from weir_wire import wire
from weir_wire.transport import Frame, Transport
from weir_wire.transport_local import client_open
from weir_wire.transport_tcp import client_connect
from weir_wire.wire import Kind, SessionLost, WireError


class Endpoint(NamedTuple):
    """Where a worker listens, and the SHA-256 of its certificate."""

    host: str
    port: int
    fingerprint: str


class HandshakeRefused(ConnectionError):
    """The worker said no; `code` is stable: "busy", "version", "token", "ended", "unknown_session", "waiting"."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Claim:
    """What a client says it is: `session` to resume ("" for a new one), the last reply it got, and whether it
    comes back from a move whose target it could not reach."""

    session: str = ""
    received: int = 0
    is_back: bool = False
    purpose: str = "client"


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the worker said: the session's id, the last frame it ran, the share."""

    session: str
    processed: int
    quota_mib: int
    compute_percent: int
    device: str
    local: Any


@functools.cache
def torch_version() -> str:
    """PyTorch's version here without its build ("2.13.0"), or "" where there is none."""
    try:
        return importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return ""


def attach(
    endpoint: Endpoint, token: str, claim: Claim, *, timeout_s: float, is_local: bool = True
) -> tuple[Transport, Welcome]:
    """Connect, prove, be welcomed; over shared memory where both are on one machine and `is_local` allows it.

    Raises HandshakeRefused, OSError, and WireError for a worker that speaks something else.
    """
    tcp = client_connect(*endpoint, timeout_s=timeout_s)
    try:
        welcome = _prove(tcp, endpoint, token, claim, timeout_s)
        local = client_open(welcome.local) if is_local else None
    except BaseException:
        tcp.close()
        raise
    if local is None:
        return tcp, welcome
    tcp.close()
    return local, welcome


def _prove(tcp: Transport, endpoint: Endpoint, token: str, claim: Claim, timeout_s: float) -> Welcome:
    nonce = secrets.token_hex(16)
    hello = {"protocol": wire.PROTOCOL, "torch": torch_version(), "nonce": nonce, "purpose": claim.purpose}
    tcp.send((Kind.HELLO, [wire.dump_json(hello)]))
    challenge = _expect(tcp, Kind.CHALLENGE, timeout_s)
    heard = [nonce, str(challenge.get("nonce")), endpoint.fingerprint]
    said = [claim.session, str(claim.received), str(claim.is_back)]
    proof = {
        "mac": wire.mac(token, "client", *heard, claim.purpose, *said),
        "resume": claim.session,
        "received": claim.received,
        "back": claim.is_back,
    }
    tcp.send((Kind.PROOF, [wire.dump_json(proof)]))
    found = _expect(tcp, Kind.WELCOME, timeout_s)
    if not wire.mac_equal(found.get("mac"), wire.mac(token, "worker", *heard)):
        raise HandshakeRefused("token", "the worker does not know the session's token")
    return Welcome(
        str(found["session"]),
        int(found["processed"]),
        int(found["quota_mib"]),
        int(found["compute_percent"]),
        str(found["device"]),
        found.get("local"),
    )


def _expect(tcp: Transport, kind: Kind, timeout_s: float) -> dict[str, Any]:
    frame: Frame | None = tcp.receive(timeout_s)
    if frame is None:
        raise TimeoutError("the worker did not answer in time")
    if frame.kind == Kind.REFUSED:
        refusal = wire.load_json(frame.payload)
        raise HandshakeRefused(str(refusal.get("code")), str(refusal.get("message")))
    if frame.kind != kind:
        raise WireError(f"a frame of kind {frame.kind} where {kind.name} was expected")
    found: dict[str, Any] = wire.load_json(frame.payload)
    return found


def lost_by(refusal: HandshakeRefused) -> SessionLost:
    """The refusal as the end of the session."""
    return SessionLost(f"the session cannot be used: {refusal}")
