"""Answers wait on the event loop for callers who read slowly; the thread that made them is free for the next."""

import asyncio
from typing import Any

# What one answer may have waiting: more than any page or list of ours has. A longer one is made as it is read.
WAITING_MAX_BYTES = 4 * 2**20
# What all answers may have waiting together; beyond it each has room for one message, and is made as it is read.
TOTAL_MAX_BYTES = 256 * 2**20


class BufferedResponses:
    """ASGI middleware between an application that answers at its own speed and callers who read at theirs."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.waiting_bytes = 0

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        outbox = _Outbox(self, send)
        sending = asyncio.create_task(outbox.run())
        try:
            await self.app(scope, receive, outbox.put)
            await outbox.put(None)
            await sending
        finally:
            sending.cancel()
            self.waiting_bytes -= outbox.waiting_bytes


class _Outbox:
    """The messages of one answer that are not sent yet."""

    def __init__(self, owner: BufferedResponses, send: Any) -> None:
        self._owner, self._send = owner, send
        self._messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.waiting_bytes = 0

    async def put(self, message: dict[str, Any] | None) -> None:
        """Take a message, None after the last; waits while too much of this answer is unsent."""
        await self._has_room.wait()
        self._messages.put_nowait(message)
        self._count(_size(message))

    async def run(self) -> None:
        """Send what is put until the end."""
        try:
            while (message := await self._messages.get()) is not None:
                await self._send(message)
                self._count(-_size(message))
        finally:
            # Nobody waits for a caller that is gone: the error, if any, reaches who awaits this task.
            self._has_room.set()

    def _count(self, size: int) -> None:
        self.waiting_bytes += size
        self._owner.waiting_bytes += size
        is_full = self.waiting_bytes >= WAITING_MAX_BYTES or (
            self.waiting_bytes > 0 and self._owner.waiting_bytes >= TOTAL_MAX_BYTES
        )
        if is_full:
            self._has_room.clear()
        else:
            self._has_room.set()


def _size(message: dict[str, Any] | None) -> int:
    return len(message.get("body", b"")) if message else 0
