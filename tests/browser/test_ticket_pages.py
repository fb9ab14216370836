"""A ticket at the browsers of both sides: opened by the form of its category, claimed, asked back, answered, done,
rated, while each page follows what the other side does."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
TITLE = f"The fan is loud {uuid4().hex[:6]}"


@pytest.mark.req("PLAT-CFG-26", "PLAT-CFG-27", "PLAT-TODO-11", "PLAT-TODO-13")
def test_a_ticket_between_two_sides(visit: Callable[[str], Visitor]) -> None:
    alice, ops = visit("alice"), visit("ops")
    alice.go("tickets-tickets")
    alice.press("new-ticket")
    alice.shoot("70-categories")
    alice.page.locator('[data-test="category"]', has_text="/ Repair").click()
    alice.fill("title", TITLE)
    alice.fill("text", "Since noon.\nIt also smells.")
    alice.at("data-urgency").select_option("work stands still / 业务中断")
    alice.at("files").set_input_files({"name": "noise.txt", "mimeType": "text/plain", "buffer": b"brrr"})
    alice.shoot("71-new-ticket")
    alice.press("submit")
    expect(alice.at("receiver")).to_contain_text("Operations manager")
    expect(alice.at("attachment")).to_contain_text("noise.txt")
    ops.page.goto("/tickets/?tab=todo")
    ops.shoot("72-tickets")
    ops.page.locator('[data-test="case-row"]', has_text=TITLE).get_by_role("link").first.click()
    ops.press("claim")
    expect(ops.at("finish")).to_be_visible()
    ops.shoot("73-handle")
    with alice.staying():
        ops.fill("result", "Which node?")
        ops.press("ask")
        sees(alice.page.locator("body"), "asked")
    alice.fill("reply", "The third.")
    alice.shoot("74-asked")
    alice.press("reply-send")
    sees(alice.page.locator("body"), "delivering")
    expect(ops.at("finish")).to_be_visible()
    with alice.staying():
        ops.fill("data-cause", "dust")
        ops.fill("result", "A new fan.")
        ops.press("finish")
        sees(alice.page.locator("body"), "done")
    alice.at("rating-choice").select_option("4")
    alice.press("rate")
    expect(alice.at("rating")).to_contain_text("4 / 5")
    alice.shoot("75-done")
    ops.page.goto("/ticket-categories/")
    ops.shoot("76-ticket-categories")
    ops.page.get_by_role("link", name="Repair").click()
    expect(ops.at("rule-row").first).to_be_visible()
    ops.shoot("77-ticket-category")
    ops.page.goto("/working-hours/")
    ops.shoot("78-working-hours")
