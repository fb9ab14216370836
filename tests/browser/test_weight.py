"""What a browser fetches for a page: how much, each thing once, and of what never changes nothing a second time."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from portal.devstack import assets, style_classes
from tests.browser.visitor import WIDE, Visitor

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
PLAIN_MAX, CHART_MAX = 150_000, 400_000
SETTLED_MS = 1500


class Ledger:
    """The bytes and the addresses that a page has fetched, as Chromium counts them."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        self.paths: list[str] = []
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._ended)
        session.on("Network.requestWillBeSent", self._began)

    def _ended(self, event: dict) -> None:
        self.bytes += int(event["encodedDataLength"])

    def _began(self, event: dict) -> None:
        self.paths.append(urlsplit(event["request"]["url"]).path)


def fetched(page: Page, path: str) -> Ledger:
    ledger = Ledger(page)
    page.goto(path, wait_until="networkidle")
    # The socket has connected by then: what it has the page fetch anew is counted.
    page.wait_for_timeout(SETTLED_MS)
    return ledger


@pytest.mark.parametrize(
    ("who", "path", "most"),
    [
        ("alice", "/", CHART_MAX),
        ("alice", "/catalogue/", PLAIN_MAX),
        ("alice", "/help/engineers-first-hour/", PLAIN_MAX),
        ("ops", "/", CHART_MAX),
        ("admin", "/pool/nodes/", PLAIN_MAX),
        ("ops", "/statistics/", CHART_MAX),
    ],
)
def test_a_page_is_light_and_asked_for_once(
    visit: Callable[[str], Visitor], chromium: Browser, who: str, path: str, most: int
) -> None:
    visitor = visit(who)
    cold = chromium.new_context(
        base_url=visitor.base_url, viewport=WIDE, storage_state=visitor.context.storage_state()
    )
    page = cold.new_page()
    first = fetched(page, path)
    print(f"{who} {path}: {first.bytes} bytes cold, {len(first.paths)} requests")
    assert first.bytes <= most
    assert first.paths.count(urlsplit(page.url).path) == 1
    assert len(first.paths) == len(set(first.paths)), first.paths
    again = fetched(page, path)
    cached = [one for one in again.paths if one.startswith("/static/")]
    print(f"{who} {path}: {again.bytes} bytes again, {len(cached)} of them static")
    assert again.bytes < first.bytes / 2
    cold.close()


# Where all of a page lies and how it looks, as far as a style sheet says so; what turns lies otherwise each time.
LOOK = """() => [...document.querySelectorAll("body *")]
    .filter(part => !part.closest("[data-chart], .spinner-border")).map(part => {
  const box = part.getBoundingClientRect(), style = getComputedStyle(part);
  return [part.localName, part.className, Math.round(box.x), Math.round(box.y), Math.round(box.width),
    Math.round(box.height), style.color, style.backgroundColor, style.fontSize, style.display].join(" ");
})"""
ICONS = "@font-face{font-family:tabler-icons"


@pytest.mark.parametrize(
    ("who", "path"),
    [
        ("alice", "/catalogue/"),
        ("alice", "/resources/submit/"),
        ("alice", "/account/tokens/"),
        ("admin", "/pool/nodes/"),
        ("admin", "/centre/components/"),
        ("admin", "/scheduling/queues/"),
    ],
)
def test_what_the_build_leaves_out_of_the_kit_changes_no_page(
    visit: Callable[[str], Visitor], who: str, path: str
) -> None:
    """The page with the kit's whole style sheet in place of ours: everything lies and looks as it did."""
    visitor = visit(who)
    page = visitor.page
    page.goto(path, wait_until="networkidle")
    ours = page.evaluate(LOOK)
    built = (assets.DIST / "vendor.css").read_text()
    whole = style_classes.KIT.read_text() + built[built.index(ICONS) :]
    page.route("**/static/vendor*.css", lambda route: route.fulfill(body=whole, content_type="text/css"))
    page.reload(wait_until="networkidle")
    assert len(ours) > 100
    theirs = page.evaluate(LOOK)
    assert [(one, other) for one, other in zip(ours, theirs, strict=True) if one != other][:5] == []
