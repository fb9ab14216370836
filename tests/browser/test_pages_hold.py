"""Every page that the navigation leads to, wide and narrow, light and dark, in both languages, and by keyboard."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Response

from portal.local.journey import AMOUNTS, Journey
from portal.local.stack import Stack
from tests.browser.visitor import NARROW, WIDE, Visitor
from tests.harness.portal import password_of

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal"), pytest.mark.timeout(240)]
Visit = Callable[[str], Visitor]
CJK = re.compile(r"[\u4e00-\u9fff]")
LIVED_S = 10
LINKS = """() => [...document.querySelectorAll(
  "#sidebar a[href], #nav-sidebar a[href], #nav-sidebar-apps a[href]")].map(link => link.pathname)"""
# What a list leads to: the first of its rows.
FIRST_ROW = """() => document.querySelector(
  "main [data-test$=-row] a[href^='/'], main [data-test=apply], main [data-test=business-system] a," +
  " #result_list tbody th a, #result_list tbody td a")?.getAttribute("href")"""
BUSY = "() => !document.querySelector('.htmx-request') && document.readyState === 'complete'"
STATE = """() => {
  const page = document.scrollingElement;
  const wide = [...document.body.querySelectorAll("*")].filter(part => {
    const box = part.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && getComputedStyle(part).position !== "fixed";
  }).pop();
  const lights = [document.body, document.documentElement].map(part =>
    getComputedStyle(part).backgroundColor.match(/[\\d.]+/g).map(Number)).filter(c => c.length < 4 || c[3] > 0);
  return {
    over: page.scrollWidth - innerWidth,
    wide: wide?.outerHTML.slice(0, 160) ?? "",
    isDark: matchMedia("(prefers-color-scheme: dark)").matches,
    hasDarkTheme: document.documentElement.dataset.bsTheme === "dark" ||
      document.documentElement.classList.contains("dark"),
  };
}"""
FOCUS = """() => {
  const part = document.activeElement;
  const box = part.getBoundingClientRect();
  const style = getComputedStyle(part);
  return {
    mark: part.className + " " + (part.dataset.test ?? ""),
    isInNavigation: !!part.closest("#sidebar"),
    isSeen: box.width > 1 && box.height > 1 && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0,
    hasRing: (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none",
  };
}"""


@pytest.fixture(scope="module")
def lived_in(stack: Stack) -> None:
    """Lists with rows in them: one order run to its end and one bill paid."""
    journey = Journey(f"http://127.0.0.1:{stack.options.port}", password_of(stack), duration_s=LIVED_S)
    if not journey.person("alice").orders():
        order = journey.order_made("alice", "dan", AMOUNTS, "something to look at")
        journey.settle(order)


def pages_of(visitor: Visitor) -> Iterator[str]:
    """The paths of the navigation, each followed by the first thing its list leads to."""
    seen: set[str] = set()
    page = visitor.page
    page.goto("/")
    queue = ["/", *page.evaluate(LINKS)]
    while queue:
        path = queue.pop(0)
        if path in seen:
            continue
        seen.add(path)
        yield path
        queue += [found for found in page.evaluate(LINKS) if found not in seen and found not in queue]
        detail = page.evaluate(FIRST_ROW)
        if detail and kind_of(detail) not in map(kind_of, seen):
            queue.append(detail)


def kind_of(path: str) -> str:
    """A path without what tells one row from another."""
    return re.sub(r"[0-9a-f-]{36}|\d+(?=/)", "*", urlsplit(path).path)


def opened(page: Page, path: str) -> Response:
    """The page, once all its parts have come."""
    answer = page.goto(path)
    page.wait_for_function(BUSY)
    assert answer is not None
    return answer


def faults(page: Page, path: str, language: str) -> Iterator[str]:
    """What is wrong with one page in one language."""
    answer = opened(page, path)
    if answer.status != 200:
        yield f"{path} {language}: status {answer.status}"
        return
    title, heading = page.title(), page.locator("h1").first.inner_text() if page.locator("h1").count() else ""
    if language == "zh" and not (
        CJK.search(title) and (re.search(r"\d|\*", kind_of(path)) or CJK.search(heading))
    ):
        yield f"{path} zh: title “{title}”, heading “{heading}”"
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            state = page.evaluate(STATE)
            if state["over"] > 1:
                yield f"{path} {language} {size['width']} {scheme}: {state['over']} px too wide: {state['wide']}"
            if state["hasDarkTheme"] != (scheme == "dark"):
                yield f"{path} {language}: does not turn {scheme}"
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")


def keyboard_faults(page: Page, path: str) -> Iterator[str]:
    """Tab from the top: the skip link first, then the navigation, and always seen where one is."""
    if not page.locator(".skip-link").count():
        return
    page.evaluate("document.activeElement?.blur()")
    first = tabbed(page)
    if "skip-link" not in first["mark"] or not first["isSeen"]:
        yield f"{path}: the first Tab leads to {first}"
    rest = [tabbed(page) for _ in range(3)]
    if not any(stop["isInNavigation"] for stop in rest):
        yield f"{path}: three Tabs more do not reach the navigation: {rest}"
    for stop in (first, *rest):
        if not (stop["isSeen"] and stop["hasRing"]):
            yield f"{path}: focus cannot be seen: {stop}"


def tabbed(page: Page) -> dict:
    page.keyboard.press("Tab")
    return dict(page.evaluate(FOCUS))


@pytest.mark.req("PLAT-GEN-11")
@pytest.mark.usefixtures("lived_in")
@pytest.mark.parametrize("names", [("alice", "olga", "sam"), ("ops", "admin")], ids=["tenant", "desk"])
def test_every_page_holds(visit: Visit, names: tuple[str, ...]) -> None:
    found: list[str] = []
    seen: set[str] = set()
    for name in names:
        visitor = visit(name)
        chinese = visitor.in_chinese()
        for path in pages_of(visitor):
            if kind_of(path) in seen:
                visitor.page.goto(path)
                continue
            seen.add(kind_of(path))
            found += faults(visitor.page, path, "en")
            found += keyboard_faults(visitor.page, path)
            found += faults(chinese, path, "zh")
    print(f"{len(seen)} pages: {' '.join(sorted(seen))}")
    assert found == []
