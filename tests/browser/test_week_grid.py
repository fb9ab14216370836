"""Hours of the week are drawn, walked by keyboard, chosen by whole days and hours, and said in words."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.measures import access_faults
from tests.browser.visitor import NARROW, WIDE, Visitor

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]
GRID = "validity-training"


@pytest.mark.req("PLAT-AICFG-29")
def test_hours_are_drawn_and_walked_by_keyboard(visit: Visit) -> None:
    admin = visit("admin")
    for size in (WIDE, NARROW):
        admin.page.set_viewport_size(size)
        admin.page.goto("/scheduling/validity/")
        said, keys = admin.at(f"{GRID}-said"), admin.page.keyboard
        admin.draw_hours(GRID, (0, 8), (4, 17))
        expect(said).to_have_text("Mon-Fri 08:00-18:00")
        admin.draw_hours(GRID, (1, 12), (1, 12))
        expect(said).to_have_text("Mon 08:00-18:00, Tue 08:00-12:00, Tue 13:00-18:00, Wed-Fri 08:00-18:00")
        admin.press(f"{GRID}-none")
        expect(said).to_have_text("at all times")
        admin.at(GRID).get_by_label("Sat 20:00-21:00").focus()
        keys.press("Space")
        keys.press("Shift+ArrowRight")
        keys.press("Shift+ArrowDown")
        expect(said).to_have_text("Sat 20:00-21:00, Sun 20:00-22:00")
        assert admin.at(GRID).locator(".week-cell:checked").count() == 3
        assert list(access_faults(admin.page, "hours")) == []
        assert admin.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.req("PLAT-AICFG-29")
def test_whole_days_and_hours_are_chosen_by_their_heads(visit: Visit) -> None:
    admin = visit("admin")
    admin.page.goto("/scheduling/validity/")
    admin.press(f"{GRID}-said")
    heads = admin.at(GRID).locator(".week-head")
    heads.nth(24).click()
    expect(admin.at(f"{GRID}-said")).to_have_text("Mon 00:00-24:00")
    heads.nth(24).click()
    heads.nth(6).click()
    expect(admin.at(f"{GRID}-said")).to_have_text("Mon-Sun 06:00-07:00")
