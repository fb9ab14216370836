"""What is asked at the host name of a workload's web pages: let in by a ticket, then carried to the work."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpcore
from django.db import DatabaseError
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.translation import get_language_from_request, gettext_noop, override
from django.utils.translation import gettext as _
from redis import RedisError

from apps.scheduling.services.web_pages import ENTER_PATH, web_host_read
from portal.gateway.access import REMEMBERED_S, Doorkeeper, cookie_set, is_foreign, service_key, ticket_take
from portal.gateway.executions import Executions
from portal.gateway.forward import Forwarder
from portal.gateway.streams import NoStream
from portal.gateway.threads import in_thread
from portal.gateway.tunnels import Tunnels
from portal.serving.protocol import cut

log = logging.getLogger(__name__)
Scope = dict[str, Any]
# What a page of our own may do: nothing but look as it does.
_POLICY = b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class Gateway:
    """ASGI middleware: what leads to work, and the tunnels of agents, are its own; all else is the portal's."""

    def __init__(self, portal: Any) -> None:
        self._portal = portal
        self._tunnels = Tunnels()
        self._executions = Executions(self._tunnels)
        self._doorkeeper, self._forwarder = Doorkeeper(), Forwarder(self._tunnels)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._portal(scope, receive, send)
            return
        workload_uid = web_host_read(_host(scope))
        is_wrong = (
            _comes_from_work(scope) or _comes_from_nowhere(scope)
            if workload_uid is None
            else _leads_nowhere(scope)
        )
        if is_wrong:
            await _refuse(scope, receive, send)
            return
        if workload_uid is not None:
            carry = self._http if scope["type"] == "http" else self._websocket
            await carry(scope, receive, send, workload_uid)
        elif scope["type"] == "websocket" and self._tunnels.serves(scope["path"]):
            await self._tunnels(scope, receive, send)
        elif scope["type"] == "websocket" and self._executions.serves(scope["path"]):
            await self._executions(scope, receive, send)
        else:
            await self._portal(scope, receive, send)

    async def _http(self, scope: Scope, receive: Any, send: Any, workload_uid: UUID) -> None:
        if scope["path"] == ENTER_PATH:
            await self._enter(scope, send, workload_uid)
            return
        if is_foreign(scope):
            await _page(scope, send, HTTPStatus.FORBIDDEN, "foreign")
            return
        admitted = await self._doorkeeper.admitted(scope, workload_uid)
        if admitted is None:
            await _page(scope, send, HTTPStatus.FORBIDDEN, "closed")
        elif admitted.pages.is_over:
            await _page(scope, send, HTTPStatus.GONE, "over", admitted.back)
        elif not admitted.pages.slice_uid:
            await _page(scope, send, HTTPStatus.SERVICE_UNAVAILABLE, "waiting", admitted.back)
        else:
            sent = _Sent(send)
            try:
                carried = self._forwarder.http(scope, receive, sent, admitted.pages)
                is_whole = await self._while_admitted(scope, workload_uid, carried)
                if not is_whole and not sent.is_begun:
                    await _page(scope, send, HTTPStatus.FORBIDDEN, "closed")
            except (
                NoStream,
                httpcore.NetworkError,
                httpcore.TimeoutException,
                httpcore.ProtocolError,
            ) as error:
                log.debug("the web pages of %s: %r", admitted.pages.no, error)
                if sent.is_begun:
                    # Who asked sees that it is not all; it is the work's fault, and none of ours to tell of.
                    await cut(scope)
                    return
                code = error.code if isinstance(error, NoStream) else "broken"
                await _page(scope, send, HTTPStatus.SERVICE_UNAVAILABLE, code, admitted.back)

    async def _enter(self, scope: Scope, send: Any, workload_uid: UUID) -> None:
        """Change a ticket for a cookie, and go on to the pages; the ticket is in no address any more."""
        ticket = parse_qs(scope["query_string"].decode("latin-1")).get("ticket", [""])[0]
        token = await ticket_take(ticket, workload_uid)
        if token is None:
            await _page(scope, send, HTTPStatus.FORBIDDEN, "closed")
            return
        headers = [
            (b"location", b"/"),
            (b"set-cookie", cookie_set(scope, token)),
            (b"cache-control", b"no-store"),
            (b"referrer-policy", b"no-referrer"),
        ]
        await send({"type": "http.response.start", "status": HTTPStatus.FOUND, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _websocket(self, scope: Scope, receive: Any, send: Any, workload_uid: UUID) -> None:
        admitted = None
        if not is_foreign(scope):
            admitted = await self._doorkeeper.admitted(scope, workload_uid)
        if admitted is None or admitted.pages.is_over or not admitted.pages.slice_uid:
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            carried = self._forwarder.websocket(scope, receive, send, admitted.pages)
            if not await self._while_admitted(scope, workload_uid, carried):
                await send({"type": "websocket.close", "code": 1008})
        except NoStream:
            await receive()
            await send({"type": "websocket.close", "code": 1013})

    async def _while_admitted(
        self, scope: Scope, workload_uid: UUID, carried: Coroutine[Any, Any, None]
    ) -> bool:
        """Carry to the end, or until the browser may not see these pages any more; whether it came to its end."""
        carrying = asyncio.create_task(carried)
        try:
            while not (await asyncio.wait((carrying,), timeout=REMEMBERED_S))[0]:
                # While nobody can say, what is open stays open.
                with suppress(DatabaseError, RedisError):
                    if await self._doorkeeper.admitted(scope, workload_uid) is None:
                        return False
            await carrying
            return True
        finally:
            carrying.cancel()
            await asyncio.gather(carrying, return_exceptions=True)


class _Sent:
    """A `send` that knows whether an answer has begun."""

    def __init__(self, send: Any) -> None:
        self._send, self.is_begun = send, False

    async def __call__(self, message: dict[str, Any]) -> None:
        self.is_begun = True
        await self._send(message)


def _host(scope: Scope) -> str:
    return _name(dict(scope["headers"]).get(b"host", b""))


def _name(place: bytes) -> str:
    """A host's name without its port."""
    return place.decode("latin-1").rsplit(":", 1)[0].lower()


def _comes_from_work(scope: Scope) -> bool:
    """Whether a page of some work asks the portal itself.

    To a browser the two may be one site, which sends the portal's cookies along.
    """
    origin: bytes = dict(scope["headers"]).get(b"origin", b"")
    return web_host_read(_name(origin.partition(b"://")[2])) is not None


def _comes_from_nowhere(scope: Scope) -> bool:
    """Whether a socket's origin is no address, which no browser sends, and on which others break."""
    origin: bytes = dict(scope["headers"]).get(b"origin", b"")
    return scope["type"] == "websocket" and not _has_sound_port(origin)


def _leads_nowhere(scope: Scope) -> bool:
    """Whether a socket asks for a host with a port that is none, which no browser sends."""
    host: bytes = dict(scope["headers"]).get(b"host", b"")
    return scope["type"] == "websocket" and not _has_sound_port(b"//" + host)


def _has_sound_port(address: bytes) -> bool:
    try:
        return urlsplit(address.decode("latin-1")).port != 0
    except ValueError:
        return False


async def _refuse(scope: Scope, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await _page(scope, send, HTTPStatus.FORBIDDEN, "portal")
    else:
        await receive()
        await send({"type": "websocket.close", "code": 1008})


async def _page(scope: Scope, send: Any, status: HTTPStatus, code: str, back: str = "") -> None:
    """A page of the gateway's own, which says why the work's is not shown; one that waits asks again by itself. A
    program, which sends a key, is told the same as data."""
    is_program = bool(service_key(scope))
    if is_program and code == "closed":
        status = HTTPStatus.UNAUTHORIZED
    body = await in_thread(_problem if is_program else _rendered, scope, code, back)
    kind = b"application/problem+json" if is_program else b"text/html; charset=utf-8"
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", _POLICY),
        (b"x-content-type-options", b"nosniff"),
    ]
    if status is HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        # A browser asks again by itself, a program is told to.
        headers += [(b"refresh", b"1"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_CAUSES = {
    "closed": gettext_noop(
        "The key does not open this service: it is wrong or revoked, or its service is over."
    ),
    "foreign": gettext_noop("A page of another origin asked: keys are for programs."),
    "over": gettext_noop("The service is over."),
    "waiting": gettext_noop("The service waits for its place."),
    "away": gettext_noop("The node of the service is not connected at the moment."),
    "broken": gettext_noop("The service has broken off."),
    "busy": gettext_noop("The service takes no more connections at the moment."),
}
_STARTING = gettext_noop("The program of the service is starting.")


def _problem(scope: Scope, code: str, _back: str) -> bytes:
    with override(_language(scope)):
        return json.dumps({"code": code, "detail": _(_CAUSES.get(code, _STARTING))}).encode()


def _rendered(scope: Scope, code: str, back: str) -> bytes:
    with override(_language(scope)):
        return render_to_string("gateway/page.html", {"code": code, "back": back}).encode()


def _language(scope: Scope) -> str:
    asked = HttpRequest()
    asked.META["HTTP_ACCEPT_LANGUAGE"] = dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1")
    return get_language_from_request(asked)
