"""Whoever makes an alarm rule sees how often it would have fired while he chooses its figures."""

import pytest
from playwright.sync_api import expect

from tests.browser.rules import page_holds

pytestmark = [
    pytest.mark.browser,
    pytest.mark.req("POOL-12.19"),
    pytest.mark.xdist_group("portal"),
]


def test_a_rule_is_previewed_while_its_figures_are_chosen(visit):
    admin = visit("admin")
    admin.go("operator-alarms")
    admin.press("tab-rules")
    admin.press("rule-new")
    expect(admin.at("preview-wants")).to_be_visible()
    admin.at("rule-metric").select_option("device_utilisation")
    admin.fill("rule-threshold", "0")
    # Samples are taken twice a minute from when the pool first answers.
    expect(admin.at("preview-told").or_(admin.at("preview-none"))).to_be_visible()
    admin.page.wait_for_function(
        "() => { document.querySelector('#rule-days').dispatchEvent(new Event('change', {bubbles: true}));"
        " return document.querySelector('[data-test=\"preview-told\"]') }",
        polling=2000,
        timeout=90_000,
    )
    expect(admin.at("preview-told")).to_contain_text("It would have fired")
    expect(admin.at("rule-preview").locator("canvas")).to_be_visible()
    page_holds(admin.page)
    admin.shoot("rule-preview")
    admin.fill("rule-threshold", "1000")
    expect(admin.at("preview-told")).to_contain_text("It would not have fired.")
    admin.at("rule-metric").select_option("device_temperature")
    expect(admin.at("preview-none")).to_contain_text("No samples of “Device temperature” are kept")
    admin.page.goto(f"{admin.page.url.partition('/alarm-rules')[0]}/alarm-rules/device-hot/")
    expect(admin.at("preview-none")).to_be_visible()
    page_holds(admin.page)
    admin.shoot("rule-edit")
