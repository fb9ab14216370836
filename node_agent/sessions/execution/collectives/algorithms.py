"""What the sessions of a group do together, as rows of elements: along a ring, in pieces of a frame each.

Every rank runs the same function at the same time. A reduction adds in the order of the ring, the same for every
rank, and its result is sent, not computed twice: all ranks hold the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import torch

from node_agent.sessions.execution.collectives.flat import REDUCERS, Scratch, averaged, packed, pieces, put
from node_agent.sessions.execution.collectives.loan import Loan
from node_agent.sessions.execution.collectives.peers import Patience, Peer
from node_agent.sessions.execution.template import name_of
from weir_wire import wire
from weir_wire.wire import Kind

Rows = list[torch.Tensor]


class Exchange:
    """One run of a collective at one rank. `said` is what is the same at every rank: operation, number, settings."""

    def __init__(self, rank: int, peers: dict[int, Peer], patience: Patience, said: dict[str, Any]) -> None:
        self.rank, self.size = rank, len(peers) + 1
        self._peers, self._patience, self._said = peers, patience, said
        # Alone there is neither, and nothing asks for one.
        self._right: Any = peers.get((rank + 1) % self.size)
        self._left: Any = peers.get((rank - 1) % self.size)
        self._reducer = REDUCERS.get(str(said.get("reduce")))
        self._scratch = Scratch()

    # --- the operations

    def all_reduce(self, data: torch.Tensor) -> None:
        """Each rank's row becomes the reduction of all."""
        right, left, size = self._right, self._left, self.size
        self._meet(data)
        chunks = [
            data[size_from(len(data), size, k) : size_from(len(data), size, k + 1)] for k in range(size)
        ]
        for step in range(size - 1):
            out, into = chunks[(self.rank - step) % size], chunks[(self.rank - step - 1) % size]
            self._swap(right, out, left, into, self._reduce)
        self._finish(chunks[(self.rank + 1) % size])
        for step in range(size - 1):
            out, into = chunks[(self.rank + 1 - step) % size], chunks[(self.rank - step) % size]
            self._swap(right, out, left, into, put)

    def broadcast(self, data: torch.Tensor, root: int) -> None:
        """Each rank's row becomes that of `root`, handed on along the ring."""
        place = (self.rank - root) % self.size
        self._begin_chain(data, place)
        for piece in pieces(data):
            if place:
                put(piece, self._left.data(_size(piece), self._patience))
            if place < self.size - 1:
                self._send(self._right, piece)

    def reduce(self, data: torch.Tensor, root: int) -> None:
        """The row of `root` becomes the reduction of all; others keep theirs."""
        place = (self.rank - root - 1) % self.size
        self._begin_chain(data, place)
        for piece in pieces(data):
            total = piece if place == self.size - 1 else piece.clone()
            if place:
                self._reduce(total, self._left.data(_size(piece), self._patience))
            if place < self.size - 1:
                self._send(self._right, total)
        if place == self.size - 1:
            self._finish(data)

    def all_gather(self, own: torch.Tensor, rows: Rows) -> None:
        """Each rank's rows become what all ranks have."""
        right, left, size = self._right, self._left, self.size
        self._meet(own)
        rows[self.rank].copy_(own)
        for step in range(size - 1):
            out, into = rows[(self.rank - step) % size], rows[(self.rank - step - 1) % size]
            self._swap(right, out, left, into, put)

    def reduce_scatter(self, rows: Rows, own: torch.Tensor) -> None:
        """This rank's row becomes the reduction of all ranks' rows for it."""
        right, left, size = self._right, self._left, self.size
        self._meet(own)
        if rows[self.rank].untyped_storage()._cdata == own.untyped_storage()._cdata:
            # Partial sums pass through the result: what it shares memory with is kept apart.
            rows = [row.clone() if k == self.rank else row for k, row in enumerate(rows)]
        for step in range(size - 1):
            out = rows[(self.rank - 1) % size] if not step else own
            mine = rows[(self.rank - step - 2) % size]
            for sent, total, piece in zip(pieces(out), pieces(own), pieces(mine), strict=True):
                self._send(right, sent)
                came = left.data(_size(piece), self._patience)
                total.copy_(piece)
                self._reduce(total, came)
        if size == 1:
            own.copy_(rows[0])
        self._finish(own)

    def all_to_all(self, out: Rows, into: Rows) -> None:
        """Rank k gets what each rank has for it."""
        into[self.rank].copy_(out[self.rank])
        for step in range(1, self.size):
            to, source = (self.rank + step) % self.size, (self.rank - step) % self.size
            self._begin(self._peers[to], out[to])
            self._hear(self._peers[source], into[source])
            self._swap(self._peers[to], out[to], self._peers[source], into[source], put)

    def gather(self, own: torch.Tensor, rows: Rows, root: int) -> None:
        """The rows of `root` become what all ranks have."""
        if self.rank != root:
            self._begin(self._peers[root], own)
            self._send_row(self._peers[root], own)
            return
        rows[root].copy_(own)
        for rank, peer in self._peers.items():
            self._hear(peer, rows[rank])
            self._take_row(peer, rows[rank])

    def scatter(self, rows: Rows, own: torch.Tensor, root: int) -> None:
        """Each rank's row becomes what `root` has for it."""
        if self.rank != root:
            self._hear(self._peers[root], own)
            self._take_row(self._peers[root], own)
            return
        own.copy_(rows[root])
        for rank, peer in self._peers.items():
            self._begin(peer, rows[rank])
            self._send_row(peer, rows[rank])

    def barrier(self) -> None:
        """Nobody goes on before all have come."""
        nothing = torch.empty(0, dtype=torch.uint8)
        for peer in self._peers.values():
            self._begin(peer, nothing)
        for peer in self._peers.values():
            self._hear(peer, nothing)

    def send(self, data: torch.Tensor, to: int, loan: Loan) -> None:
        """To one rank, which asks for it; returns before it has: a copy waits, for memory of `loan`."""
        peer = self._peers[to]
        loan.take(_size(data))
        peer.post(Kind.PEER_BEGIN, wire.dump_json(self._header(data)))
        for piece in pieces(data):
            peer.post(Kind.PEER_DATA, packed(piece), sent=loan.give_back)

    def recv(self, data: torch.Tensor, source: int) -> None:
        """The row becomes what that rank sent under this tag."""
        peer = self._peers[source]
        message = peer.hear_sent(self._header(data), self._patience)
        if message is None:
            self._take_row(peer, data)
        else:
            put(data, memoryview(message.data))
            peer.loan.give_back(len(message.data))

    # --- parts of them

    def _header(self, data: torch.Tensor) -> dict[str, Any]:
        return {**self._said, "dtype": name_of(data.dtype), "nbytes": _size(data)}

    def _begin(self, peer: Peer, data: torch.Tensor) -> None:
        peer.post(Kind.PEER_BEGIN, wire.dump_json(self._header(data)), self._patience)

    def _hear(self, peer: Peer, data: torch.Tensor) -> None:
        peer.hear(self._header(data), self._patience)

    def _meet(self, data: torch.Tensor) -> None:
        """With both neighbours of the ring."""
        if self.size > 1:
            self._begin(self._right, data)
            self._hear(self._left, data)

    def _begin_chain(self, data: torch.Tensor, place: int) -> None:
        if place < self.size - 1:
            self._begin(self._right, data)
        if place:
            self._hear(self._left, data)

    def _send(self, peer: Peer, piece: torch.Tensor) -> None:
        peer.post(Kind.PEER_DATA, packed(piece), self._patience)

    def _send_row(self, peer: Peer, data: torch.Tensor) -> None:
        for piece in pieces(data):
            self._send(peer, piece)

    def _take_row(self, peer: Peer, data: torch.Tensor) -> None:
        for piece in pieces(data):
            put(piece, peer.data(_size(piece), self._patience))

    def _swap(
        self,
        right: Peer,
        out: torch.Tensor,
        left: Peer,
        into: torch.Tensor,
        take: Callable[[torch.Tensor, memoryview], None],
    ) -> None:
        """Send one row while another comes, piece by piece: nobody has to hold more than a few."""
        for sent, taken in zip_longest(pieces(out), pieces(into)):
            if sent is not None:
                self._send(right, sent)
            if taken is not None:
                take(taken, left.data(_size(taken), self._patience))

    def _reduce(self, mine: torch.Tensor, came: memoryview) -> None:
        assert self._reducer is not None
        self._reducer(mine, self._scratch.of(came, mine))

    def _finish(self, data: torch.Tensor) -> None:
        if self._said.get("reduce") == "avg":
            averaged(data, self.size)


def size_from(length: int, count: int, k: int) -> int:
    """Where chunk k of `count` begins in a row."""
    return length * k // count


def _size(data: torch.Tensor) -> int:
    return data.numel() * data.itemsize
