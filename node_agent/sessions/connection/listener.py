"""The listener of a worker: lets in who proves to know the token, one client at a time, and nobody else.

Runs in threads of its own. What it lets in waits in `arrivals` until the worker is between two frames.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from node_agent.sessions.available import public_version
from weir_wire import wire
from weir_wire.handshake import Claim
from weir_wire.transport import Transport
from weir_wire.transport_local import LocalListener
from weir_wire.transport_tcp import TcpTransport, socket_tune
from weir_wire.wire import Kind, WireError

_PATIENCE_S = 8.0
# For all that somebody has to say until he is let in; a worker with a small share is not quick itself.
_IN_ALL_S = 20.0
_AT_ONCE = 16
_LOOK_S = 1.0
_NOTES = 200


class Refusal(Exception):
    """Why somebody is not let in."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Rules(Protocol):
    """Who may come in now; asked by the listener's threads."""

    def key_for(self, purpose: str) -> str:
        """The secret that who comes for this must know. Raises Refusal."""
        ...

    def check(self, claim: Claim) -> None:
        """Asked after the proof was right. Raises Refusal."""
        ...

    def let_in(self, arrival: Arrival) -> bool:
        """Take in at once, in the listener's thread, who is no client: another worker of a process group, say."""
        ...


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody let in. With a claim: expects WELCOME signed with `signature`. Without: the client attached
    already, now over shared memory."""

    transport: Transport
    claim: Claim | None
    signature: str = ""


class Strangers:
    """Who has come and proved nothing yet: few at once and none for long, so that they keep nobody else out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[socket.socket, tuple[str, float]] = {}

    def enter(self, sock: socket.socket, address: str) -> None:
        """Take in a connection that has proved nothing yet. Where there are too many, the oldest from the address
        that sent most of them is cut off."""
        with self._lock:
            self._rows[sock] = (address, time.monotonic())
            if len(self._rows) > _AT_ONCE:
                busiest = Counter(row[0] for row in self._rows.values()).most_common(1)[0][0]
                self._cut(next(one for one, row in self._rows.items() if row[0] == busiest))

    def leave(self, sock: socket.socket) -> None:
        """He has proved himself, or was sent away."""
        with self._lock:
            self._rows.pop(sock, None)

    def hurry(self) -> None:
        """Cut off whoever has taken too long over all he had to say."""
        oldest = time.monotonic() - _IN_ALL_S
        with self._lock:
            for sock in [one for one, row in self._rows.items() if row[1] < oldest]:
                self._cut(sock)

    def _cut(self, sock: socket.socket) -> None:
        del self._rows[sock]
        with contextlib.suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


class Listener:
    """Listens on a port of its own choice (0: any); `fingerprint` is what clients pin."""

    def __init__(self, host: str, rules: Rules, tls: tuple[ssl.SSLContext, str]) -> None:
        self._context, self.fingerprint = tls
        self._rules = rules
        self.host = host
        self._listener = socket.create_server((host, 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.arrivals: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self._noted, self._is_closed = 0, False
        self._strangers = Strangers()
        self._local: LocalListener | None = None
        with contextlib.suppress(OSError):
            self._local = LocalListener()

    @property
    def reach(self) -> tuple[str, int, str]:
        """Where other workers find this one; no host where it listens on all addresses: who came knows one."""
        is_any = self.host in ("", "0.0.0.0", "::")  # noqa: S104
        return "" if is_any else self.host, self.port, self.fingerprint

    def open(self) -> None:
        """Begin to let clients in."""
        threading.Thread(target=self._accept_tcp, name="listener", daemon=True).start()
        if self._local is not None:
            threading.Thread(target=self._accept_local, name="listener-local", daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more: for a process that goes on without it."""
        self._is_closed = True
        listening = [self._listener] + ([self._local.listener] if self._local is not None else [])
        for one in listening:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def invite(self) -> dict[str, str] | None:
        """How the client that is being welcomed reaches the shared memory."""
        return None if self._local is None else self._local.invite()

    def _accept_tcp(self) -> None:
        self._listener.settimeout(_LOOK_S)
        while not self._is_closed:
            self._strangers.hurry()
            try:
                self._admit(*self._listener.accept())
            except TimeoutError:
                continue
            except (OSError, ValueError, RuntimeError):
                # Out of descriptors or threads, or he is gone already: the next one may fare better.
                time.sleep(0.01)

    def _admit(self, raw: socket.socket, address: tuple[str, int]) -> None:
        with raw:
            raw.settimeout(_PATIENCE_S)
            sock = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
        self._strangers.enter(sock, address[0])
        threading.Thread(target=self._greet, args=(sock, address[0]), daemon=True).start()

    def _accept_local(self) -> None:
        local = self._local
        while local is not None and not self._is_closed:
            try:
                sock, _address = local.listener.accept()
            except OSError:
                continue
            transport = local.answer(sock)
            if transport is not None:
                self.arrivals.put(Arrival(transport, None))

    def _greet(self, sock: ssl.SSLSocket, address: str) -> None:
        transport: TcpTransport | None = None
        try:
            socket_tune(sock)
            sock.do_handshake()
            transport = TcpTransport(sock)
            arrival = self._prove(transport)
            self._strangers.leave(sock)
            if not self._rules.let_in(arrival):
                self.arrivals.put(arrival)
        except Refusal as refusal:
            self._refuse(transport, address, refusal)
        except WireError as error:
            self._refuse(transport, address, Refusal("bad_frame", str(error)))
        except (OSError, ValueError):
            sock.close()
        finally:
            self._strangers.leave(sock)

    def _refuse(self, transport: TcpTransport | None, address: str, refusal: Refusal) -> None:
        """Say so to who came, and to the slice's log, where operators find it (ELA-1408); not without end."""
        if self._noted < _NOTES:
            self._noted += 1
            print(f"session: {address} was refused: {refusal.code}", file=sys.stderr, flush=True)
        if transport is not None:
            said = wire.dump_json({"code": refusal.code, "message": refusal.message})
            with contextlib.suppress(OSError):
                transport.send((Kind.REFUSED, [said]))
            transport.close()

    def _prove(self, transport: TcpTransport) -> Arrival:
        """The handshake up to the proof. Raises Refusal, WireError, OSError."""
        hello = _expect(transport, Kind.HELLO)
        self._check_version(hello)
        purpose, nonce = str(hello.get("purpose")), str(hello.get("nonce"))[:64]
        key = self._rules.key_for(purpose)
        mine = secrets.token_hex(16)
        version = public_version(torch.__version__)
        challenge = {"protocol": wire.PROTOCOL, "torch": version, "nonce": mine}
        transport.send((Kind.CHALLENGE, [wire.dump_json(challenge)]))
        proof = _expect(transport, Kind.PROOF)
        claim = Claim(
            str(proof.get("resume"))[:64],
            _number(proof.get("received")),
            proof.get("back") is True,
            purpose,
        )
        heard = [nonce, mine, self.fingerprint]
        said = [purpose, claim.session, str(claim.received), str(claim.is_back)]
        if not wire.mac_equal(proof.get("mac"), wire.mac(key, "client", *heard, *said)):
            raise Refusal("token", "the token is not this session's")
        self._rules.check(claim)
        return Arrival(transport, claim, wire.mac(key, "worker", *heard))

    @staticmethod
    def _check_version(hello: dict[str, Any]) -> None:
        version = public_version(torch.__version__)
        if hello.get("protocol") != wire.PROTOCOL:
            raise Refusal("version", f"this worker speaks protocol {wire.PROTOCOL}")
        if hello.get("torch") != version:
            theirs = str(hello.get("torch"))[:40]
            raise Refusal("version", f"the worker has torch {version}, the client {theirs}: install the same")


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise WireError("a number was expected")
    return value


def _expect(transport: Transport, kind: Kind) -> dict[str, Any]:
    frame = transport.receive(_PATIENCE_S)
    if frame is None or frame.kind != kind or len(frame.payload) > 4096:
        raise WireError(f"{kind.name} was expected")
    found: dict[str, Any] = wire.load_json(frame.payload)
    return found
