"""Carrying a request, or a WebSocket, of a browser to the work that answers it, and its answer back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpcore
from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.http11 import Response
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from apps.scheduling.selectors.web_pages import WebPages
from portal.gateway.headers import Scope, answer_headers, request_headers, target_of
from portal.gateway.streams import NoStream, Stream
from portal.gateway.tunnels import Tunnels

# To one workload at a time; browsers open six for a page, and a WebSocket for each kernel and terminal.
CONNECTIONS_MAX, WEBSOCKETS_MAX = 32, 32
IDLE_S = 20.0
# What a WebSocket of the work may send in one message, and in how many pieces.
_MESSAGE_BYTES, _PIECES_MOST = 8 * 2**20, 1024
# The parser is given so much at a time, of a WebSocket and of what comes before an answer's body, and as many pieces or
# frames are sent on; in between others have their turn. A byte of the work's may cost a thousand times as much here.
_TURN_BYTES, _HEAD_TURN_BYTES, _TURN_PIECES = 1024, 256, 8
# What may come before the body: one head, and what an answer says before it begins.
_HEAD_BYTES = 128 * 1024
# How long the work may take to answer that it takes a WebSocket, and to take a piece of what is sent to it.
HANDSHAKE_S, _WRITE_S = 20.0, 60.0
# What a status may be for the server that sends it on; what is below was read before.
_STATUSES = range(200, 600)


@dataclass(slots=True)
class _Head:
    """What may still come before the body of the answer that is waited for."""

    left_bytes: int = _HEAD_BYTES
    is_over: bool = False


# Of the request that a task carries.
_HEAD: ContextVar[_Head] = ContextVar("head")


class _StreamOfTunnel(httpcore.AsyncNetworkStream):
    """A stream of a tunnel, as httpcore wants one."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        head = _HEAD.get(None)
        is_head = head is not None and not head.is_over
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(timeout):
                data = await self._stream.read(_HEAD_TURN_BYTES if is_head else max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout() from error
        if head is not None and is_head:
            head.left_bytes -= len(data)
            if head.left_bytes < 0:
                raise httpcore.RemoteProtocolError("the work does not begin to answer")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            async with asyncio.timeout(timeout):
                await self._stream.write(buffer)
        except TimeoutError as error:
            raise httpcore.WriteTimeout() from error
        except ConnectionError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.is_readable if info == "is_readable" else None


class _TunnelBackend(httpcore.AsyncNetworkBackend):
    """Every connection goes to the socket of one slice's work."""

    def __init__(self, tunnels: Tunnels, node_uid: str, slice_uid: str) -> None:
        self._tunnels, self._node_uid, self._slice_uid = tunnels, node_uid, slice_uid

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _StreamOfTunnel(await self._tunnels.open(self._node_uid, self._slice_uid))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Forwarder:
    """Keeps a pool of connections for each slice whose pages are open, and lets go of what nobody uses."""

    def __init__(self, tunnels: Tunnels) -> None:
        self._tunnels = tunnels
        self._pools: dict[str, httpcore.AsyncConnectionPool] = {}
        self._users: dict[str, int] = {}
        self._websockets: Counter[str] = Counter()

    async def http(self, scope: Scope, receive: Any, send: Any, pages: WebPages) -> None:
        """One request. Raises NoStream, httpcore.NetworkError or httpcore.ProtocolError before anything is answered;
        what breaks later ends the connection."""
        slice_uid = pages.slice_uid
        pool = self._pools.get(slice_uid)
        if pool is None:
            pool = self._pools[slice_uid] = httpcore.AsyncConnectionPool(
                max_connections=CONNECTIONS_MAX,
                keepalive_expiry=IDLE_S,
                network_backend=_TunnelBackend(self._tunnels, pages.node_uid, slice_uid),
            )
        self._users[slice_uid] = self._users.get(slice_uid, 0) + 1
        try:
            await _http(scope, receive, send, pool)
        finally:
            self._users[slice_uid] -= 1
            asyncio.get_running_loop().call_later(2 * IDLE_S, self._let_go, slice_uid, pool)

    def _let_go(self, slice_uid: str, pool: httpcore.AsyncConnectionPool) -> None:
        """Close a pool that nobody uses and whose connections are idle too long."""
        if self._pools.get(slice_uid) is not pool or self._users.get(slice_uid):
            return
        if all(connection.has_expired() or connection.is_closed() for connection in pool.connections):
            del self._pools[slice_uid], self._users[slice_uid]
            self._closing = asyncio.ensure_future(pool.aclose())

    async def websocket(self, scope: Scope, receive: Any, send: Any, pages: WebPages) -> None:
        """One WebSocket, until either side closes it. Raises NoStream before it is accepted."""
        if self._websockets[pages.slice_uid] >= WEBSOCKETS_MAX:
            raise NoStream("busy")
        self._websockets[pages.slice_uid] += 1
        try:
            stream = await self._tunnels.open(pages.node_uid, pages.slice_uid)
            try:
                await carry_websocket(scope, receive, send, stream)
            finally:
                stream.close()
        finally:
            self._websockets[pages.slice_uid] -= 1
            if not self._websockets[pages.slice_uid]:
                del self._websockets[pages.slice_uid]


async def carry_websocket(scope: Scope, receive: Any, send: Any, stream: Stream) -> None:
    """A browser's WebSocket over a connection to the work, until either side closes it."""
    await _WebSocket(scope, receive, send, stream).run()


async def _http(scope: Scope, receive: Any, send: Any, pool: httpcore.AsyncConnectionPool) -> None:
    body = _Body(receive)
    headers = request_headers(scope)
    has_length = any(name == b"content-length" for name, _value in headers)
    is_chunked = any(name == b"transfer-encoding" for name, _value in scope["headers"])
    if is_chunked and not has_length:
        headers.append((b"transfer-encoding", b"chunked"))
    has_body = has_length or is_chunked
    if not has_body:
        body.skip()
    request = httpcore.Request(
        scope["method"],
        httpcore.URL(scheme=b"http", host=b"work", port=80, target=target_of(scope)),
        headers=headers,
        content=body.pieces() if has_body else b"",
        extensions={"timeout": {"connect": 20.0, "pool": 60.0, "write": _WRITE_S}},
    )
    answering = asyncio.create_task(_answer(request, pool, send))
    leaving = asyncio.create_task(body.gone())
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (answering, leaving):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
    with suppress(asyncio.CancelledError):
        await answering


async def _answer(request: httpcore.Request, pool: httpcore.AsyncConnectionPool, send: Any) -> None:
    head = _Head()
    _HEAD.set(head)
    response = await pool.handle_async_request(request)
    head.is_over = True
    try:
        if response.status == HTTPStatus.SWITCHING_PROTOCOLS:
            # Nobody asked for that here: what follows would be no HTTP any more.
            raise httpcore.RemoteProtocolError("the work switches protocols")
        if response.status not in _STATUSES:
            raise httpcore.RemoteProtocolError("the work answers with a status that is none")
        await send(
            {
                "type": "http.response.start",
                "status": response.status,
                "headers": answer_headers(response.headers, response.status),
            }
        )
        count = 0
        async for piece in response.aiter_stream():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            count += 1
            if count % _TURN_PIECES == 0:
                await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})
    finally:
        await response.aclose()


class _Body:
    """The body of a request as it comes, and the word that its sender has gone."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._is_whole, self._is_gone = asyncio.Event(), False

    def skip(self) -> None:
        """There is none to be read."""
        self._is_whole.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._is_gone = True
                self._is_whole.set()
                raise httpcore.WriteError("the browser has gone")
            yield message.get("body", b"")
            if not message.get("more_body", False):
                self._is_whole.set()
                return

    async def gone(self) -> None:
        """Wait until the browser has gone; while its body is being read nobody else listens."""
        await self._is_whole.wait()
        while not self._is_gone:
            self._is_gone = (await self._receive())["type"] == "http.disconnect"


class _WebSocket:
    """A browser's WebSocket at one end, one of the work's at the other."""

    def __init__(self, scope: Scope, receive: Any, send: Any, stream: Stream) -> None:
        self._scope, self._receive, self._send, self._stream = scope, receive, send, stream
        host = dict(scope["headers"]).get(b"host", b"work").decode("latin-1")
        uri = parse_uri(f"ws://{host}{target_of(scope).decode('latin-1')}")
        self._protocol = ClientProtocol(
            uri,
            subprotocols=[Subprotocol(name) for name in scope.get("subprotocols", ())] or None,
            max_size=_MESSAGE_BYTES,
        )
        self._parts: list[bytes] = []
        self._is_text = self._is_over = False

    async def run(self) -> None:
        request = self._protocol.connect()
        for name, value in request_headers(self._scope):
            if not name.startswith(b"sec-websocket") and name != b"host":
                request.headers[name.decode("latin-1")] = value.decode("latin-1")
        await self._receive()
        self._protocol.send_request(request)
        await self._flush()
        opened: list[Any] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(HANDSHAKE_S):
                opened = await self._opened()
        if not opened:
            await self._send({"type": "websocket.close", "code": 1008})
            return
        await self._send({"type": "websocket.accept", "subprotocol": self._protocol.subprotocol})
        ways = [asyncio.create_task(self._from_work(opened[1:])), asyncio.create_task(self._from_browser())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _opened(self) -> list[Any]:
        """What came with the work's answer, the answer first; nothing where it takes no WebSocket."""
        while not (events := await self._events()):
            if self._protocol.handshake_exc is not None or self._is_over:
                return []
        is_open = isinstance(events[0], Response) and self._protocol.handshake_exc is None
        return events if is_open and events[0].status_code == 101 else []

    async def _events(self) -> list[Any]:
        data = await self._stream.read(65_536)
        self._is_over = not data
        for start in range(0, len(data), _TURN_BYTES):
            self._protocol.receive_data(data[start : start + _TURN_BYTES])
            await asyncio.sleep(0)
        if not data:
            self._protocol.receive_eof()
        await self._flush()
        return self._protocol.events_received()

    async def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                with suppress(ConnectionError):
                    await self._stream.write(data)

    async def _from_work(self, events: list[Any]) -> None:
        while True:
            for count, event in enumerate(events, 1):
                if isinstance(event, Frame):
                    await self._frame(event)
                if count % _TURN_PIECES == 0:
                    await asyncio.sleep(0)
            if self._closing is not None or self._is_over:
                break
            events = await self._events()
        closing = self._closing
        await self._send({"type": "websocket.close", "code": closing.code if closing else 1001})

    @property
    def _closing(self) -> Close | None:
        """Why it closes: the work says so, or has sent what is not to be taken."""
        return self._protocol.close_rcvd or self._protocol.close_sent

    async def _frame(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        self._parts.append(bytes(frame.data))
        if not frame.fin:
            if len(self._parts) > _PIECES_MOST or sum(map(len, self._parts)) > _MESSAGE_BYTES:
                self._protocol.fail(CloseCode.MESSAGE_TOO_BIG, "a message in too many pieces")
                self._parts.clear()
            return
        whole, self._parts = b"".join(self._parts), []
        told = {"text": whole.decode()} if self._is_text else {"bytes": whole}
        await self._send({"type": "websocket.send", **told})

    async def _from_browser(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                with suppress(WebSocketException):
                    self._protocol.send_close(1001)
                await self._flush()
                return
            if message.get("text") is not None:
                self._protocol.send_text(message["text"].encode())
            else:
                self._protocol.send_binary(message["bytes"])
            await self._flush()
