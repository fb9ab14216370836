"""A whole journey by the keyboard alone: who applies signs in, finds, configures and sends; who decides approves."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from portal.devstack.stack import Stack
from tests.browser.conftest import address_of
from tests.browser.visitor import LIVE_MS, WIDE
from tests.harness.portal import password_of

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal"), pytest.mark.req("PLAT-GEN-11")]
FURTHEST = 90
HERE = """() => { const one = document.activeElement; return {
  test: one.dataset?.test ?? "", name: one.getAttribute?.("name") ?? "", isBody: one === document.body,
  text: (one.innerText ?? "").trim() }; }"""


class Keys:
    """Somebody without a mouse, at the keyboard of one window."""

    def __init__(self, chromium: Browser, stack: Stack, name: str) -> None:
        self.context = chromium.new_context(base_url=address_of(stack, name), locale="en-US", viewport=WIDE)
        self.context.set_default_timeout(LIVE_MS)
        self.page: Page = self.context.new_page()
        self.page.goto("/login/")
        self.reach(name="username")
        self.page.keyboard.type(name)
        self.reach(name="password")
        self.page.keyboard.type(password_of(stack))
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(lambda url: "/login/" not in url)

    def here(self) -> dict:
        return dict(self.page.evaluate(HERE))

    def reach(self, *, test: str = "", name: str = "", text: str = "") -> None:
        """Tab until there; on the way the keyboard is never nowhere but at the ends of the page."""
        nowhere = 0
        for _step in range(FURTHEST):
            found = self.here()
            if (
                found["test"] == (test or found["test"])
                and found["name"] == (name or found["name"])
                and (text in found["text"])
            ):
                return
            nowhere += found["isBody"]
            assert nowhere < 4, f"{self.page.url}: the keyboard's place is lost on the way to {test or name}"
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{self.page.url}: Tab does not reach {test or name} {text}")

    def press(self, **where: str) -> None:
        self.reach(**where)
        self.page.keyboard.press("Enter")

    def into(self, key: str, test: str) -> None:
        """A page of the menu, whose group is unfolded first."""
        group = self.page.locator(".menu-group", has=self.page.locator(f'[data-test="nav-{key}"]'))
        head = group.locator(".menu-head")
        if head.get_attribute("aria-expanded") == "false":
            self.press(test=str(head.get_attribute("data-test")))
        self.press(test=f"nav-{key}")
        expect(self.page.locator(f'[data-test="{test}"]').first).to_be_visible()


def test_an_application_is_made_and_approved_by_keyboard_alone(chromium: Browser, stack: Stack) -> None:
    alice = Keys(chromium, stack, "alice")
    alice.into("catalog-commodities", "apply")
    alice.press(test="apply")
    expect(alice.page.locator('[data-test="quote-total"]')).to_contain_text("¥")
    alice.reach(test="duration")
    alice.page.keyboard.press("Control+A")
    alice.page.keyboard.type("10")
    alice.press(test="put-in-cart")
    expect(alice.page.locator('[data-test="cart-line"]').first).to_be_visible()
    alice.press(test="form-make")
    expect(alice.page.locator('[data-test="business-system"]')).to_be_visible()
    alice.reach(test="business-system")
    alice.page.keyboard.press("ArrowDown")
    alice.reach(test="remark")
    alice.page.keyboard.type("something")
    alice.press(test="submit")
    alice.page.wait_for_url(re.compile(r"/forms/[0-9a-f-]{36}/$"))
    number = re.search(r"\bF\d+-\d+\b", alice.page.locator('[data-test="page-title"]').inner_text())[0]
    dan = Keys(chromium, stack, "dan")
    dan.into("approvals-inbox", "task-open")
    row = dan.page.locator('[data-test="task-row"]', has_text=number).locator('[data-test="task-open"]')
    dan.press(test="task-open", text=row.inner_text().strip())
    expect(dan.page.locator('[data-test="part-form"]').first).to_be_visible()
    dan.press(test="decide-approve")
    expect(dan.page.locator("[data-test=message]").first).to_be_visible()
    # What was done is read first.
    assert dan.here()["test"] == "message"
    alice.context.close()
    dan.context.close()


def test_the_keyboards_place_outlives_a_part_that_is_fetched_anew(chromium: Browser, stack: Stack) -> None:
    ops = Keys(chromium, stack, "ops")
    ops.page.goto("/cases/")
    ops.page.evaluate(
        """() => {
          const part = document.querySelector("#content [hx-get]");
          const button = document.createElement("button");
          button.dataset.test = "made-for-this";
          part.append(button);
          button.focus();
          htmx.trigger(part, "weir:connected");
        }"""
    )
    ops.page.wait_for_timeout(500)
    assert not ops.here()["isBody"]
    ops.context.close()
