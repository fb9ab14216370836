"""A page's socket and what a page asks by itself, in Chromium (S12, S18)."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Request, expect

from tests.browser.visitor import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
ANNOUNCE = "document.body.dispatchEvent(new CustomEvent('weir:connected'))"
Visit = Callable[[str], Visitor]


def test_a_pages_socket_opens_and_its_address_holds_no_ticket(visit: Visit) -> None:
    """S12: the address went into the server's log."""
    page = visit("alice").page
    addresses: list[str] = []
    page.on("websocket", lambda socket: addresses.append(socket.url))
    page.goto("/orders/")
    expect(page.locator("html")).to_have_attribute("data-live", "on")
    assert addresses
    assert all(address.endswith("/ws/live") for address in addresses)


def test_a_page_says_what_it_asks_by_itself(visit: Visit) -> None:
    """S18: what nobody's hand began is no use of the session; what is typed is."""
    page = visit("alice").page
    page.goto("/orders/")
    expect(page.locator("html")).to_have_attribute("data-live", "on")

    def is_list(request: Request) -> bool:
        return "/orders/" in request.url and request.headers.get("hx-request") == "true"

    with page.expect_request(is_list) as by_itself:
        page.evaluate(ANNOUNCE)
    assert by_itself.value.headers.get("weir-refresh") == "true"
    with page.expect_request(is_list) as typed:
        page.locator("#order-search").press_sequentially("W-")
    assert "weir-refresh" not in typed.value.headers
