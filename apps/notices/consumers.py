"""The one socket of a page. It never touches the database: its rights are in the signed tickets it brings."""

import json
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.core import signing
from django.urls import path

from apps.notices.push import group_of, topics_read

MAX_TOPICS = 64
MAX_QUERY = 16_384


class LiveConsumer(AsyncWebsocketConsumer):
    """Opened with `?topics=<ticket> <ticket> …`, refused when one does not hold; then sends
    `{"topic", "event", "data"}` for each push, and ignores whatever it is sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.topics: set[str] = set()

    async def connect(self) -> None:
        try:
            wanted = _topics_of(self.scope["query_string"])
        except (signing.BadSignature, ValueError, TypeError, KeyError):
            await self.close()
            return
        # Subscribed before it is accepted: a page that knows itself connected misses nothing.
        for topic in wanted:
            await self.channel_layer.group_add(group_of(topic), self.channel_name)
            self.topics.add(topic)
        await self.accept()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Pages have nothing to say here."""

    async def live_event(self, message: dict[str, Any]) -> None:
        body = {"topic": message["topic"], "event": message["event"], "data": message["data"]}
        await self.send(text_data=json.dumps(body))

    async def disconnect(self, code: int) -> None:
        for topic in self.topics:
            await self.channel_layer.group_discard(group_of(topic), self.channel_name)


def _topics_of(query: bytes) -> set[str]:
    """The topics of all tickets in a query string. Raises BadSignature or ValueError."""
    if len(query) > MAX_QUERY:
        raise ValueError("the query string is too long")
    tickets = parse_qs(query.decode("ascii")).get("topics", [""])[0].split()
    topics = {topic for ticket in tickets for topic in topics_read(ticket)}
    if not 0 < len(topics) <= MAX_TOPICS:
        raise ValueError("between 1 and 64 topics are expected")
    return topics


socket_urls = [path("ws/live", LiveConsumer.as_asgi())]
