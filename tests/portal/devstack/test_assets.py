"""The built scripts in a real browser, under the portal's own content policy."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Page, expect, sync_playwright

from portal.devstack import assets
from portal.devstack.servers import ports
from portal.devstack.servers.processes import wait_until
from tests.harness import chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium.PATH is None, reason=chromium.MISSING),
]
LATE_S = 0.5
_POLICY = (
    b"default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    b"font-src 'self' data:; connect-src 'self' ws: wss:"
)
_PAGE = """<!doctype html><html><head><title>t</title><script src="/static/theme.js"></script>
<link rel="stylesheet" href="/static/vendor.css"><link rel="stylesheet" href="/static/app.css">
<script defer src="/static/vendor.js"></script><script defer src="/static/app.js"></script>
<script defer src="/static/echarts.js"></script></head><body data-live-topics="a:b">
<button data-theme-switch>theme</button><span class="live-lost">lost</span>
<i id="icon" class="ti ti-home"></i>
<p id="part" hx-get="/part" hx-trigger="weir:order.7 from:body, weir:connected from:body">0</p>
<div id="form-part" hx-get="/form-part" hx-trigger="weir:order.7 from:body">
<select><option>a</option><option>b</option></select><input id="note" value="old"></div>
<button id="post" hx-post="/echo" hx-target="#said">post</button><p id="said"></p>
<form method="post" action="/form"><button id="send">send</button></form>
<div id="chart" data-chart data-option='{"xAxis": {"data": ["a"]}, "yAxis": {},
 "series": [{"type": "bar", "data": [3]}]}'></div></body></html>"""
_TYPES = {"js": b"text/javascript", "css": b"text/css", "woff2": b"font/woff2"}


class Site:
    """The smallest server that the scripts can talk to."""

    def __init__(self) -> None:
        self.port = ports.any_free()
        self.parts = 0
        self.missed = False
        self.forms = 0
        self.topics: list[str] = []
        self._sends: list[Any] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "http":
            # The last script comes late, as over a slow line: nothing may happen before the page is whole.
            await asyncio.sleep(LATE_S if scope["path"] == "/static/echarts.js" else 0)
            status, kind, body = self._answer(scope["path"], dict(scope["headers"]))
            headers = [(b"content-type", kind), (b"content-security-policy", _POLICY)]
            headers.append((b"set-cookie", b"csrftoken=t0ken; Path=/"))
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    async def _socket(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self._loop = asyncio.get_running_loop()
        assert scope["query_string"] == b"", "tickets stand in no address"
        await receive()
        await send({"type": "websocket.accept"})
        self.topics.append(json.loads((await receive())["text"])["topics"])
        await send(
            {"type": "websocket.send", "text": json.dumps({"topic": "connected", "missed": self.missed})}
        )
        self._sends.append(send)
        while (await receive())["type"] != "websocket.disconnect":
            pass

    def _answer(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, bytes, bytes]:
        if path.startswith("/static/"):
            file = assets.DIST / path.removeprefix("/static/")
            return 200, _TYPES[file.suffix[1:]], file.read_bytes()
        if path == "/part":
            self.parts += 1
            return 200, b"text/html", str(self.parts).encode()
        if path == "/form-part":
            return 200, b"text/html", b'<input id="note" value="new">'
        if path == "/echo":
            return 200, b"text/html", headers.get(b"x-csrftoken", b"none")
        if path == "/form":
            self.forms += 1
            return 204, b"text/html", b""
        return (200, b"text/html", _PAGE.encode()) if path == "/" else (404, b"text/plain", b"")

    def tell(self, message: dict[str, Any]) -> None:
        """Send to the newest socket, from the test's thread."""
        assert self._loop is not None
        self._run(self._sends[-1]({"type": "websocket.send", "text": json.dumps(message)}))

    def hang_up(self) -> None:
        self._run(self._sends[-1]({"type": "websocket.close"}))

    def _run(self, coroutine: Any) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)


@pytest.fixture
def site() -> Iterator[Site]:
    assets.build()
    found = Site()
    settings = uvicorn.Config(
        found, port=found.port, lifespan="off", log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert wait_until(lambda: server.started, timeout_s=60)
    yield found
    server.should_exit = True
    thread.join(60)


@pytest.fixture
def page(site: Site) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=["--no-sandbox"])
        found = browser.new_page()
        complaints: list[str] = []
        found.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        found.on("pageerror", lambda error: complaints.append(str(error)))
        found.goto(f"http://127.0.0.1:{site.port}/")
        assert wait_until(lambda: bool(site.topics), timeout_s=60)
        yield found
        browser.close()
        assert [text for text in complaints if "favicon" not in text and "404" not in text] == []


def test_a_live_message_refetches_its_part_and_so_does_a_new_connection(page: Page, site: Site) -> None:
    assert site.topics == ["a:b"]
    expect(page.locator("html")).to_have_attribute("data-live", "on")
    expect(page.locator(".live-lost")).to_be_hidden()
    site.tell({"topic": "order.8", "event": "moved"})
    site.tell({"topic": "order.7", "event": "moved"})
    expect(page.locator("#part")).to_have_text("1")
    site.hang_up()
    expect(page.locator("#part")).to_have_text("2")
    site.tell({"topic": "order.7", "event": "moved"})
    expect(page.locator("#part")).to_have_text("3")


def test_a_page_that_missed_something_while_it_was_made_asks_once_more(page: Page, site: Site) -> None:
    expect(page.locator("html")).to_have_attribute("data-live", "on")
    assert site.parts == 0
    site.missed = True
    page.reload()
    expect(page.locator("#part")).to_have_text("1")


def test_a_live_part_that_is_being_filled_in_is_left_as_it_is(page: Page, site: Site) -> None:
    expect(page.locator("html")).to_have_attribute("data-live", "on")
    page.fill("#note", "mine")
    page.locator("#note").blur()
    site.tell({"topic": "order.7", "event": "moved"})
    expect(page.locator("#part")).to_have_text("1")
    page.wait_for_load_state("networkidle")
    expect(page.locator("#note")).to_have_value("mine")
    page.fill("#note", "old")
    page.locator("#note").blur()
    site.tell({"topic": "order.7", "event": "moved"})
    expect(page.locator("#note")).to_have_value("new")


def test_the_theme_is_kept_and_charts_follow_it(page: Page, site: Site) -> None:
    expect(page.locator("#chart canvas")).to_be_visible()
    root = page.locator("html")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.get_by_role("button", name="theme").click()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-bs-theme", "dark")
    expect(page.locator("#chart canvas")).to_be_visible()


def test_changes_carry_the_token_and_a_form_goes_out_once(page: Page, site: Site) -> None:
    page.locator("#post").click()
    expect(page.locator("#said")).to_have_text("t0ken")
    page.locator("#send").dblclick()
    page.wait_for_timeout(300)
    assert site.forms == 1


def test_icons_are_drawn_with_the_installed_font(page: Page, site: Site) -> None:
    page.evaluate("() => document.fonts.ready")
    assert page.evaluate("() => document.fonts.check('16px tabler-icons')")
    assert (
        page.evaluate("() => getComputedStyle(document.getElementById('icon'), '::before').content") != "none"
    )
