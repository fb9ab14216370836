"""An open alarms page moves by itself: a node's agent dies, and comes back."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from portal.local.stack import Stack
from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
# What the product promises between an agent's death and the alarm on the operators' page.
PROMISED_S = 30
NODE = "node-1"


@pytest.mark.req("PLAT-OBS-6")
def test_a_dead_agent_shows_on_the_open_page_and_so_does_its_return(
    stack: Stack, visit: Callable[[str], Visitor]
) -> None:
    admin = visit("admin")
    admin.go("desk-alarms")
    admin.at("filter-state").select_option("all")
    rows = admin.part("alarm-row", NODE)
    expect(admin.at("alarm-row").or_(admin.at("empty")).first).to_be_visible()
    before = rows.count()
    with admin.staying():
        stack.kill(NODE)
        died_s = time.monotonic()
        try:
            expect(rows).to_have_count(before + 1, timeout=PROMISED_S * 1000)
            assert time.monotonic() - died_s < PROMISED_S
            expect(rows.first.locator('[data-test="state"]').first).to_have_attribute(
                "data-state", "critical"
            )
            fired = rows.first.get_attribute("data-key")
            admin.shoot("16-alarm-firing")
        finally:
            stack.restart(NODE)
        resolved = admin.page.locator(f'[data-test="alarm-row"][data-key="{fired}"]').first
        expect(resolved.locator('[data-state="resolved"]')).to_be_visible(timeout=PROMISED_S * 1000)
    admin.go("desk-pool")
    sees(admin.page.locator(f'[data-test="node"][data-name="{NODE}"]'), "ready")
