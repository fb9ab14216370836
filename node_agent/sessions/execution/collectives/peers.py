"""Another session of a process group, as this one sees it: a connection that sends beside what it receives."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from node_agent.sessions.execution.collectives.loan import Loan
from weir_wire import wire
from weir_wire.transport import Frame, Transport
from weir_wire.wire import Kind, WireError

QUEUED_BYTES = 8 * wire.CHUNK_BYTES
"""Of collectives so much may wait to be sent; then the sender waits for the receiver."""
_TICK_S = 0.05
# A last word reaches whoever still reads; nobody waits longer for one who does not.
_PARTING_S = 2.0
_BROKEN = "its worker has ended or the connection broke"


class GroupBroken(Exception):
    """The sessions of a group can do nothing together any more; the message says why, in words for every rank."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an operation waits for other ranks; `ended` says why it is not wanted any more, or nothing."""

    timeout_s: float
    deadline: float
    ended: Callable[[], str]

    @classmethod
    def of(cls, timeout_s: float, ended: Callable[[], str]) -> Patience:
        """So many seconds from now on."""
        return cls(timeout_s, time.monotonic() + timeout_s, ended)

    def tick(self, rank: int) -> float:
        """How long to wait at once. Raises GroupBroken where the time is over, or the operation."""
        why = self.ended()
        if why:
            raise GroupBroken(why)
        left_s = self.deadline - time.monotonic()
        if left_s <= 0:
            raise GroupBroken(f"rank {rank} did not take part within {self.timeout_s:g} s")
        return min(_TICK_S, left_s)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A frame that waits to be sent; `sent` is called with its size when it is, or never will be."""

    kind: int
    data: bytes
    sent: Callable[[int], None] | None

    def is_over(self) -> None:
        if self.sent is not None:
            self.sent(len(self.data))


@dataclass(frozen=True, slots=True)
class Message:
    """What a rank sent and nobody has asked for yet."""

    said: dict[str, Any]
    data: bytearray


class Peer:
    """Rank `rank` over a transport. One thread receives; another sends what `post` has queued."""

    def __init__(self, rank: int, transport: Transport, loan: Loan) -> None:
        self.rank, self.loan = rank, loan
        self._transport = transport
        self._changed = threading.Condition()
        self._queue: deque[Outgoing] = deque()
        self._queued_bytes = 0
        self._lost = ""
        self._is_parting = False
        self._kept: dict[int, deque[Message]] = {}
        threading.Thread(target=self._send_all, name=f"to-rank-{rank}", daemon=True).start()

    # --- sending

    def post(
        self,
        kind: int,
        data: bytes,
        patience: Patience | None = None,
        sent: Callable[[int], None] | None = None,
    ) -> None:
        """Send this after all that was posted before; with `patience`, wait for the receiver where it is far behind.

        Raises GroupBroken.
        """
        with self._changed:
            while patience is not None and self._queued_bytes > QUEUED_BYTES and not self._lost:
                self._changed.wait(patience.tick(self.rank))
            if self._lost:
                raise GroupBroken(self._lost)
            self._queue.append(Outgoing(kind, data, sent))
            self._queued_bytes += len(data)
            self._changed.notify_all()

    def _send_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._is_parting or self._lost)
                if self._lost or not self._queue:
                    break
                frame = self._queue[0]
            try:
                self._transport.send((frame.kind, [frame.data]))
            except OSError:
                self._lose(self._gone())
                break
            with self._changed:
                self._queue.popleft()
                self._queued_bytes -= len(frame.data)
                self._changed.notify_all()
            frame.is_over()
        self._drop_queue()

    def _drop_queue(self) -> None:
        with self._changed:
            rest, self._queue = list(self._queue), deque()
            self._changed.notify_all()
        for frame in rest:
            frame.is_over()

    def part(self, reason: str) -> None:
        """Tell it that nothing more comes, and why; the connection closes once it has heard, or soon anyway."""
        with contextlib.suppress(GroupBroken):
            self.post(Kind.PEER_END, wire.dump_json({"reason": reason[:500]}))
        with self._changed:
            self._is_parting = True
            self._changed.notify_all()
        threading.Thread(target=self._close_soon, name="parting", daemon=True).start()

    def _close_soon(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._queue or self._lost, _PARTING_S)
        # Until it has closed its end: with unread bytes a close would reset the connection, and lose the last word.
        deadline = time.monotonic() + _PARTING_S
        with contextlib.suppress(OSError, WireError):
            while time.monotonic() < deadline:
                self._transport.receive(_TICK_S)
        self._lose("the group has ended")

    def _lose(self, why: str) -> None:
        with self._changed:
            self._lost = self._lost or why
            self._changed.notify_all()
        self._transport.close()

    def _gone(self) -> str:
        return f"rank {self.rank} has gone: {_BROKEN}"

    # --- receiving

    def hear(self, wanted: dict[str, Any], patience: Patience) -> None:
        """Wait until it begins what this rank begins. Raises GroupBroken, also where it begins something else."""
        while True:
            said = self._begun(patience)
            if said == wanted:
                return
            if said.get("op") != "send":
                raise GroupBroken(
                    f"rank {self.rank} calls {words_of(said)} where another rank calls {words_of(wanted)}"
                )
            self._keep(said, patience)

    def hear_sent(self, wanted: dict[str, Any], patience: Patience) -> Message | None:
        """Wait for what it sends under this tag: the message, where it came before; else None, and its bytes follow."""
        kept = self._kept.get(wanted["tag"])
        if kept:
            message = kept.popleft()
            self._check_sent(message.said, wanted)
            return message
        while True:
            said = self._begun(patience)
            if said.get("op") != "send":
                raise GroupBroken(
                    f"rank {self.rank} calls {words_of(said)} where another rank waits for a send"
                )
            if said.get("tag") == wanted["tag"]:
                self._check_sent(said, wanted)
                return None
            self._keep(said, patience)

    def data(self, nbytes: int, patience: Patience) -> memoryview:
        """The next so many bytes, one frame; valid until the next call. Raises GroupBroken."""
        frame = self._receive(patience)
        if frame.kind != Kind.PEER_DATA or len(frame.payload) != nbytes:
            raise GroupBroken(f"rank {self.rank} sent a frame that does not belong here")
        return frame.payload

    def _begun(self, patience: Patience) -> dict[str, Any]:
        frame = self._receive(patience)
        if frame.kind != Kind.PEER_BEGIN:
            raise GroupBroken(f"rank {self.rank} sent a frame that does not belong here")
        try:
            return wire.load_json(frame.payload)  # type: ignore[no-any-return]
        except WireError as error:
            raise GroupBroken(f"rank {self.rank} sent a malformed frame: {error}") from error

    def _check_sent(self, said: dict[str, Any], wanted: dict[str, Any]) -> None:
        if said != wanted:
            raise GroupBroken(
                f"rank {self.rank} sends {words_of(said)} where {words_of(wanted)} is waited for"
            )

    def _keep(self, said: dict[str, Any], patience: Patience) -> None:
        """Read a message that nobody waits for yet. Raises GroupBroken for what is none, and OutOfMemory."""
        nbytes, tag = said.get("nbytes"), said.get("tag")
        if type(nbytes) is not int or type(tag) is not int or nbytes < 0:
            raise GroupBroken(f"rank {self.rank} sent a malformed frame: {words_of(said)}")
        self.loan.take(nbytes)
        data = bytearray()
        while len(data) < nbytes:
            data += self.data(min(wire.CHUNK_BYTES, nbytes - len(data)), patience)
        self._kept.setdefault(tag, deque()).append(Message(said, data))

    def _receive(self, patience: Patience) -> Frame:
        while True:
            tick_s = patience.tick(self.rank)
            try:
                frame = self._transport.receive(tick_s)
            except WireError as error:
                raise GroupBroken(f"rank {self.rank} broke the protocol: {error}") from error
            except OSError:
                raise GroupBroken(self._lost or self._gone()) from None
            if frame is None:
                continue
            if frame.kind == Kind.PEER_END:
                raise GroupBroken(_reason(self.rank, frame))
            return frame


def _reason(rank: int, frame: Frame) -> str:
    try:
        return str(wire.load_json(frame.payload).get("reason"))[:500]
    except WireError:
        return f"rank {rank} takes part no more"


def words_of(said: dict[str, Any]) -> str:
    """What a rank begins, for people: "all_reduce (sum) number 3 of 400 bytes float32"."""
    reduce = f" ({said['reduce']})" if said.get("reduce") else ""
    number = f" number {said['number']}" if "number" in said else f" with tag {said.get('tag')}"
    return f"{said.get('op')}{reduce}{number} of {said.get('nbytes')} bytes {said.get('dtype', '')}"[
        :200
    ].rstrip()
