"""Callers who send half of something, or read nothing: they cost a connection, and everybody else is served (S2)."""

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.harness.webs import running_web

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("web")]
CALLERS = 40
BODY_TIMEOUT_S = 20
HALF_BODY = (
    b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)


class Slow(threading.Thread):
    """A caller that waits to be cut, beside whatever the tests do meanwhile."""

    def __init__(self, url: str, data: bytes, drop: bytes = b"") -> None:
        super().__init__(daemon=True)
        self._drop, self._began_s = drop, time.monotonic()
        self._connection = connect(url, data)
        self.told, self.lasted_s = b"", 0.0
        self.start()

    def run(self) -> None:
        """Send the drop twice a second, if there is one, until something comes; then read to the end."""
        with contextlib.suppress(OSError):
            while self._drop and is_open(self._connection):
                self._connection.sendall(self._drop)
                time.sleep(0.5)
            self.told = answer_of(self._connection)
        self.lasted_s = time.monotonic() - self._began_s

    def cut(self, within_s: float) -> "Slow":
        """Itself, once it was cut."""
        self.join(timeout=max(self._began_s + within_s - time.monotonic(), 0))
        assert not self.is_alive(), f"not cut within {within_s} s"
        return self


@pytest.fixture(scope="module")
def web(django_db_setup) -> Iterator[str]:
    with running_web(WEIR_BODY_TIMEOUT_S=str(BODY_TIMEOUT_S), WEIR_BODIES_TOTAL_MIB="16") as (url, _process):
        httpx.get(f"{url}/healthz", timeout=60)
        yield url


@pytest.fixture(scope="module", autouse=True)
def slow(web) -> dict[str, Slow]:
    """The callers of several tests: their time runs out together, beside all others."""
    return {
        "dripping": Slow(web, HALF_BODY % b"/api/v1/auth/login", drop=b"x"),
        "silent": Slow(web, b""),
        "half": Slow(web, b"GET /healthz HTTP/1.1\r\nHost: loc"),
    }


def connect(url: str, data: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=60)
    connection.sendall(data)
    return connection


def answer_of(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    told = b""
    while data := connection.recv(65536):
        told += data
    return told


def assert_serves(url: str) -> None:
    for path in ("/healthz", "/login/", "/api/v1/auth/me", "/api/agent/v1/sync"):
        assert httpx.get(f"{url}{path}", timeout=BODY_TIMEOUT_S).status_code in (200, 401, 405)
    login = httpx.post(f"{url}/api/v1/auth/login", json={"username": "x", "password": "y"}, timeout=30)
    assert login.status_code == 401, login.text


def is_open(connection: socket.socket) -> bool:
    """Whether nothing was answered yet."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
        return False
    except BlockingIOError:
        return True
    finally:
        connection.settimeout(60)


def test_half_sent_bodies_stop_nobody_and_are_answered_408(web):
    """S2: forty anonymous connections held all threads for as long as they liked."""
    paths = [b"/api/v1/auth/login", b"/login/", b"/api/agent/v1/join", b"/metrics"] * (CALLERS // 4)
    callers = [connect(web, HALF_BODY % path) for path in paths]
    assert_serves(web)
    assert all(map(is_open, callers)), "they are served beside the callers, not after them"
    for path, caller in zip(paths, callers, strict=True):
        told = answer_of(caller)
        assert told.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in told.lower()
        assert (b'"request_timeout"' in told) == path.startswith(b"/api/")


def test_the_deadline_is_for_the_whole_body_not_for_each_byte(slow):
    """S2: one byte now and then kept a connection for ever."""
    dripping = slow["dripping"].cut(within_s=BODY_TIMEOUT_S + 20)
    assert dripping.lasted_s > BODY_TIMEOUT_S - 1


def test_endless_headers_are_cut_at_64_kib(web):
    endless = connect(web, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
    with pytest.raises(OSError):  # noqa: PT012
        for number in range(4000):
            endless.sendall(b"X-%d: %s\r\n" % (number, b"y" * 100))
        endless.recv(1) or endless.sendall(b"z")
        raise AssertionError("400 KB of headers were taken")


def test_half_sent_headers_and_silent_connections_are_cut(slow):
    """S2: neither has a request yet; both are cut after 15 seconds."""
    for name in ("silent", "half"):
        assert slow[name].cut(within_s=40).told == b""


def test_what_all_bodies_hold_is_bounded_and_small_ones_pass(web):
    """S2: large half-sent bodies fill their common room; the next is told to come again, signing in still works."""
    head = b"POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11000000\r\n\r\n"
    big = [connect(web, head) for _ in range(2)]
    threads = [
        threading.Thread(target=lambda caller=caller: _send(caller, b"x" * 10_000_000), daemon=True)
        for caller in big
    ]
    for thread in threads:
        thread.start()
    answers = [_first_bytes(caller) for caller in big]
    refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 503 ")]
    assert len(refused) == 1
    assert b"retry-after: 5" in refused[0].lower()
    assert_serves(web)


def _send(caller: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        caller.sendall(data)


def _first_bytes(caller: socket.socket) -> bytes:
    caller.settimeout(3)
    try:
        return caller.recv(2000)
    except TimeoutError:
        return b""


def test_readers_who_do_not_read_stop_nobody(web):
    """S2, the other direction: answers that nobody reads held the threads that made them."""
    callers = []
    for _ in range(CALLERS):
        caller = socket.socket()
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        caller.connect(("127.0.0.1", urlsplit(web).port))
        caller.sendall(b"GET /static/echarts.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4)
        callers.append(caller)
    time.sleep(1)
    assert_serves(web)
    plain = {"accept-encoding": "identity"}
    whole = httpx.get(f"{web}/static/echarts.js", headers=plain, timeout=30)
    assert len(whole.content) == int(whole.headers["content-length"]) > 500_000


def test_a_large_body_arrives_whole_and_one_too_large_is_refused(web):
    """What is buffered is what was sent; the limit holds for a body whose length is not told, too."""
    told = httpx.post(f"{web}/api/v1/auth/login", content=b"[" + b" " * 3_000_000 + b"]", timeout=30,
                      headers={"content-type": "application/json"})  # fmt: skip
    assert told.json()["error"]["code"] == "invalid_input"
    declared = httpx.post(f"{web}/api/v1/auth/login", content=b"x" * 12_000_000, timeout=30)
    assert declared.status_code == 413
    chunks = (b"x" * 100_000 for _ in range(120))
    with contextlib.suppress(httpx.WriteError):
        assert httpx.post(f"{web}/api/v1/auth/login", content=chunks, timeout=30).status_code == 413


def test_a_web_that_leaves_answers_who_asks_and_who_is_about_to(django_db_setup):
    """A restart loses no request: an idle connection is answered once more and told to come again."""
    with running_web() as (url, process), httpx.Client(base_url=url, timeout=60) as kept:
        kept.get("/healthz")
        fresh = connect(url, b"")
        slow = connect(url, HALF_BODY % b"/api/v1/auth/login")
        process.send_signal(signal.SIGTERM)
        time.sleep(1)
        last = kept.get("/healthz")
        assert (last.status_code, last.headers["connection"]) == (200, "close")
        fresh.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.sendall(b" " * 998 + b"}")
        assert b"connection: close" in answer_of(fresh).lower()
        assert answer_of(slow).startswith(b"HTTP/1.1 400 ")
        began_s = time.monotonic()
        assert process.wait(timeout=30) in (0, -signal.SIGTERM)
        assert time.monotonic() - began_s < 20
