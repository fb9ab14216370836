"""The socket: who may open it, what a ticket lets through, and that a push comes after the commit or not at all."""

import json
import time

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.layers import get_channel_layer
from channels.routing import URLRouter
from django.core import signing
from django.db import transaction
from django.test import Client

from apps.identity.pages.sessions import _USED
from apps.identity.services.users import membership_remove
from apps.kernel.planes import in_public, in_tenant
from apps.notices import consumers
from apps.notices.consumers import socket_urls
from apps.notices.push import Ticket, group_of, has_missed, push, ticket_read, topics_sign
from apps.tenancy.models import Tenant
from tests.conftest import PASSWORD

UNSOUND = [
    "", "no json", "[]", "{}", '{"topics": 1}', '{"topics": ""}', '{"topics": "forged"}', '{"topics": "a:b:c"}',
    json.dumps({"topics": "x" * 20_000}),
]  # fmt: skip


def talk(scenario):
    return async_to_sync(scenario)()


class Socket(ApplicationCommunicator):
    """A page's end of the socket, of the browser with these cookies."""

    def __init__(self, cookies: str = "") -> None:
        headers = [(b"cookie", cookies.encode())] if cookies else []
        scope = {"type": "websocket", "path": "/ws/live", "query_string": b"", "headers": headers}
        super().__init__(URLRouter(socket_urls), scope)

    async def is_accepted(self) -> bool:
        await self.send_input({"type": "websocket.connect"})
        return (await self.receive_output(timeout=60))["type"] == "websocket.accept"

    async def watches(self, *tickets: str) -> bool:
        """Open, and hand the tickets over: whether they were taken."""
        return await self.is_accepted() and await self.says(json.dumps({"topics": " ".join(tickets)}))

    async def says(self, text: str) -> bool:
        await self.send_input({"type": "websocket.receive", "text": text})
        answer = await self.receive_output(timeout=60)
        self.answer = json.loads(answer["text"]) if answer["type"] == "websocket.send" else {}
        return self.answer.get("topic") == "connected"

    async def heard(self) -> object:
        return json.loads((await self.receive_output(timeout=60))["text"])

    async def is_closed(self) -> bool:
        return (await self.receive_output(timeout=60))["type"] == "websocket.close"

    async def close(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1001})
        await self.wait()


@pytest.fixture(autouse=True)
def kept_connection(monkeypatch):
    """Between messages a server drops old connections; the test's transaction is on this one."""
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)


@pytest.fixture
def alice(member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def browser(alice):
    """Alice's browser, signed in."""
    client = Client(headers={"host": alice.host})
    given = {"username": alice.user.username, "password": PASSWORD}
    assert client.post("/login/", given).status_code == 302
    return client


def cookies_of(client: Client) -> str:
    return f"other=1; sessionid={client.session.session_key}"


def test_a_ticket_names_its_topics_and_whose_they_are():
    with in_public():
        ticket = topics_sign(["form.2", "form.1", "form.1"], 7, since_s=time.time())
    assert ticket_read(ticket)[:3] == (["form.1", "form.2"], 7, "")
    assert " " not in ticket
    with in_tenant("acme"):
        assert ticket_read(topics_sign(["form.1"], 7, since_s=time.time())).schema == "acme"
    with pytest.raises(signing.BadSignature):
        ticket_read(ticket[:-1] + ("A" if ticket[-1] != "A" else "B"))
    with pytest.raises(signing.BadSignature):
        ticket_read(signing.dumps({"topics": ["form.1"]}, salt="something.else"))


@pytest.mark.django_db
def test_a_socket_hears_its_topics_and_no_others(alice, browser):
    cookies = cookies_of(browser)

    async def scenario():
        socket = Socket(cookies)
        assert await socket.watches(
            topics_sign(["form.1"], alice.user.pk, since_s=time.time()),
            topics_sign(["user.7"], alice.user.pk, since_s=time.time()),
        )
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


@pytest.mark.django_db
@pytest.mark.parametrize(("made_after_s", "is_missed"), [(None, False), (30, False), (-1, True)])
def test_a_page_is_told_whether_it_missed_a_push_while_it_was_made(
    alice, browser, made_after_s, is_missed, django_capture_on_commit_callbacks
):
    """One that missed nothing asks for none of its parts again. None: nothing was ever pushed."""
    cookies, topic = cookies_of(browser), f"form.{made_after_s}"
    if made_after_s is not None:
        with django_capture_on_commit_callbacks(execute=True):
            push(topic)
    made_s = time.time() + (made_after_s or 0)

    async def scenario():
        socket = Socket(cookies)
        assert await socket.watches(topics_sign([topic, "form.quiet"], alice.user.pk, since_s=made_s))
        await socket.close()
        return socket.answer["missed"]

    assert talk(scenario) is is_missed


def test_of_a_page_that_was_made_long_ago_nobody_knows_what_it_missed():
    old = Ticket(["form.1"], 7, "", time.time() - 3600)
    assert has_missed([old])
    assert not has_missed([old._replace(since_s=time.time())])


@pytest.mark.django_db
@pytest.mark.req("PLAT-TEN-2")
@pytest.mark.parametrize(
    "cookies", ["", "sessionid=", "sessionid=" + "x" * 32, "sessionid=a; =;;b[", "csrftoken=x"]
)
def test_nobody_who_is_not_signed_in_opens_a_socket(cookies):
    """S12: a ticket was good without a cookie, from anywhere."""

    async def scenario():
        return await Socket(cookies).is_accepted()

    assert talk(scenario) is False


@pytest.mark.django_db
@pytest.mark.req("PLAT-TEN-2")
@pytest.mark.parametrize("said", UNSOUND)
def test_a_socket_without_a_sound_ticket_is_closed(browser, said):
    cookies = cookies_of(browser)

    async def scenario():
        socket = Socket(cookies)
        assert await socket.is_accepted()
        return await socket.says(said)

    assert talk(scenario) is False


@pytest.mark.django_db
def test_one_bad_ticket_among_good_ones_refuses_all(alice, browser):
    """Forged, another person's, or of a tenant that this one may not enter (S12)."""
    cookies, good = cookies_of(browser), topics_sign(["form.1"], alice.user.pk, since_s=time.time())
    with in_tenant("globex"):
        elsewhere = topics_sign(["form.1"], alice.user.pk, since_s=time.time())
    for bad in ("forged", topics_sign(["user.1"], alice.user.pk + 1, since_s=time.time()), elsewhere):

        async def scenario(bad=bad):
            return await Socket(cookies).watches(good, bad)

        assert talk(scenario) is False


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["sign out", "membership", "idle"])
def test_a_socket_ends_with_the_session_and_none_opens_after_it(alice, browser, monkeypatch, operator, end):
    """S12: tickets were good for twelve hours after signing out or losing the membership."""
    monkeypatch.setattr(consumers, "TICKETS_WITHIN_S", 0.5)
    monkeypatch.setattr(consumers, "CHECK_EVERY_S", 0.1)
    cookies = cookies_of(browser)
    with in_tenant("acme"):
        ticket = topics_sign(["form.1"], alice.user.pk, since_s=time.time())

    def end_it():
        if end == "sign out":
            browser.post("/logout/")
        elif end == "membership":
            acme = Tenant.objects.get(schema_name="acme")
            membership_remove(actor=operator("system_administrator").actor, user=alice.user, tenant=acme)
        else:
            session = browser.session
            session[_USED] -= 9 * 3600
            session.save()

    async def scenario():
        socket = Socket(cookies)
        assert await socket.watches(ticket)
        await sync_to_async(end_it)()
        assert await socket.is_closed()
        await socket.close()
        return await Socket(cookies).is_accepted()

    assert talk(scenario) is False


@pytest.mark.django_db
def test_a_socket_that_says_nothing_is_closed(browser, monkeypatch):
    monkeypatch.setattr(consumers, "TICKETS_WITHIN_S", 0.1)
    cookies = cookies_of(browser)

    async def scenario():
        socket = Socket(cookies)
        assert await socket.is_accepted()
        return await socket.is_closed()

    assert talk(scenario) is True


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
