"""Request bodies are received whole on the event loop, before a thread is taken for their request.

A caller that sends half a body and waits costs an entry in a table, never a thread: however many there are, everybody
else is served.
"""

import asyncio
import json
import logging
from typing import Any

from django.http import HttpRequest
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext as _

from apps.kernel.errors import Busy, TimedOut, TooLarge, WeirError

log = logging.getLogger(__name__)
Scope = dict[str, Any]
# A body this small is always received, whatever others hold: signing in works while somebody floods us with uploads.
SMALL_BYTES = 64 * 1024
_RETRY_AFTER_S = 5


class BufferedBodies:
    """ASGI middleware that calls the application with the whole body, or refuses in its place.

    Args:
        app: what answers requests.
        limit_bytes: the largest body. One that is declared larger reaches the application without its content, which
            refuses it by its length; one that turns out to be larger is answered 413.
        timeout_s: how long a body may take; then its caller is answered 408.
        total_bytes: how much all bodies together may hold; who goes beyond is answered 503 with Retry-After.
    """

    def __init__(self, app: Any, *, limit_bytes: int, timeout_s: float, total_bytes: int) -> None:
        self.app = app
        self.limit_bytes, self.timeout_s, self.total_bytes = limit_bytes, timeout_s, total_bytes
        self.held_bytes = 0

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif _declared_bytes(scope) > self.limit_bytes:
            await self.app(scope, _nothing, send)
        else:
            await self._buffered(scope, receive, send)

    async def _buffered(self, scope: Scope, receive: Any, send: Any) -> None:
        body = bytearray()
        try:
            if await self._is_whole(scope, receive, send, body):
                await self.app(scope, _once(bytes(body), receive), send)
        finally:
            self.held_bytes -= len(body)

    async def _is_whole(self, scope: Scope, receive: Any, send: Any, body: bytearray) -> bool:
        """Fill `body`; whether all of it came. Where it did not, the caller was answered or is gone."""
        with override(_language_of(scope)):
            try:
                async with asyncio.timeout(self.timeout_s):
                    return await self._receive(receive, body)
            except TimeoutError:
                await _refuse(scope, send, TimedOut())
            except WeirError as error:
                await _refuse(scope, send, error)
        return False

    async def _receive(self, receive: Any, body: bytearray) -> bool:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            chunk = message.get("body", b"")
            self._check(len(body) + len(chunk), len(chunk))
            body += chunk
            self.held_bytes += len(chunk)
            if not message.get("more_body", False):
                return True

    def _check(self, length: int, more: int) -> None:
        if length > self.limit_bytes:
            raise TooLarge(_("A request holds at most %(limit)s MiB.") % {"limit": self.limit_bytes // 2**20})
        if length > SMALL_BYTES and self.held_bytes + more > self.total_bytes:
            error = Busy(_("Too many large requests arrive at once."))
            error.retry_after_s = _RETRY_AFTER_S
            raise error


def _declared_bytes(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


def _language_of(scope: Scope) -> str:
    asked = HttpRequest()
    asked.META["HTTP_ACCEPT_LANGUAGE"] = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
    return get_language_from_request(asked)


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


def _once(body: bytes, receive: Any) -> Any:
    """A `receive` that gives the whole body, then whatever the connection says."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_whole() -> dict[str, Any]:
        return messages.pop() if messages else await receive()

    return receive_whole


async def _refuse(scope: Scope, send: Any, error: WeirError) -> None:
    """Answer a request of which not all was read, and end its connection.

    To the API in its one shape; to a browser, which sends bodies that take so long as uploads only, as plain text.
    """
    log.debug("%s %s: %s", scope["method"], scope["path"], error.code)
    is_api = scope["path"].startswith("/api/")
    text = json.dumps(error.as_json()) if is_api else f"{error.message}\n{error.cure}\n"
    kind = "application/json" if is_api else "text/plain; charset=utf-8"
    headers = {"content-type": kind, "content-length": len(text.encode()), "connection": "close"}
    headers |= {"x-content-type-options": "nosniff"}
    if isinstance(error, Busy):
        headers["retry-after"] = error.retry_after_s
    told = [(name.encode(), str(value).encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": error.status, "headers": told})
    await send({"type": "http.response.body", "body": text.encode()})
