"""One process group as its session's worker knows it: who belongs to it, and the way to each."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
import time
from typing import Any

from node_agent.sessions.execution.collectives.loan import Loan
from node_agent.sessions.execution.collectives.peers import GroupBroken, Patience, Peer
from weir_wire import wire
from weir_wire.handshake import Claim, Endpoint, HandshakeRefused, attach
from weir_wire.transport import Transport
from weir_wire.wire import WireError

_PURPOSE = "peer"
_CONNECT_S = 10.0
_AGAIN_S = 0.1


class Group:
    """`host` is where this session's worker listens. `secrets` let each other rank in, once. Broken groups stay, so
    that what is asked of them is told why. `is_joined`: this rank has been asked to join, which is done once."""

    def __init__(self, rank: int, size: int, loan: Loan, host: str) -> None:
        self.id, self.rank, self.size = secrets.token_hex(8), rank, size
        self.secrets = ["" if other == rank else secrets.token_hex(16) for other in range(size)]
        self.peers: dict[int, Peer] = {}
        self.is_joined = False
        self.number = 0
        self.broken = ""
        self._loan, self.host = loan, host
        self._changed = threading.Condition()

    # --- coming together

    def secret_of(self, rank: int) -> str:
        """What this rank has to know to be let in; "" where it may not come (again)."""
        with self._changed:
            return "" if self.broken or rank <= self.rank or rank in self.peers else self.secrets[rank]

    def let_in(self, rank: int, transport: Transport) -> None:
        """The way to a rank that has proved itself."""
        with self._changed:
            self.secrets[rank] = ""
            if self.broken:
                transport.close()
                return
            self.peers[rank] = Peer(rank, transport, self._loan)
            self._changed.notify_all()

    def join(self, rows: list[Any], patience: Patience) -> None:
        """Connect to the lower ranks and wait for the higher ones. Raises GroupBroken and WireError."""
        if len(rows) != self.size:
            raise WireError(f"a group of {self.size} ranks needs as many addresses")
        for rank in range(self.rank):
            endpoint, group, secret = _address(rows[rank])
            endpoint = _allowed(endpoint, self.host)
            transport = self._connect(rank, endpoint, f"{_PURPOSE}:{group}:{self.rank}", secret, patience)
            self.let_in(rank, transport)
        with self._changed:
            while len(self.peers) < self.size - 1:
                missing = next(k for k in range(self.size) if k != self.rank and k not in self.peers)
                self._changed.wait(patience.tick(missing))

    def _connect(
        self, rank: int, endpoint: Endpoint, purpose: str, secret: str, patience: Patience
    ) -> Transport:
        while True:
            patience.tick(rank)
            left_s = min(_CONNECT_S, max(patience.deadline - time.monotonic(), 0.01))
            try:
                claim = Claim(purpose=purpose)
                return attach(endpoint, secret, claim, timeout_s=left_s, is_local=False)[0]
            except HandshakeRefused as refusal:
                raise GroupBroken(f"rank {rank} does not let rank {self.rank} in: {refusal}") from None
            except (TimeoutError, ConnectionResetError):
                # Busy, or cut off among too many callers at once: the secret has not been used.
                time.sleep(_AGAIN_S)
            except (OSError, WireError, KeyError, TypeError, ValueError):
                # The same words whatever is there: who names addresses learns nothing of them.
                where = f"{endpoint.host}:{endpoint.port}"
                raise GroupBroken(
                    f"rank {self.rank} cannot reach the session of rank {rank} at {where}: nobody answers there, or"
                    " somebody else"
                ) from None

    # --- coming apart

    def part(self, reason: str) -> None:
        """Nothing more is done together: every other rank is told why."""
        with self._changed:
            if self.broken:
                return
            self.broken = reason
            peers = list(self.peers.values())
            self._changed.notify_all()
        for peer in peers:
            peer.part(self.broken)


def purpose_of(text: str) -> tuple[str, int] | None:
    """The group and rank that a caller's purpose names; None where it is another purpose, or none."""
    kind, _, rest = text.partition(":")
    group, _, rank = rest.partition(":")
    is_one = kind == _PURPOSE and rank.isascii() and rank.isdecimal() and len(rank) <= 4
    return (group, int(rank)) if is_one else None


def _address(row: Any) -> tuple[Endpoint, str, str]:
    """Raises WireError."""
    try:
        host, port, fingerprint = str(row["host"]), row["port"], str(row["fingerprint"])
        group, secret = str(row["group"]), str(row["secret"])
    except (KeyError, TypeError) as error:
        raise WireError("a rank without address") from error
    if type(port) is not int or not 0 < port < 1 << 16 or not host or len(host) > 255 or len(secret) < 16:
        raise WireError("a rank with a malformed address")
    return Endpoint(host, port, fingerprint), group[:64], secret[:64]


def _allowed(endpoint: Endpoint, own_host: str) -> Endpoint:
    """The endpoint by its address, where that is one of a node: what is only a machine's own is another's on each.

    Raises GroupBroken.
    """
    why = f"{endpoint.host} is no address of a node that others reach"
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)[0][4][0]
        address = ipaddress.ip_address(found)
    except (OSError, ValueError, IndexError):
        raise GroupBroken(why) from None
    is_special = (
        address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    )
    if is_special and str(address) != own_host:
        raise GroupBroken(why)
    return endpoint._replace(host=str(address))


def size_checked(rank: Any, size: Any) -> tuple[int, int]:
    """A rank of a group of this size. Raises WireError."""
    if type(size) is not int or not 1 <= size <= wire.MAX_RANKS:
        raise WireError(f"a process group has 1 to {wire.MAX_RANKS} ranks")
    if type(rank) is not int or not 0 <= rank < size:
        raise WireError(f"a rank is a number from 0 to {size - 1}")
    return rank, size
