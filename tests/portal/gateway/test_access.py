"""Which requests the gateway carries, and what of them."""

from typing import Any
from uuid import UUID

import pytest

from apps.scheduling.services.web_pages import web_host, web_host_read
from portal.gateway.access import cookie_set, cookies_forwarded, is_foreign
from portal.gateway.app import _comes_from_work
from portal.gateway.headers import answer_headers, request_headers

pytestmark = pytest.mark.req("PLAT-CMP-10")
UID = UUID("82400dbc-ed6a-42c2-92b5-4a8631db2c4d")
HOST = b"w-82400dbced6a42c292b54a8631db2c4d.env.localhost:8000"


def scope(kind: str = "http", scheme: str = "http", method: str = "GET", **headers: str) -> dict[str, Any]:
    pairs = [(b"host", HOST)]
    pairs += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": kind, "scheme": scheme, "method": method, "headers": pairs, "client": ("10.0.0.9", 4711)}


def test_a_host_name_is_of_one_workload_and_of_nothing_else() -> None:
    host = HOST.decode().partition(":")[0]
    assert web_host(UID) == host
    assert web_host_read(host) == UID
    for other in (
        "localhost",
        "env.localhost",
        "acme.localhost",
        f"x.{host}",
        "w-1.env.localhost",
        "w-.env.localhost",
    ):
        assert web_host_read(other) is None


OWN = {"origin": "http://" + HOST.decode()}
OTHERS = {"origin": "http://w-00000000000000000000000000000000.env.localhost:8000"}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (scope(), False),
        (scope(**OWN), False),
        (scope(method="POST", **OWN), False),
        (scope("websocket", "ws", **OWN), False),
        (scope(method="POST", **OTHERS), True),
        (scope(**OTHERS), True),
        (scope("websocket", "ws", **OTHERS), True),
        (scope("websocket", "ws", origin="http://localhost:8000"), True),
        (scope(origin="null"), True),
        # The scheme is part of it, behind TLS and without.
        (scope(scheme="https", **OWN), True),
        (scope(scheme="https", origin="https://" + HOST.decode()), False),
        # A person who follows a link comes from elsewhere; a picture, a script and a frame do not.
        (scope(sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="document"), False),
        (scope(sec_fetch_site="same-site", sec_fetch_mode="no-cors", sec_fetch_dest="image"), True),
        (scope(sec_fetch_site="same-site", sec_fetch_mode="navigate", sec_fetch_dest="iframe"), True),
        (
            scope(
                method="POST",
                sec_fetch_site="same-site",
                sec_fetch_mode="navigate",
                sec_fetch_dest="document",
            ),
            True,
        ),
        (scope(sec_fetch_site="same-origin", sec_fetch_mode="cors", sec_fetch_dest="empty"), False),
    ],
)
def test_pages_of_other_origins_are_told_from_people(asked: dict[str, Any], expected: bool) -> None:
    assert is_foreign(asked) is expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://" + HOST.decode(), True),
        ("https://" + HOST.decode().upper().partition(":")[0], True),
        ("http://acme.localhost:8000", False),
        ("null", False),
        # No address at all: it is refused by what it asks, and breaks nothing.
        ("http://[", False),
        ("http://[::1]:8000", False),
        ("://", False),
    ],
)
def test_the_portal_knows_a_page_of_work_by_its_origin(origin: str, expected: bool) -> None:
    assert _comes_from_work(scope(origin=origin)) is expected


def test_the_cookie_is_this_hosts_alone_and_no_scripts() -> None:
    plain = cookie_set(scope(), "t").decode()
    assert plain.startswith("weir_web=t;")
    assert "HttpOnly" in plain
    assert "Domain" not in plain
    assert "Secure" not in plain
    sealed = cookie_set(scope(scheme="https"), "t").decode()
    assert sealed.startswith("__Host-weir_web=t;")
    assert "; Secure" in sealed
    assert "Path=/;" in sealed


def test_the_work_never_sees_the_gateways_cookie() -> None:
    assert cookies_forwarded(b"_xsrf=2; weir_web=abc; theme=dark") == b"_xsrf=2; theme=dark"
    assert cookies_forwarded(b"__Host-weir_web=abc") == b""
    told = dict(
        request_headers(
            scope(cookie="weir_web=abc", connection="x-secret", x_secret="1", x_forwarded_for="6.6.6.6")
        )
    )
    assert b"cookie" not in told
    assert b"connection" not in told
    assert b"x-secret" not in told
    # Who called is what the gateway saw, whatever the caller says.
    assert told[b"x-forwarded-for"] == b"10.0.0.9"


def test_a_length_that_the_body_does_not_have_is_left_out() -> None:
    length = (b"content-length", b"2")
    assert answer_headers([length]) == [length]
    assert answer_headers([length], 204) == []
    assert answer_headers([length], 304) == []
    # Of the two the chunks count.
    assert answer_headers([length, (b"Transfer-Encoding", b"chunked")]) == []


def test_the_work_sets_no_cookie_for_another_host_nor_the_gateways() -> None:
    sent = [
        (b"set-cookie", b"_xsrf=2; Path=/"),
        (b"set-cookie", b"sessionid=evil; Domain=localhost; Path=/"),
        (b"Set-Cookie", b"csrftoken=evil; path=/; domain=.localhost"),
        (b"set-cookie", b"weir_web=fixed; Path=/"),
        (b"transfer-encoding", b"chunked"),
        # To a browser this is the whole site, the portal's own session with it.
        (b"Clear-Site-Data", b'"cookies"'),
        (b"content-type", b"text/html"),
    ]
    assert answer_headers(sent) == [(b"set-cookie", b"_xsrf=2; Path=/"), (b"content-type", b"text/html")]
