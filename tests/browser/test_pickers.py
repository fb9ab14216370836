"""Rows are chosen from many by part of a name: by keyboard alone, on a phone, and what was refused stays as chosen."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.measures import access_faults
from tests.browser.rules import page_holds
from tests.browser.visitor import NARROW, Visitor

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]


@pytest.mark.req("PLAT-CLU-61")
def test_people_of_a_group_are_chosen_by_keyboard(visit: Visit) -> None:
    admin, code = visit("admin"), f"lab-{uuid4().hex[:6]}"
    admin.page.goto("/scheduling/user-groups/")
    for name, value in (("code", code), ("name_en", "Lab"), ("name_zh", "实验室")):
        admin.fill(f"user-group-{name}", value)
    field, keys = admin.at("user-group-users"), admin.page.keyboard
    field.focus()
    keys.type("alice")
    expect(admin.at("pick-option")).to_have_count(1)
    expect(field).to_have_attribute("aria-activedescendant", "user-group-users-list-0")
    keys.press("Enter")
    expect(admin.at("pick-chip")).to_have_text("Alice Wang×")
    keys.type("nobody.of.this.name")
    expect(admin.at("pick-none")).to_be_visible()
    assert list(access_faults(admin.page, "user groups")) == []
    keys.press("Enter")
    expect(admin.at("pick-chip")).to_have_count(2)
    keys.press("Escape")
    admin.press("user-group-save")
    expect(admin.problem()).to_contain_text("nobody.of.this.name")
    expect(admin.at("pick-chip")).to_have_count(2)
    expect(field).to_be_focused()
    keys.press("Backspace")
    keys.press("Escape")
    admin.press("user-group-save")
    row = admin.page.locator(f'[data-test="user-group-row"][data-code="{code}"]')
    expect(row).to_contain_text("alice")
    row.locator('[data-test="user-group-open"]').click()
    expect(admin.at("pick-chip")).to_have_text("Alice Wang×")
    admin.shoot("72-user-group")


@pytest.mark.req("ELA-305")
def test_devices_are_chosen_on_a_phone(visit: Visit) -> None:
    admin = visit("admin")
    admin.page.set_viewport_size(NARROW)
    admin.page.goto("/scheduling/reservations/")
    admin.at("reservation-device_uids").click()
    option = admin.at("pick-option").first
    expect(option).to_contain_text("#")
    title = option.get_attribute("data-title")
    assert admin.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    option.click()
    expect(admin.at("pick-chip")).to_contain_text(title or "?")
    assert admin.page.locator("[name=device_uids]").input_value()
    admin.at("pick-chip").get_by_role("button").click()
    expect(admin.at("pick-chip")).to_have_count(0)
    assert admin.page.locator("[name=device_uids]").input_value() == ""


@pytest.mark.req("ELA-501")
def test_work_is_asked_for_by_names_and_what_is_folded_opens_where_it_is_refused(visit: Visit) -> None:
    alice, volume = visit("alice"), f"data-{uuid4().hex[:6]}"
    alice.page.goto("/files/")
    alice.fill("volume-name", volume)
    alice.fill_amount("volume-size", "8", "MiB")
    alice.press("volume-make")
    expect(alice.page).to_have_url(re.compile(r"/files/[0-9a-f-]{36}/"))
    alice.page.goto("/resources/submit/")
    rare = alice.at("submit-rare")
    expect(rare).to_have_count(5)
    assert rare.evaluate_all("parts => parts.filter(part => part.open).length") == 0
    page_holds(alice.page)
    assert list(access_faults(alice.page, "submit")) == []
    alice.fill("submit-name", "folded")
    alice.fill("submit-command", "true")
    alice.at("submit-volumes").click()
    alice.page.keyboard.type(volume[:8])
    alice.part("pick-option", volume).click()
    expect(alice.at("pick-chip")).to_have_text(f"{volume}×")
    for words, field, text in (
        ("Order and time", "priority", "2000"),
        ("How its shares lie", "min_shares", "0"),
    ):
        rare.filter(has_text=words).locator("summary").click()
        alice.fill(f"submit-{field}", text)
        rare.filter(has_text=words).locator("summary").click()
    alice.page.locator("#work").evaluate("form => { form.noValidate = true }")
    # What it would get is asked for meanwhile, and leaves the marks of what was refused where they are.
    with alice.page.expect_response("**/dry-run/"):
        alice.fill("submit-name", "folded away")
        alice.press("submit-send")
        expect(alice.at("problem").first).to_be_visible()
    for field in ("priority", "min_shares"):
        expect(alice.at(f"submit-{field}")).to_have_attribute("aria-invalid", "true")
    assert rare.evaluate_all("parts => parts.filter(part => part.open).length") == 2
    page_holds(alice.page)
    alice.shoot("75-submit")
