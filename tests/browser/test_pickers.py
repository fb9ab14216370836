"""Rows are chosen from many by part of a name: by keyboard alone, on a phone, and what was refused stays as chosen."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.measures import access_faults
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
