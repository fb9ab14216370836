"""The pool's pages at a browser: nodes and cards switched, groups and specifications kept, refusals shown."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
NODE = "node-2"


def card(admin: Visitor) -> Locator:
    """The last card of node-2 on the page of devices."""
    admin.go("fleet-devices")
    return admin.part("device", NODE).last


@pytest.mark.req("POOL-12.17")
def test_a_node_is_disabled_and_enabled_again(visit: Callable[[str], Visitor]) -> None:
    admin = visit("admin")
    admin.go("fleet-nodes")
    admin.shoot("40-nodes")
    admin.page.locator(f'[data-test="node"][data-name="{NODE}"] [data-test="open-node"]').click()
    expect(admin.at("component").first).to_be_visible()
    expect(admin.at("address")).to_be_visible()
    admin.shoot("41-node")
    admin.press("node-drain")
    admin.confirm()
    expect(admin.at("node-undrain")).to_be_visible()
    sees(admin.at("node"), "drained")
    admin.press("node-undrain")
    expect(admin.at("node-drain")).to_be_visible()
    sees(admin.at("node"), "ready")


@pytest.mark.req("POOL-12.15", "POOL-12.16", "POOL-12.5")
def test_a_card_is_switched_between_its_classes_disabled_and_oversubscribed(
    visit: Callable[[str], Visitor],
) -> None:
    admin = visit("admin")
    row = card(admin)
    admin.shoot("42-devices")
    uid = row.get_attribute("data-uid")
    row.locator('[data-test="open-device"]').click()
    expect(admin.at("class").first).to_have_attribute("data-class", "virtual")
    admin.press("unslice")
    expect(admin.at("class").first).to_have_attribute("data-class", "physical")
    admin.press("slice-on")
    expect(admin.at("class").first).to_have_attribute("data-class", "virtual")
    admin.press("device-disable")
    admin.confirm()
    expect(admin.at("device-enable")).to_be_visible()
    admin.press("device-enable")
    expect(admin.at("device-disable")).to_be_visible()
    admin.fill("over-compute", "200")
    admin.press("oversubscribe")
    expect(admin.at("oversubscribed")).to_be_visible()
    admin.shoot("43-device")
    admin.fill("over-compute", "100")
    admin.press("oversubscribe")
    expect(admin.at("oversubscribed")).to_have_count(0)
    admin.go("fleet-devices")
    admin.fill("search", uid or "")
    expect(admin.at("device")).to_have_count(1)
    admin.at("filter-state").select_option("physical")
    expect(admin.at("no-match")).to_be_visible()


@pytest.mark.req("POOL-12.13")
def test_a_group_gets_cards_and_is_granted_to_one_client(visit: Callable[[str], Visitor]) -> None:
    admin = visit("admin")
    uid = card(admin).get_attribute("data-uid")
    admin.go("fleet-groups")
    admin.fill("code", "browser-group")
    admin.fill("name-en", "Browser group")
    admin.fill("name-zh", "浏览器资源组")
    admin.press("group-add")
    expect(admin.at("page-title")).to_contain_text("Browser group")
    admin.page.locator(f'[data-test="group-device"][data-uid="{uid}"] input').check()
    admin.press("group-devices")
    # The card is marked with its group only once the page has come again.
    expect(admin.page.locator(f'[data-test="group-device"][data-uid="{uid}"]')).to_contain_text(
        "Browser group"
    )
    admin.at("grant-tenant").select_option("acme")
    admin.fill("grant-members", "nobody-at-all")
    admin.press("grant")
    expect(admin.problem()).to_contain_text("nobody-at-all")
    admin.at("pick-chip").get_by_role("button").click()
    admin.fill("grant-members", "alice")
    admin.press("grant")
    expect(admin.part("granted", "alice")).to_be_visible()
    admin.shoot("44-group")
    admin.press("revoke")
    admin.confirm()
    expect(admin.at("granted")).to_have_count(0)
    admin.press("group-end")
    admin.confirm()
    expect(admin.at("page-title")).to_contain_text("Resource groups")
    expect(admin.page.locator('[data-test="group"][data-code="browser-group"]')).to_have_count(0)


@pytest.mark.req("POOL-12.14")
def test_a_specification_is_offered_and_withdrawn(visit: Callable[[str], Visitor]) -> None:
    admin = visit("admin")
    admin.go("fleet-specs")
    admin.fill("code", "browser-spec")
    admin.fill("name-en", "Browser spec")
    admin.fill("spec-percent", "25")
    admin.fill("spec-mib", "2048")
    admin.press("spec-add")
    row = admin.page.locator('[data-test="spec"][data-code="browser-spec"]')
    expect(row).to_contain_text("25 %")
    admin.shoot("45-specs")
    row.locator('[data-test="spec-disable"]').click()
    admin.confirm()
    sees(row, "disabled")
    admin.fill("code", "browser-spec")
    admin.fill("name-en", "Again")
    admin.fill("spec-percent", "30")
    admin.fill("spec-mib", "2048")
    admin.press("spec-add")
    expect(admin.problem()).to_contain_text("browser-spec")


@pytest.mark.req("POOL-12.16", "POOL-3.4")
def test_slices_are_listed_across_tenants(visit: Callable[[str], Visitor]) -> None:
    admin = visit("admin")
    admin.go("fleet-slices")
    expect(admin.at("slice").or_(admin.at("empty")).or_(admin.at("no-match")).first).to_be_visible()
    admin.shoot("46-slices")
    admin.at("filter-kind").select_option("session")
    expect(admin.at("slice").or_(admin.at("empty")).or_(admin.at("no-match")).first).to_be_visible()
