"""Times that a list says as "3 minutes ago"."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]


def test_a_list_says_how_long_ago_and_counts_on_while_it_is_open(visit):
    ops = visit("ops")
    ops.page.goto("/tenants/")
    time = ops.page.locator('[data-test="tenant-row"][data-schema="acme"] time[data-ago]')
    expect(time).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$"))
    made = ops.page.evaluate("at => Date.parse(at)", time.get_attribute("datetime"))
    at = ops.page.evaluate("Date.now()")
    ops.page.clock.install(time=(at + timedelta(hours=1).total_seconds() * 1000) / 1000)
    ops.page.goto("/tenants/")
    assert made < at
    with ops.staying():
        ops.page.clock.fast_forward("05:00:00")
        expect(time).to_have_text(re.compile(r"^(?:[5-9]|1\d|2[0-3]) hours ago$|^1 day ago$"))
    chinese = ops.in_chinese()
    chinese.clock.install(time=made / 1000 + 3 * 86400)
    chinese.goto("/tenants/")
    chinese.clock.run_for(60_000)
    shown = chinese.locator('[data-test="tenant-row"][data-schema="acme"] time[data-ago]')
    expect(shown).to_have_text("3 天前")
