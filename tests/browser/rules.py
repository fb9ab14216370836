"""What holds for the content of every page: controls have names, tables fit, no raw values are shown."""

from collections.abc import Iterator
from contextlib import suppress

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from tests.browser.visitor import NARROW, WIDE

# Controls that a screen reader could not name.
UNNAMED = """() => [...document.querySelectorAll("main button, main a[href], header button, #sidebar a, main input," +
  " main select, main textarea")].filter(part => part.type !== "hidden" && part.checkVisibility() &&
  !(part.innerText?.trim() && !part.matches("select, textarea")) && !part.labels?.length &&
  !part.getAttribute("aria-label") && !part.title && !part.querySelector("[aria-label], [alt], .visually-hidden"))
  .map(part => part.outerHTML.slice(0, 100))"""
# Identifiers and instants as machines write them, outside of code, logs and what is marked as such (text-break).
RAW = r"""() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("main") ?? document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.nodeValue.trim(), part = walker.currentNode.parentElement;
    const isRaw = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|\d{4}-\d\d-\d\dT\d\d:|^(None|True|False|null|undefined|NaN)$/;
    if (isRaw.test(text) &&
      !part.closest("pre, code, textarea, script, template, .text-break") && part.checkVisibility())
      found.push(text.slice(0, 80));
  }
  return found;
}"""
# Detail pages lie under an entry of the navigation, so that one knows where one is.
HERE = "() => document.querySelectorAll('#sidebar [aria-current]').length"
CLIPPED = """() => [...document.querySelectorAll(".table-responsive")].filter(frame => frame.checkVisibility() &&
  frame.scrollWidth > frame.clientWidth + 1).map(frame =>
    `${frame.scrollWidth - frame.clientWidth} px: ${frame.innerText.slice(0, 60).replace(/\\s+/g, " ")}`)"""

FITTED_MS = 3_000
TOO_WIDE = "() => document.scrollingElement.scrollWidth - innerWidth"
# Between two pages a document has nothing in it.
WHOLE = "() => document.readyState === 'complete' && document.scrollingElement !== null"


def page_holds(page: Page) -> None:
    """Wide and narrow nothing of the open page stands out of it, and its content keeps the rules."""
    page.wait_for_load_state()
    page.wait_for_function(WHOLE)
    for size in (NARROW, WIDE):
        page.set_viewport_size(size)
        # Tables take the new width a frame later: a busy machine is asked before.
        with suppress(PlaywrightTimeoutError):
            page.wait_for_function(f"() => ({TOO_WIDE})() <= 1", timeout=FITTED_MS)
        assert page.evaluate(TOO_WIDE) <= 1
        assert list(table_faults(page, page.url)) == []
        assert list(content_faults(page, page.url)) == []


def content_faults(page: Page, place: str) -> Iterator[str]:
    """What is wrong with what the open page says, whatever its size and theme."""
    for name, question in (("without a name", UNNAMED), ("raw", RAW)):
        for found in page.evaluate(question):
            yield f"{place}: {name}: {found}"
    if "/account/" not in place and page.evaluate(HERE) != 1:
        yield f"{place}: the navigation does not show where it belongs"


def table_faults(page: Page, place: str) -> Iterator[str]:
    """Columns that are out of sight until one scrolls sideways."""
    for found in page.evaluate(CLIPPED):
        yield f"{place}: a table is clipped: {found}"
