"""What a user may hold, at a browser: the default is set, more is asked for, an administrator decides, the limit is
raised and explained; the queue of a resource group; a validity rule is modified."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
MARK = uuid4().hex[:6]
DAY = timedelta(days=1)


def clock(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M")


def set_default(ops: Visitor, percent: str) -> None:
    ops.page.goto("/scheduling/default-spec/")
    ops.fill("default-compute_percent", percent)
    ops.press("default-save")
    expect(ops.at("default-compute_percent")).to_have_value(percent)


@pytest.mark.req("PLAT-CLU-31", "PLAT-CLU-32", "PLAT-CLU-34", "PLAT-CLU-42", "PLAT-CLU-43", "PLAT-CLU-45")
def test_more_is_asked_for_decided_in_the_inbox_and_explained(visit: Callable[[str], Visitor]) -> None:
    alice, admin, ops = visit("alice"), visit("admin"), visit("ops")
    set_default(admin, "5000")
    alice.go("workloads-workloads")
    expect(alice.page.locator('[data-test="limit"][data-tier="default"]')).to_be_visible()
    alice.press("to-tickets")
    alice.fill("ticket-compute_percent", "6000")
    alice.fill("ticket-from_at", clock(datetime.now(UTC) - DAY))
    alice.fill("ticket-until_at", clock(datetime.now(UTC) + DAY))
    alice.fill("ticket-reason", f"a paper {MARK}")
    alice.press("ticket-send")
    # Sent: the form is empty again, and the newest ticket stands on top.
    expect(alice.at("ticket-reason")).to_have_value("")
    row = alice.at("ticket-row").first
    expect(row.locator('[data-test="state"]')).to_have_attribute("data-state", "waiting")
    number = row.get_attribute("data-no")
    alice.shoot("60-my-tickets")
    ops.page.goto("/scheduling/tickets/")
    ops.page.locator(f'[data-no="{number}"] [data-test="ticket-open"]').click()
    ops.press("ticket-decide")
    expect(ops.at("ticket-parts")).to_contain_text(f"a paper {MARK}")
    ops.shoot("61-decide")
    ops.fill("comment", "go ahead")
    with alice.staying():
        ops.press("decide-approve")
        expect(row.locator('[data-test="state"]')).to_have_attribute("data-state", "approved")
        expect(alice.at("limit-source")).to_contain_text(number or "")
    alice.go("workloads-workloads")
    expect(alice.page.locator('[data-test="limit"][data-tier="ticket"]')).to_be_visible()
    alice.shoot("62-limits")
    admin.page.goto("/scheduling/tickets/")
    admin.shoot("63-tickets")
    admin.page.locator(f'[data-no="{number}"] [data-test="ticket-open"]').click()
    expect(admin.at("ticket-decision")).to_contain_text("go ahead")
    admin.shoot("64-ticket")
    admin.press("ticket-delete")
    admin.confirm()
    admin.page.wait_for_url("**/scheduling/tickets/")
    expect(admin.page.locator(f'[data-no="{number}"]')).to_have_count(0)
    alice.page.reload()
    expect(alice.page.locator('[data-test="limit"][data-tier="default"]')).to_be_visible()
    set_default(admin, "")
    alice.page.reload()
    expect(alice.at("limit").first).to_be_visible()
    expect(alice.at("limit-source")).to_have_count(0)


@pytest.mark.req("PLAT-CLU-36", "PLAT-CLU-37", "PLAT-CLU-38", "PLAT-CLU-39", "PLAT-CLU-40", "PLAT-CLU-41")
def test_a_special_spec_is_added_viewed_modified_disabled_and_deleted(
    visit: Callable[[str], Visitor],
) -> None:
    admin, name = visit("admin"), f"lab {MARK}"
    admin.page.goto("/scheduling/specials/")
    admin.fill("special-name", name)
    admin.at("special-tenant").select_option(index=1)
    admin.fill("special-instances", "400")
    admin.fill("special-from_at", clock(datetime.now(UTC) - DAY))
    admin.fill("special-until_at", clock(datetime.now(UTC) + DAY))
    admin.press("special-save")
    row = admin.page.locator(f'[data-test="special-row"][data-name="{name}"]')
    expect(row).to_contain_text("400")
    admin.shoot("65-specials")
    row.locator('[data-test="special-open"]').click()
    expect(admin.at("special-view")).to_contain_text(name)
    admin.shoot("66-special")
    admin.fill("special-instances", "500")
    admin.press("special-save")
    expect(row).to_contain_text("500")
    row.locator('[data-test="special-switch"]').click()
    expect(row.locator('[data-state="disabled"]')).to_be_visible()
    row.locator('[data-test="special-delete"]').click()
    admin.confirm()
    expect(row).to_have_count(0)


@pytest.mark.req("PLAT-AICFG-23", "PLAT-AICFG-28", "PLAT-AICFG-32", "PLAT-AICFG-33", "PLAT-AICFG-27")
def test_groups_have_queues_and_a_validity_rule_is_modified(visit: Callable[[str], Visitor]) -> None:
    admin, name = visit("admin"), f"night {MARK}"
    admin.page.goto("/scheduling/groups/")
    expect(admin.page.locator('[data-test="group-row"][data-code="default"]')).to_be_visible()
    admin.shoot("67-group-queues")
    admin.page.goto("/scheduling/validity/")
    admin.fill("validity-name", name)
    admin.fill("validity-users", "greta")
    admin.draw_hours("validity-training", (0, 20), (4, 23))
    admin.press("validity-save")
    row = admin.page.locator(f'[data-test="validity-row"][data-name="{name}"]')
    expect(row).to_contain_text("20:00-24:00")
    admin.shoot("68-validity")
    row.locator('[data-test="validity-open"]').click()
    expect(admin.at("validity-training-said")).to_have_text("Mon-Fri 20:00-24:00")
    admin.shoot("69-validity-rule")
    admin.draw_hours("validity-training", (0, 20), (4, 20))
    admin.press("validity-save")
    expect(row).to_contain_text("21:00-24:00")
    row.locator('[data-test="validity-pick"]').check()
    admin.press("validity-remove")
    admin.confirm()
    expect(row).to_have_count(0)
