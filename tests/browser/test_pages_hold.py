"""Every page that the navigation leads to, wide and narrow, light and dark, in both languages, and by keyboard."""

import os
import re
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import APIResponse, Page, ViewportSize

from portal.devstack.demo_order import AMOUNTS, Journey
from portal.devstack.stack import Stack
from tests.browser.measures import DEMO, access_faults, english_faults
from tests.browser.rules import content_faults, table_faults
from tests.browser.visitor import NARROW, WIDE, Visitor
from tests.harness.portal import password_of

# A group, and so a portal, of its own: it takes as long as all other pages' stories together.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal pages")]
Visit = Callable[[str], Visitor]
CJK = re.compile(r"[\u4e00-\u9fff]")
# Axe-core in the narrow windows, too: twice as long.
EVERY_LOOK = bool(os.environ.get("WEIR_TEST_EVERY_LOOK"))
LIVED_S = 10
SOON_S = 20
LINKS = """() => [...document.querySelectorAll("#sidebar a[href]")].map(link => link.pathname)"""
TABLES = """() => [...document.querySelectorAll("a[href^='/admin/']")].map(link => link.pathname)
  .filter(path => !path.match(/logout|password|jsi18n/))"""
# What a list leads to: the first of its rows.
FIRST_ROW = """() => document.querySelector(
  "main [data-test$=-row] a[href^='/'], main [data-test=apply], main [data-test=business-system] a," +
  " #result_list tbody th a, #result_list tbody td a")?.getAttribute("href")"""
BUSY = "() => !document.querySelector('.htmx-request') && document.readyState === 'complete'"
# What is wrong with the open page at its present size and in the theme that is asked for.
WRONG_LOOK = """scheme => {
  const wrong = [], wide = document.scrollingElement.scrollWidth - innerWidth;
  if ((document.documentElement.matches("[data-bs-theme=dark], .dark") ? "dark" : "light") !== scheme)
    wrong.push(`does not turn ${scheme}`);
  if (wide > 1)
    wrong.push(`too wide: ${wide} px, ` + [...document.body.querySelectorAll("*")].filter(part =>
      part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".table-responsive"))
      .map(part => part.outerHTML.slice(0, 90)).slice(0, 3).join(" | "));
  for (const tab of document.querySelectorAll(".nav-tabs .active")) {
    const row = tab.closest(".nav-tabs").getBoundingClientRect(), own = tab.getBoundingClientRect();
    if (own.left < row.left - 1 || own.right > row.right + 1) wrong.push("its own tab is out of sight");
  }
  const pen = document.createElement("canvas").getContext("2d");
  for (const field of document.querySelectorAll("main input[placeholder]")) {
    const look = getComputedStyle(field);
    const room = field.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight);
    pen.font = look.font;
    if (field.checkVisibility() && pen.measureText(field.placeholder).width > room + 1)
      wrong.push(`what a field asks for is cut: ${field.placeholder}`);
  }
  const brand = document.querySelector(".weir-brand > span");
  const line = brand && 1.7 * parseFloat(getComputedStyle(brand).fontSize);
  if (brand?.checkVisibility() && (brand.offsetHeight > line || brand.scrollWidth > brand.clientWidth + 1))
    wrong.push("the portal's name is cut or on two lines");
  return wrong;
}"""
# Each language, width and theme once with each of the others, in two loads of a page.
LOOKS = {"en": ((WIDE, "light"), (NARROW, "dark")), "zh": ((WIDE, "dark"), (NARROW, "light"))}
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


@pytest.fixture
def lived_in(stack: Stack) -> None:
    """Lists with rows in them: one order run to its end and one bill paid."""
    journey = Journey(f"http://127.0.0.1:{stack.options.port}", password_of(stack), duration_s=LIVED_S)
    if not journey.person("alice").orders():
        order = journey.order_made("alice", "dan", AMOUNTS, "something to look at")
        journey.settle(order)


def pages_of(visitor: Visitor) -> Iterator[str]:
    """The paths of the navigation, and behind them the first thing that each list leads to."""
    page = visitor.page
    page.goto("/")
    queue = ["/", *page.evaluate(LINKS)]
    for path in queue:
        yield path
        if path.startswith(("/admin/", "/t/")):
            continue
        detail = page.evaluate(FIRST_ROW)
        queue += [found for found in [detail] if found and found not in queue]


def kind_of(path: str) -> str:
    """A path without what tells one row from another."""
    return re.sub(r"[0-9a-f-]{36}|\d+(?=/)", "*", urlsplit(path).path)


def opened(page: Page, path: str) -> int:
    """The page, once all its parts have come; its status."""
    answer = page.goto(path)
    page.wait_for_function(BUSY)
    assert answer is not None
    return answer.status


def faults(page: Page, path: str, language: str) -> Iterator[str]:
    """What is wrong with one page in one language."""
    page.bring_to_front()
    dress(page, *LOOKS[language][0])
    status = opened(page, path)
    if status != 200:
        yield f"{path} {language}: status {status}"
        return
    yield from word_faults(page, path, language)
    if language == "zh":
        yield from english_faults(page, path, DEMO)
    yield from access_faults(page, f"{path} {language} {LOOKS[language][0][1]}")
    if not path.startswith("/admin/"):
        yield from content_faults(page, f"{path} {language}")
    yield from look_faults(page, f"{path} {language}", *LOOKS[language][0])
    dress(page, *LOOKS[language][1])
    if path.startswith("/admin/"):
        # The admin's own frame looks at the reader's wish when it is loaded.
        page.reload()
    yield from look_faults(page, f"{path} {language}", *LOOKS[language][1])
    if EVERY_LOOK:
        yield from access_faults(page, f"{path} {language} {LOOKS[language][1][1]} narrow")
    dress(page, *LOOKS[language][0])


def look_faults(page: Page, place: str, size: ViewportSize, scheme: str) -> Iterator[str]:
    """What is wrong with the open page at that size and in that theme."""
    for wrong in at_rest(page, WRONG_LOOK, scheme):
        yield f"{place} {size['width']}: {wrong}"
    if "/admin/" not in place:
        yield from table_faults(page, f"{place} {size['width']}")


def dress(page: Page, size: ViewportSize, scheme: str) -> None:
    page.set_viewport_size(size)
    page.emulate_media(color_scheme=scheme)


def at_rest(page: Page, question: str, given: str) -> list[str]:
    """What is still wrong some time after the page's window has changed; nothing is, mostly at once."""
    end_s = time.monotonic() + SOON_S
    while (wrong := page.evaluate(question, given)) and time.monotonic() < end_s:
        page.wait_for_timeout(50)
    return list(wrong)


def word_faults(page: Page, path: str, language: str) -> Iterator[str]:
    """Titles are in the reader's language; what people have written themselves stays as they wrote it."""
    title, heading = page.title(), page.locator("h1").first.inner_text()
    is_theirs = "*" in kind_of(path)
    if language == "zh" and not (CJK.search(title) and (is_theirs or CJK.search(heading))):
        yield f"{path} zh: title “{title}”, heading “{heading}”"
    if language == "en" and not is_theirs and CJK.search(heading):
        yield f"{path} en: heading “{heading}”"


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
@pytest.mark.parametrize("names", [("alice", "olga", "sam"), ("ops", "admin")], ids=["tenant", "operator"])
def test_every_page_holds(visit: Visit, names: tuple[str, ...]) -> None:
    found: list[str] = []
    seen: set[str] = set()
    for name in names:
        visitor = visit(name)
        for path in pages_of(visitor):
            if kind_of(path) not in seen:
                seen.add(kind_of(path))
                found += page_faults(visitor, path)
    print(f"{len(seen)} pages: {' '.join(sorted(seen))}")
    assert not found, "\n".join(found)


def page_faults(visitor: Visitor, path: str) -> list[str]:
    """The portal's own pages in both languages; the tables of the admin, all made alike, in Chinese."""
    found = list(faults(visitor.in_chinese(), path, "zh"))
    if path.startswith("/admin/"):
        return found
    return [*found, *faults(visitor.page, path, "en"), *keyboard_faults(visitor.page, path)]


@pytest.mark.req("PLAT-GEN-11")
@pytest.mark.usefixtures("lived_in")
def test_every_table_of_the_operator_pages_opens(visit: Visit) -> None:
    """Whatever the operators' index leads to answers, in Chinese, to who is led there."""
    for name in ("ops", "admin"):
        page = visit(name).in_chinese()
        page.goto("/admin/")
        found = set(page.evaluate(TABLES))
        assert len(found) > 5
        wrong = [path for path in sorted(found) if not is_chinese(page.request.get(path))]
        assert wrong == []


def is_chinese(answer: APIResponse) -> bool:
    title = re.search(r"<title>(.*?)</title>", answer.text(), re.DOTALL)
    return answer.status == 200 and title is not None and bool(CJK.search(title.group(1)))
