"""Replies a client has not acknowledged: kept for sending again after a dropped connection, within bounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from node_agent.sessions.execution.reply import Reply
from weir_wire import wire
from weir_wire.wire import Fault

FRAMES = 256
BYTES = 4 * wire.CREDIT_BYTES
"""Beside the latest reply, which always stays."""


class KeptReplies:
    """In order of their numbers. What had to give way is answered by a fault, so that nobody waits for ever."""

    def __init__(self, rows: Iterable[tuple[int, Reply]] = ()) -> None:
        self.rows = deque(rows)
        self._bytes = sum(_size(reply) for _number, reply in self.rows)
        self._lost: deque[int] = deque(maxlen=4 * FRAMES)

    def keep(self, number: int, reply: Reply) -> None:
        """Add a reply; the oldest give way where there are too many of them or of their bytes, never the latest."""
        self.rows.append((number, reply))
        self._bytes += _size(reply)
        while len(self.rows) > 1 and (len(self.rows) > FRAMES or self._bytes > BYTES):
            self._lost.append(self._drop())

    def freeze(self) -> None:
        """What a kept reply shows of tensors must not change with them."""
        for _number, reply in self.rows:
            if reply.bulk and not isinstance(reply.body[0], bytes):
                reply.body = [bytes(reply.body[0])]

    def forget(self, number: int) -> None:
        """All up to this one have arrived."""
        while self.rows and self.rows[0][0] <= number:
            self._drop()
        while self._lost and self._lost[0] <= number:
            self._lost.popleft()

    def again(self) -> Iterator[tuple[int, Reply]]:
        """What a client that comes back is answered."""
        fault = Fault("reply_lost", "", "the reply was lost with the connection: too many waited at once")
        yield from ((number, Reply([], [fault])) for number in self._lost)
        yield from self.rows

    def _drop(self) -> int:
        number, reply = self.rows.popleft()
        self._bytes -= _size(reply)
        return number


def _size(reply: Reply) -> int:
    return sum(map(wire.size_of, reply.body))
