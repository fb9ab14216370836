"""The socket: what a ticket lets through, and that a push comes after the commit or not at all."""

import json

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from channels.layers import get_channel_layer
from channels.routing import URLRouter
from django.core import signing
from django.db import transaction

from apps.notices.consumers import socket_urls
from apps.notices.push import group_of, push, topics_read, topics_sign


def talk(scenario):
    return async_to_sync(scenario)()


class Socket(ApplicationCommunicator):
    """A page's end of the socket."""

    def __init__(self, tickets: str) -> None:
        query = f"topics={tickets}".encode()
        scope = {"type": "websocket", "path": "/ws/live", "query_string": query, "headers": []}
        super().__init__(URLRouter(socket_urls), scope)

    async def is_accepted(self) -> bool:
        await self.send_input({"type": "websocket.connect"})
        return (await self.receive_output())["type"] == "websocket.accept"

    async def heard(self) -> object:
        return json.loads((await self.receive_output())["text"])

    async def close(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1001})
        await self.wait()


def test_a_ticket_names_its_topics_and_nothing_else_does():
    ticket = topics_sign(["form.2", "form.1", "form.1"], 7)
    assert topics_read(ticket) == ["form.1", "form.2"]
    assert " " not in ticket
    with pytest.raises(signing.BadSignature):
        topics_read(ticket[:-1] + ("A" if ticket[-1] != "A" else "B"))
    with pytest.raises(signing.BadSignature):
        topics_read(signing.dumps({"topics": ["form.1"]}, salt="something.else"))


def test_a_socket_hears_its_topics_and_no_others():
    async def scenario():
        mine, other = topics_sign(["form.1"], 7), topics_sign(["user.7"], 7)
        socket = Socket(f"{mine}%20{other}")
        assert await socket.is_accepted()
        layer = get_channel_layer()
        for topic in ("form.2", "form.1", "user.7"):
            body = {"type": "live.event", "topic": topic, "event": "changed", "data": {"n": 1}}
            await layer.group_send(group_of(topic), body)
        heard = [await socket.heard() for _ in range(2)]
        assert await socket.receive_nothing()
        await socket.close()
        return heard

    assert talk(scenario) == [
        {"topic": "form.1", "event": "changed", "data": {"n": 1}},
        {"topic": "user.7", "event": "changed", "data": {"n": 1}},
    ]


@pytest.mark.req("PLAT-TEN-2")
@pytest.mark.parametrize("tickets", ["", "forged", "a:b:c", "x" * 20_000])
def test_a_socket_without_a_sound_ticket_is_refused(tickets):
    async def scenario():
        return await Socket(tickets).is_accepted()

    assert talk(scenario) is False


def test_one_forged_ticket_among_good_ones_refuses_all():
    async def scenario():
        return await Socket(topics_sign(["form.1"], 7) + "%20forged").is_accepted()

    assert talk(scenario) is False


@pytest.fixture
def sent(monkeypatch):
    told = []
    layer = get_channel_layer()

    async def group_send(group, message):
        told.append((group, message["event"], message["data"]))

    monkeypatch.setattr(layer, "group_send", group_send)
    return told


@pytest.mark.django_db
def test_a_push_goes_out_after_the_commit(sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        push("log.1", "grew", offset=12)
        assert sent == []
    assert sent == [("live.log.1", "grew", {"offset": 12})]


@pytest.mark.django_db
def test_what_is_rolled_back_is_not_told(sent, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        push("form.1")
        transaction.set_rollback(True)
    assert sent == []


@pytest.mark.django_db
def test_a_dead_broker_does_not_fail_the_change(monkeypatch, django_capture_on_commit_callbacks, caplog):
    async def group_send(group, message):
        raise ConnectionError("no broker")

    monkeypatch.setattr(get_channel_layer(), "group_send", group_send)
    with django_capture_on_commit_callbacks(execute=True):
        push("form.1")
    assert "push lost: form.1" in caplog.text
