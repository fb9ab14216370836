"""Files are sent from the event loop: the thread that opened one is free again before its first byte has left."""

import asyncio
import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from apps.storage.file_answers import HANDED_ON, Passage

_BLOCK = 1024 * 1024
_READERS = 8


class HandedOnFiles:
    """ASGI middleware: an answer to which a view has handed on a file gets that file as its body."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="files")

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[HANDED_ON] = None

        async def sending(message: dict[str, Any]) -> None:
            passage = scope[HANDED_ON]
            if passage is None:
                await send(message)
            elif message["type"] == "http.response.start":
                await send(message)
                if scope["method"] != "HEAD":
                    await passage_send(passage, receive, send, self._readers)
                await send({"type": "http.response.body", "body": b""})

        try:
            await self.app(scope, receive, sending)
        finally:
            if scope[HANDED_ON] is not None:
                scope[HANDED_ON].close()


async def passage_send(passage: Passage, receive: Any, send: Any, readers: ThreadPoolExecutor) -> None:
    """Send until the end, or until the caller is gone. Raises OSError for a file that has become shorter: the
    connection is cut, and the caller knows that he has not all of it."""
    gone = asyncio.create_task(_until_gone(receive))
    loop = asyncio.get_running_loop()
    try:
        while passage.begin < passage.end and not gone.done():
            size = min(_BLOCK, passage.end - passage.begin)
            block = await loop.run_in_executor(readers, os.pread, passage.fd, size, passage.begin)
            if not block:
                raise OSError("the file has become shorter while it was sent")
            passage.begin += len(block)
            await send({"type": "http.response.body", "body": block, "more_body": True})
    finally:
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
