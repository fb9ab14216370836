"""An open alarms page moves by itself: a node's agent dies, and comes back."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from portal.devstack.stack import Stack
from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
# The product promises 30 s between an agent's death and the alarm on the operators' page; a slow machine gets more.
WITHIN_MS = 180_000
NODE = "node-1"


@pytest.mark.req("PLAT-OBS-6", "PLAT-CMP-17")
def test_a_dead_agent_shows_on_the_open_page_and_so_does_its_return(
    stack: Stack, visit: Callable[[str], Visitor]
) -> None:
    admin = visit("admin")
    admin.go("operator-alarms")
    admin.at("filter-state").select_option("all")
    rows = admin.part("alarm-row", NODE)
    expect(admin.at("alarm-row").or_(admin.at("empty")).or_(admin.at("no-match")).first).to_be_visible()
    before = rows.count()
    with admin.staying():
        stack.kill(NODE)
        try:
            expect(rows).to_have_count(before + 1, timeout=WITHIN_MS)
            expect(rows.first.locator('[data-test="state"]').first).to_have_attribute(
                "data-state", "critical"
            )
            fired = rows.first.get_attribute("data-key")
            admin.shoot("16-alarm-firing")
        finally:
            stack.restart(NODE)
        resolved = admin.page.locator(f'[data-test="alarm-row"][data-key="{fired}"]').first
        expect(resolved.locator('[data-state="resolved"]')).to_be_visible(timeout=WITHIN_MS)
    admin.go("operator-pool")
    sees(admin.page.locator(f'[data-test="node"][data-name="{NODE}"]'), "ready")
