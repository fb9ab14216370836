"""Chromium at the shared portal."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from portal.devstack.stack import Stack
from tests.browser.visitor import LIVE_MS, Visitor
from tests.harness.chromium import MISSING, PATH
from tests.harness.portal import password_of

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Several people's windows are open at a time: those behind keep up too.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
OPERATORS = ("ops", "admin", "boss")
GLOBEX = ("gina", "gil", "greta")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a Chromium the tests of this folder are skipped, and say so."""
    if PATH is not None:
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason=MISSING))


# Of the package: Playwright's event loop must be gone before other tests touch the database.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=LIVE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PATH, headless=True, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def cookies() -> dict[tuple[str, str], dict]:
    """Who has signed in before, by address and name: sessions last longer than a test."""
    return {}


@pytest.fixture
def visit(
    stack: Stack, chromium: Browser, cookies: dict[tuple[str, str], dict]
) -> Iterator[Callable[[str], Visitor]]:
    """`visit("alice")`: alice, signed in on her own host. At the end no page of anybody's has complained."""
    visitors: list[Visitor] = []

    def come(name: str) -> Visitor:
        known = address_of(stack, name), name
        visitor = Visitor(chromium, *known, cookies.get(known))
        visitors.append(visitor)
        if known in cookies:
            visitor.page.goto("/")
        else:
            visitor.sign_in(password_of(stack))
            cookies[known] = visitor.context.storage_state()
        return visitor

    yield come
    for visitor in visitors:
        visitor.leave()
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []


def address_of(stack: Stack, name: str) -> str:
    """The host that somebody works at."""
    port = urlsplit(stack.base_url).port
    if name in OPERATORS:
        return f"http://localhost:{port}"
    return f"http://{'globex' if name in GLOBEX else 'acme'}.localhost:{port}"
