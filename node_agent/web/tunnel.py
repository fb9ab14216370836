"""The agent's end of the tunnel: connections that it opens to the portal, by which people reach work on the node.

It runs on an event loop in a thread of its own, while there is work that may be reached. Nothing listens on the node.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from node_agent.protocol.tunnel import (
    STREAM_CHUNK_BYTES,
    STREAMS_MAX,
    STREAMS_MAX_OF_SLICE,
    TUNNEL_PATH,
    OpenStream,
    RefusalCode,
    StreamRefused,
    stream_path,
)
from node_agent.web.execution import carry_execution
from node_agent.web.service_place import ServicePlace
from node_agent.web.work_socket import NotListening, TooBusy, WorkSocket

_RETRY_MIN_S, _RETRY_MAX_S = 0.25, 15.0
_OPEN_S = 10.0
_CONTROL_BYTES = 4096

log = logging.getLogger("weir.agent")
SocketOf = Callable[[str], WorkSocket | ServicePlace | None]
ExecutionsOf = Callable[[str], Path | None]


class WebTunnel:
    """One node's tunnel to one portal.

    `socket_of` tells where a slice's work listens (None: it serves no pages), `executions_of` where its shim is asked
    to run something beside it (None: beside this nothing is run).
    """

    def __init__(
        self, server: str, ca: Path | None, socket_of: SocketOf, executions_of: ExecutionsOf
    ) -> None:
        """`ca`: the only authority whose certificates are believed; None: those this machine believes."""
        parts = urlsplit(server)
        is_secure = parts.scheme == "https"
        self._base = f"{'wss' if is_secure else 'ws'}://{parts.netloc}{parts.path.rstrip('/')}"
        self._trusted = ssl.create_default_context(cafile=str(ca) if ca else None) if is_secure else None
        self._is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._socket_of, self._executions_of = socket_of, executions_of
        self._credential = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    def open(self, credential: str) -> None:
        """Hold the tunnel from now on, with this credential; nothing happens where it is held already."""
        if credential == self._credential:
            return
        self.close()
        self._credential = credential
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="web-tunnel", daemon=True)
        self._thread.start()
        started.wait()

    def close(self) -> None:
        """End the tunnel and all connections through it."""
        if self._thread is None or self._loop is None or self._running is None:
            return
        with suppress(RuntimeError):  # its loop has ended by itself
            self._loop.call_soon_threadsafe(self._running.cancel)
        self._thread.join()
        self._thread, self._credential = None, ""

    def _run(self, started: threading.Event) -> None:
        async def body() -> None:
            self._loop, self._running = asyncio.get_running_loop(), asyncio.current_task()
            started.set()
            await self._hold()

        with suppress(asyncio.CancelledError):
            asyncio.run(body())

    async def _hold(self) -> None:
        """Keep the tunnel open, whatever happens to it."""
        wait_s, trouble = _RETRY_MIN_S, ""
        while True:
            try:
                async with self._connection(TUNNEL_PATH, _CONTROL_BYTES) as control:
                    wait_s, trouble = _RETRY_MIN_S, ""
                    await self._serve(control)
            except (OSError, WebSocketException, TimeoutError) as error:
                if str(error) != trouble:
                    trouble = str(error)
                    log.warning("work cannot be reached through the portal: %s", error)
            await asyncio.sleep(wait_s * random.uniform(0.8, 1.0))
            wait_s = min(2 * wait_s, _RETRY_MAX_S)

    def _connection(self, path: str, limit_bytes: int) -> connect:
        return connect(
            self._base + path,
            additional_headers={"Authorization": f"Bearer {self._credential}"},
            ssl=self._trusted,
            compression=None,
            max_size=limit_bytes,
            open_timeout=_OPEN_S,
            proxy=None if self._is_local else True,
        )

    async def _serve(self, control: ClientConnection) -> None:
        """Open what the portal asks for, until it closes the tunnel."""
        streams: dict[asyncio.Task[None], str] = {}
        try:
            async for text in control:
                try:
                    asked = OpenStream.model_validate_json(text)
                except ValidationError:
                    # Of a later portal: this agent does not know what it says.
                    continue
                of_slice = list(streams.values()).count(asked.slice_uid)
                if len(streams) >= STREAMS_MAX or of_slice >= STREAMS_MAX_OF_SLICE:
                    await _refuse(control, asked, "busy")
                    continue
                carry = self._web_stream if asked.kind == "web" else self._exec_stream
                stream = asyncio.create_task(carry(control, asked))
                streams[stream] = asked.slice_uid
                stream.add_done_callback(streams.pop)
        finally:
            for stream in streams:
                stream.cancel()
            await asyncio.gather(*streams, return_exceptions=True)

    async def _exec_stream(self, control: ClientConnection, asked: OpenStream) -> None:
        asked_at = self._executions_of(asked.slice_uid)
        if asked_at is None:
            await _refuse(control, asked, "unknown")
            return
        try:
            async with self._connection(stream_path(asked.stream), STREAM_CHUNK_BYTES) as portal:
                await carry_execution(portal, asked_at)
        except (OSError, ValueError, WebSocketException, TimeoutError) as error:
            log.debug("a connection to a process beside work broke: %s", error)

    async def _web_stream(self, control: ClientConnection, asked: OpenStream) -> None:
        work_socket = self._socket_of(asked.slice_uid)
        try:
            if work_socket is None:
                await _refuse(control, asked, "unknown")
                return
            connected = await asyncio.to_thread(work_socket.connect)
            reader, writer = await asyncio.open_connection(sock=connected)
        except NotListening:
            await _refuse(control, asked, "not_listening")
            return
        except (TooBusy, OSError):
            await _refuse(control, asked, "busy")
            return
        try:
            async with self._connection(stream_path(asked.stream), STREAM_CHUNK_BYTES) as portal:
                await _pump(reader, writer, portal)
        except (OSError, WebSocketException, TimeoutError) as error:
            log.debug("a connection to a work's web pages broke: %s", error)
        finally:
            writer.close()


async def _refuse(control: ClientConnection, asked: OpenStream, code: RefusalCode) -> None:
    with suppress(WebSocketException):
        await control.send(StreamRefused(stream=asked.stream, code=code).model_dump_json())


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, portal: ClientConnection) -> None:
    """Carry bytes both ways until either side ends."""

    async def to_portal() -> None:
        while chunk := await reader.read(STREAM_CHUNK_BYTES):
            await portal.send(chunk)

    async def to_work() -> None:
        async for chunk in portal:
            writer.write(chunk if isinstance(chunk, bytes) else chunk.encode())
            await writer.drain()

    ways = [asyncio.create_task(to_portal()), asyncio.create_task(to_work())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
