"""An operator sees every component, brings a release to a node and a configuration to all, and watches it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from portal.devstack.stack import Stack
from tests.browser.visitor import sees

pytestmark = [
    pytest.mark.browser,
    pytest.mark.journey,
    pytest.mark.req("POOL-12.20"),
    pytest.mark.xdist_group("portal"),
]
# A good release passes on a slow machine too.
GATE_S = 300
ROLL_OUT_MS = 600_000


@pytest.fixture
def archive(stack: Stack, tmp_path: Path) -> Path:
    """A release of this tree, signed with the key of that portal."""
    path = tmp_path / "agent.zip"
    stack.manage("release_build", "--release", "5.0.1", "--out", str(path))
    return path


@pytest.mark.req("POOL-6c")
def test_a_release_goes_to_a_node_and_back_and_a_configuration_to_it(visit, stack, archive):
    admin = visit("admin")
    admin.go("rollouts-components")
    expect(admin.at("component").filter(has_text="PostgreSQL")).to_be_visible()
    row = admin.page.locator('[data-component="agent"][data-name="node-1"]')
    installed = row.locator('[data-test="version"]').inner_text()
    admin.shoot("components")

    admin.go("rollouts-releases")
    admin.page.set_input_files('[data-test="release-file"]', archive)
    admin.page.set_input_files('[data-test="release-signature"]', f"{archive}.sig")
    admin.fill("release-notes", "Measures faster")
    admin.press("release-add")
    expect(admin.at("release-row").filter(has_text="5.0.1")).to_be_visible()
    admin.shoot("releases")

    admin.go("rollouts-components")
    row.locator('[data-test="choose"]').check()
    # The list renews itself; what was ticked stays ticked.
    admin.page.wait_for_timeout(6_000)
    expect(row.locator('[data-test="choose"]')).to_be_checked()
    admin.at("release").select_option("5.0.1")
    admin.fill_amount("gate", str(GATE_S), "seconds")
    admin.press("start-rollout")
    admin.page.wait_for_url("**/rollouts/*-*/")
    with admin.staying():
        sees(admin.at("step"), "done", ROLL_OUT_MS)
        sees(admin.at("rollout-summary"), "done")
    admin.shoot("rollout")
    admin.press("act-roll_back")
    admin.confirm()
    sees(admin.at("rollout-summary"), "rolled_back", ROLL_OUT_MS)

    admin.go("rollouts-components")
    expect(row.locator('[data-test="version"]')).to_have_text(installed)
    row.locator('[data-test="choose"]').check()
    admin.at("what-config").check()
    admin.fill("meter", "4")
    admin.fill_amount("gate", str(GATE_S), "seconds")
    admin.press("start-rollout")
    admin.page.wait_for_url("**/rollouts/*-*/")
    sees(admin.at("rollout-summary"), "done", ROLL_OUT_MS)
    admin.go("rollouts-rollouts")
    expect(admin.at("rollout-row").nth(1)).to_be_visible()
    admin.shoot("rollouts")


def test_what_is_wrong_is_said_on_the_page(visit):
    admin = visit("admin")
    admin.go("rollouts-components")
    admin.press("start-rollout")
    expect(admin.problem()).to_be_visible()
