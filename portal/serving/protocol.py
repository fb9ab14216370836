"""Connections of HTTP/1.1: each must say what it wants in time, and leaves in good order when the server does."""

import asyncio
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from portal.settings.env import env

HEADERS_TIMEOUT_S = 15.0
HEADERS_MAX_BYTES = 64 * 1024
# How long a caller may leave unread what was sent to it.
_UNREAD_TIMEOUT_S = 60
# How long the next piece of a body may take that goes on to some work.
_BODY_PIECE_S = 60


# What an application finds among the extensions of its scope.
_CUT = "weir.cut"


async def cut(scope: dict[str, Any]) -> None:
    """End the connection of a request whose answer breaks off: without its end nobody takes what was sent for all of
    it."""
    abort = scope.get("extensions", {}).get(_CUT, {}).get("abort")
    if abort is None:
        raise ConnectionAbortedError("the answer breaks off")
    abort()
    # The server hears of it before the application is done, and then asks it for no more.
    await asyncio.sleep(0)
    await asyncio.sleep(0)


class BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with bounds for the part of a request that no application sees.

    A request line with its headers may take `HEADERS_TIMEOUT_S` and hold `HEADERS_MAX_BYTES`, and a new connection may
    be silent that long; then it is cut. A body that the application does not wait for (it was refused by its length)
    may take a little longer than `WEIR_BODY_TIMEOUT_S`. What is overridden are the callbacks of `asyncio.Protocol` and
    of httptools' parser, and `shutdown`, by which uvicorn's server says that it leaves.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._is_in_headers, self._is_in_body, self._is_leaving = True, False, False
        self._is_streamed = False
        plain = transport.get_extra_info("socket")
        if plain is not None and plain.family != socket.AF_UNIX:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_TIMEOUT_S * 1000)
        self._cut_after(HEADERS_TIMEOUT_S)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_CUT: {"abort": self.transport.abort}}

    def connection_lost(self, exc: Exception | None) -> None:
        self._cut_never()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_in_headers and not self._is_in_body:
            # The next request of a connection that is kept alive begins with its first byte.
            self._is_in_headers = True
            self._cut_after(HEADERS_TIMEOUT_S)
        if self._is_in_headers:
            self._header_bytes += len(data)
        elif self._is_streamed:
            self._cut_after(_BODY_PIECE_S)
        super().data_received(data)
        if self._is_in_headers and self._header_bytes > HEADERS_MAX_BYTES:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        self._is_in_headers, self._is_in_body, self._header_bytes = False, True, 0
        # Later than the application's own deadline, which answers in words.
        self._is_streamed = self._is_for_work()
        self._cut_after(_BODY_PIECE_S if self._is_streamed else env().body_timeout_s + 5)
        super().on_headers_complete()
        if self._is_leaving and self.cycle is not None:
            self.cycle.keep_alive = False

    def _is_for_work(self) -> bool:
        """Whether the request is for web pages of work, which take bodies of any length as they come."""
        hosts = [value for name, value in self.headers if name == b"host"]
        name = hosts[0].decode("latin-1").rsplit(":", 1)[0].lower() if hosts else ""
        return name.endswith("." + env().web_pages_domain)

    def handle_websocket_upgrade(self) -> None:
        """A WebSocket begins with GET; whoever asks for one otherwise would be waited for without end."""
        if self.parser.get_method() != b"GET":
            self.send_400_response("A WebSocket begins with GET.")
            return
        super().handle_websocket_upgrade()

    def on_message_complete(self) -> None:
        self._is_in_body = False
        self._cut_never()
        super().on_message_complete()

    def shutdown(self) -> None:
        """The server leaves. Who asks now, or is about to, is answered and told to open a new connection.

        An idle connection is closed as any other: after `timeout_keep_alive` without a request.
        """
        self._is_leaving = True
        if self.cycle is not None and not self.cycle.response_complete:
            super().shutdown()
        elif self.timeout_keep_alive_task is None:
            self.loop.call_later(self.timeout_keep_alive, super().shutdown)

    def _cut_after(self, seconds: float) -> None:
        self._cut_never()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _cut_never(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
