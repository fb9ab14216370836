"""The one socket of a page. Its rights are in the signed tickets it brings, while the browser is signed in."""

import asyncio
import json
import logging
from http.cookies import CookieError, SimpleCookie
from typing import Any

from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.core import signing
from django.db import DatabaseError
from django.urls import path, re_path

from apps.identity.pages.sessions import watcher_id
from apps.kernel.planes import in_public
from apps.notices.push import Ticket, group_of, has_missed, ticket_read

log = logging.getLogger(__name__)
MAX_TOPICS = 64
MAX_TICKETS_CHARS = 16_384
# How long a socket may be open before it says what it watches.
TICKETS_WITHIN_S = 10.0
# How often it is looked whether its browser is still signed in.
CHECK_EVERY_S = 60.0


class LiveConsumer(AsyncWebsocketConsumer):
    """Opens for a browser that is signed in, and takes one message: `{"topics": "<ticket> <ticket> …"}`.

    Tickets that hold, all of this browser's user, are answered with `{"topic": "connected", "missed": …}`, which says
    whether something was pushed since the page was made; from then on it sends `{"topic", "event", "data"}` for each
    push. Otherwise it closes, as it does within a minute of signing out. A
    ticket never stands in an address: addresses are written to logs.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.topics: set[str] = set()
        self.schemas: set[str] = set()
        self.session_key = ""
        self.checking: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        self.session_key = _session_key(self.scope)
        if await self._user_id() is None:
            await self.close()
            return
        await self.accept()
        self.checking = asyncio.create_task(self._check())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The tickets, once; pages have nothing else to say here."""
        if self.topics:
            return
        try:
            tickets = _tickets_of(text_data or "")
        except (signing.BadSignature, ValueError, TypeError, KeyError):
            await self.close()
            return
        self.schemas = {ticket.schema for ticket in tickets if ticket.schema}
        user_id = await self._user_id()
        if user_id is None or any(ticket.user_id != user_id for ticket in tickets):
            await self.close()
            return
        # Subscribed before it is said: a page that knows itself connected misses nothing.
        for topic in {topic for ticket in tickets for topic in ticket.topics}:
            await self.channel_layer.group_add(group_of(topic), self.channel_name)
            self.topics.add(topic)
        await self.send(text_data=json.dumps({"topic": "connected", "missed": await _missed(tickets)}))

    async def live_event(self, message: dict[str, Any]) -> None:
        body = {"topic": message["topic"], "event": message["event"], "data": message["data"]}
        await self.send(text_data=json.dumps(body))

    async def disconnect(self, code: int) -> None:
        if self.checking is not None:
            self.checking.cancel()
        for topic in self.topics:
            await self.channel_layer.group_discard(group_of(topic), self.channel_name)

    async def _check(self) -> None:
        await asyncio.sleep(TICKETS_WITHIN_S)
        while self.topics and await self._user_id() is not None:
            await asyncio.sleep(CHECK_EVERY_S)
        await self.close()

    async def _user_id(self) -> int | None:
        """Who is signed in and may enter the tenants of the tickets; None also while the database does not answer."""
        try:
            asked: Any = database_sync_to_async(_watcher)
            found: int | None = await asked(self.session_key, frozenset(self.schemas))
        except DatabaseError:
            return None
        return found


async def _missed(tickets: list[Ticket]) -> bool:
    """Where nobody can say, it may be so."""
    try:
        asked: Any = sync_to_async(has_missed)
        found: bool = await asked(tickets)
    except Exception:
        log.exception("it cannot be told what a page has missed")
        return True
    return found


def _watcher(session_key: str, schemas: frozenset[str]) -> int | None:
    with in_public():
        return watcher_id(session_key, schemas)


def _session_key(scope: dict[str, Any]) -> str:
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(
            "; ".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie")
        )
    except CookieError:
        return ""
    found = cookies.get(settings.SESSION_COOKIE_NAME)
    return found.value if found else ""


def _tickets_of(text: str) -> list[Ticket]:
    """The tickets of a page's message. Raises BadSignature, ValueError, TypeError or KeyError where it is none."""
    if len(text) > MAX_TICKETS_CHARS:
        raise ValueError("the message is too long")
    said = json.loads(text)["topics"]
    if not isinstance(said, str):
        raise TypeError("the tickets are one text")
    tickets = [ticket_read(ticket) for ticket in said.split()]
    if not 0 < len({topic for ticket in tickets for topic in ticket.topics}) <= MAX_TOPICS:
        raise ValueError("between 1 and 64 topics are expected")
    return tickets


async def no_socket(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Refuse a socket at an address that has none: 403 before it opens."""
    await receive()
    await send({"type": "websocket.close"})


socket_urls = [path("ws/live", LiveConsumer.as_asgi()), re_path("", no_socket)]
