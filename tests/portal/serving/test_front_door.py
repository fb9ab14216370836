"""What a web process says at its door, asked over a real connection (S10, S11, S13)."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from apps.identity.models import SignIn
from tests.harness.webs import running_web

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("web")]
LOGIN = {"username": "forger", "password": "y"}


@pytest.fixture(scope="module")
def web(django_db_setup) -> Iterator[str]:
    with running_web() as (url, _process):
        httpx.get(f"{url}/healthz", timeout=120)
        yield url


def test_nobody_on_the_host_says_where_a_caller_is(web, django_db_blocker):
    """S11: every job of the host could write any address into the login log, and text that is none made 500."""
    for told in ("evil", "203.0.113.7"):
        answer = httpx.post(
            f"{web}/api/v1/auth/login", json=LOGIN, headers={"x-forwarded-for": told}, timeout=60
        )
        assert answer.status_code == 401
    with django_db_blocker.unblock():
        found = SignIn.objects.filter(username="forger").values_list("address", flat=True)
        assert list(found) == ["127.0.0.1"] * 2


@pytest.mark.parametrize("path", ["/ws/other", "/ws/live", "/"])
def test_a_socket_that_is_not_there_is_refused(web, path):
    """S13: an unknown address made 500 and a traceback in the log."""
    ask = (
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", urlsplit(web).port), timeout=60) as caller:
        caller.sendall(ask.encode())
        assert caller.recv(4096).startswith(b"HTTP/1.1 403 ")


def _answer(web: str, line: str, *headers: str, host: str = "localhost") -> bytes:
    """What is answered, within seconds."""
    ask = "\r\n".join((line, f"Host: {host}", *headers, "", ""))
    with socket.create_connection(("127.0.0.1", urlsplit(web).port), timeout=60) as caller:
        caller.sendall(ask.encode("latin-1"))
        return caller.recv(4096)


_UPGRADE = (
    "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)  # fmt: skip


@pytest.mark.parametrize("origin", ["http://[", "http://localhost:none", "http://localhost:99999"])
def test_a_socket_whose_origin_is_no_address_is_refused(web, origin):
    """S33: it made 500 and a traceback in the log."""
    answer = _answer(web, "GET /ws/live HTTP/1.1", f"Origin: {origin}", *_UPGRADE)
    assert answer.startswith(b"HTTP/1.1 403 ")


def test_a_socket_that_is_not_asked_for_by_get_is_refused(web):
    """S35: it was waited for without end."""
    for more in (_UPGRADE, _UPGRADE[:2], (*_UPGRADE, "Content-Length: 3")):
        assert _answer(web, "POST /ws/exec HTTP/1.1", *more).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("host", ["[::1", "a@localhost", "localhost/x", "a,b", ""])
def test_a_host_that_is_none_is_refused_in_words(web, host):
    """S35: each such request left a traceback in the log."""
    answer = _answer(web, "GET /login/ HTTP/1.1", host=host)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"x-request-id" in answer.lower()
    assert b"content-security-policy" in answer.lower()


def test_a_database_that_is_away_is_503_and_come_again():
    """S10: pages, API and figures answered 500 while the database started."""
    away = {"WEIR_DATABASE_URL": "postgresql://weir@127.0.0.1:1/weir", "WEIR_METRICS_TOKEN": "figures"}
    with running_web(**away) as (url, _process):
        headers = {"authorization": "Bearer figures"}
        assert httpx.get(f"{url}/healthz", timeout=120).status_code == 200
        page = httpx.get(f"{url}/login/", cookies={"sessionid": "x" * 32}, timeout=60)
        api = httpx.post(f"{url}/api/v1/auth/login", json=LOGIN, timeout=60)
        figures = httpx.get(f"{url}/metrics", headers=headers, timeout=60)
        for answer in (page, api, figures):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert api.json()["error"]["code"] == "unavailable"
        assert "Traceback" not in page.text + figures.text
