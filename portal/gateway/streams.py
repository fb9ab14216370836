"""A connection to a work's socket as the portal holds it, whichever way its bytes come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

_CHUNKS_WAITING = 16


class NoStream(Exception):
    """There is no connection to be had. `code`: the node's refusal, or `away` where the node is not connected."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Stream:
    """Bytes both ways until either side closes. `send` brings bytes to the work; `fill` takes what comes from it."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(_CHUNKS_WAITING)
        self._left = b""
        self._is_over = False
        self._closed = asyncio.Event()

    async def fill(self, chunks: AsyncIterator[bytes]) -> None:
        """Take what comes from the work until it ends, or until who uses the stream closes it."""

        async def take() -> None:
            async for chunk in chunks:
                if chunk:
                    await self._chunks.put(chunk)
            await self._chunks.put(b"")
            # Read to its end, then closed by who uses it.
            await self._closed.wait()

        taking, closing = asyncio.create_task(take()), asyncio.create_task(self._closed.wait())
        try:
            await asyncio.wait((taking, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            taking.cancel()
            closing.cancel()
            self.close()
            await asyncio.gather(taking, return_exceptions=True)

    async def read(self, most: int) -> bytes:
        """Up to `most` bytes, as soon as there are some; none at the end."""
        if not self._left and not self._is_over:
            self._left = await self._next()
            self._is_over = not self._left
        piece, self._left = self._left[:most], self._left[most:]
        return piece

    async def _next(self) -> bytes:
        if not self._chunks.empty():
            return self._chunks.get_nowait()
        if self._closed.is_set():
            return b""
        chunk, closing = asyncio.create_task(self._chunks.get()), asyncio.create_task(self._closed.wait())
        try:
            await asyncio.wait((chunk, closing), return_when=asyncio.FIRST_COMPLETED)
            return chunk.result() if chunk.done() else b""
        finally:
            chunk.cancel()
            closing.cancel()

    async def write(self, data: bytes) -> None:
        """Bring bytes to the work. Raises ConnectionError where the stream has ended."""
        if self._closed.is_set():
            raise ConnectionResetError("the stream has ended")
        await self._send(data)

    @property
    def is_readable(self) -> bool:
        """Whether a read would not wait: of an idle connection, whether it has ended."""
        return bool(self._left) or not self._chunks.empty() or self._closed.is_set()

    def close(self) -> None:
        """End it; again is nothing."""
        self._closed.set()
