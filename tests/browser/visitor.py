"""People at a browser: each with a window of their own, in which nothing may go wrong unseen."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect

WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
LIVE_MS = 90_000
# Refusals are answered with 4xx on purpose; the browser notes each of them as an error of its own. And a question that
# a newer one overtakes is broken off on purpose; one that fails for another reason also says `htmx:sendError`.
_REFUSAL = re.compile(
    r"Failed to load resource: the server responded with a status of 4\d\d|Response Status Error"
    r"|^htmx:(afterRequest|sendAbort)\b"
)


class Visitor:
    """Somebody signed in at one host, with one page open.

    Args:
        browser: the Chromium they use.
        base_url: the host's address, http://acme.localhost:8000.
        name: the login account.
        state: cookies of somebody who signed in before.
    """

    def __init__(self, browser: Browser, base_url: str, name: str, state: dict | None = None) -> None:
        self.browser = browser
        self.base_url = base_url
        self.name = name
        self.complaints: list[str] = []
        self.context = self._window("en-US", state)
        self.page = self._page(self.context)
        self._mirror: Page | None = None

    def _window(self, locale: str, state: dict | None) -> BrowserContext:
        context = self.browser.new_context(
            base_url=self.base_url,
            locale=locale,
            viewport=WIDE,
            color_scheme="light",
            storage_state=state,
            reduced_motion="reduce",
        )
        context.set_default_timeout(LIVE_MS)
        return context

    def _page(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        return page

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _REFUSAL.search(message.text):
            self.complaints.append(f"{self.page.url}: {message.text} {message.location}")

    def sign_in(self, password: str) -> None:
        """Through the page, as everybody does."""
        self.page.goto("/login/")
        self.fill("username", self.name)
        self.fill("password", password)
        self.press("sign-in")
        self.page.wait_for_url(lambda url: "/login/" not in url)

    def at(self, mark: str) -> Locator:
        """What carries that `data-test`, where it can be seen."""
        return self.page.locator(f'[data-test="{mark}"]:visible')

    def press(self, mark: str) -> None:
        self.at(mark).first.click()

    def fill(self, mark: str, text: str) -> None:
        self.at(mark).first.fill(text)

    def fill_amount(self, mark: str, figure: str, unit: str) -> None:
        """A figure and the unit that it is said in."""
        self.fill(mark, figure)
        self.at(f"{mark}-unit").first.select_option(label=unit)

    def go(self, key: str) -> None:
        """By the side navigation, whose group is unfolded first where it is folded."""
        entry = self.page.locator(f'[data-test="nav-{key}"]')
        group = self.page.locator(".menu-group", has=entry)
        if group.count() and group.locator(".menu-head").get_attribute("aria-expanded") == "false":
            group.locator(".menu-head").click()
        entry.click()

    def unfold(self, mark: str) -> None:
        """Open a folded part of the page, if it is not open yet."""
        fold = self.at(mark)
        if fold.get_attribute("open") is None:
            fold.locator("summary").first.click()

    def draw_hours(self, mark: str, begin: tuple[int, int], end: tuple[int, int]) -> None:
        """Draw with the mouse over a grid of the week, from an hour of a day (Monday is 0) to another one."""
        week = self.at(mark)
        if week.get_attribute("open") is None:
            week.locator("summary").click()
        cells = week.locator(".week-cell")
        first, last = (cells.nth(24 * day + hour) for day, hour in (begin, end))
        # Both are in sight before the mouse goes down.
        last.scroll_into_view_if_needed()
        first.scroll_into_view_if_needed()
        first.hover()
        self.page.mouse.down()
        last.hover()
        self.page.mouse.up()

    def part(self, mark: str, text: str) -> Locator:
        """The row or card with that `data-test` that holds the text."""
        return self.at(mark).filter(has_text=text)

    def confirm(self) -> None:
        """Answer the page's own question with yes."""
        self.press("confirm-yes")

    def problem(self) -> Locator:
        return self.at("problem")

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Inside, the open page is neither loaded again nor left: whatever changes, changes by itself."""
        self.page.evaluate("window.weirStayed = true")
        yield
        assert self.page.evaluate("window.weirStayed === true"), f"{self.page.url} was loaded again"

    def in_chinese(self) -> Page:
        """A second window of theirs, in Chinese."""
        if self._mirror is None:
            self._mirror = self._page(self._window("zh-CN", self.context.storage_state()))
        return self._mirror

    def shoot(self, name: str) -> None:
        """Pictures of the page for people to look at, where WEIR_SHOTS names a folder."""
        folder = os.environ.get("WEIR_SHOTS")
        if not folder:
            return
        place = Path(folder)
        self.page.screenshot(path=place / f"{name}-en.png", full_page=True)
        mirror = self.in_chinese()
        for suffix, size, scheme in (("zh", WIDE, "light"), ("dark", WIDE, "dark"), ("390", NARROW, "light")):
            mirror.set_viewport_size(size)
            mirror.emulate_media(color_scheme=scheme)
            mirror.goto(self.page.url, wait_until="networkidle")
            mirror.screenshot(path=place / f"{name}-{suffix}.png", full_page=True)

    def leave(self) -> None:
        self.context.close()
        if self._mirror is not None:
            self._mirror.context.close()


def sees(place: Locator, state: str, within_ms: float = LIVE_MS) -> None:
    """The first state shown there is, or becomes, that one."""
    expect(place.locator('[data-test="state"]').first).to_have_attribute(
        "data-state", state, timeout=within_ms
    )
