"""An answer that breaks off, as work's answers do: its caller sees it, and no log is filled with it."""

import asyncio
import logging
import socket
from typing import Any

import pytest
import uvicorn

from portal.serving.protocol import BoundedHttpProtocol, cut

pytestmark = pytest.mark.req("PLAT-CMP-10")


async def _half(scope: dict[str, Any], _receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"200")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})
    await cut(scope)


def test_an_answer_that_breaks_off_ends_its_connection_and_leaves_no_traceback(caplog) -> None:
    caplog.set_level(logging.INFO)

    async def body() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(_half, log_config=None, lifespan="off", http=BoundedHttpProtocol)
        )
        serving = asyncio.create_task(server._serve([listening]))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: work\r\n\r\n")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(400)
        writer.close()
        server.should_exit = True
        await serving

    asyncio.run(asyncio.wait_for(body(), 60))
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_where_nothing_can_be_cut_the_server_hears_of_it() -> None:
    with pytest.raises(ConnectionAbortedError):
        asyncio.run(cut({"type": "http"}))
