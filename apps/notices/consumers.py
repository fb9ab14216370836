"""The one socket of a page. It never touches the database: what it may watch is in the signed ticket."""

import json
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.core import signing
from django.urls import path

from apps.notices.push import group_of, topics_read

MAX_TOPICS = 64
MAX_MESSAGE = 16_384
REFUSED = 4403


class LiveConsumer(AsyncWebsocketConsumer):
    """In: `{"watch": "<ticket>"}`. Out: `{"topic", "event", "data"}`, and `{"watching": [topics]}` as the answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.topics: set[str] = set()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            wanted = _wanted(text_data)
        except (signing.BadSignature, ValueError, TypeError, KeyError):
            await self.close(code=REFUSED)
            return
        if len(self.topics | set(wanted)) > MAX_TOPICS:
            await self.close(code=REFUSED)
            return
        for topic in set(wanted) - self.topics:
            await self.channel_layer.group_add(group_of(topic), self.channel_name)
            self.topics.add(topic)
        await self.send(text_data=json.dumps({"watching": sorted(wanted)}))

    async def live_event(self, message: dict[str, Any]) -> None:
        body = {"topic": message["topic"], "event": message["event"], "data": message["data"]}
        await self.send(text_data=json.dumps(body))

    async def disconnect(self, code: int) -> None:
        for topic in self.topics:
            await self.channel_layer.group_discard(group_of(topic), self.channel_name)


def _wanted(text: str | None) -> list[str]:
    if text is None or len(text) > MAX_MESSAGE:
        raise ValueError("text of bounded length is expected")
    return topics_read(json.loads(text)["watch"])


socket_urls = [path("ws/live", LiveConsumer.as_asgi())]
