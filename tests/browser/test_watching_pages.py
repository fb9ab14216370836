"""The alarm centre, the log and the statistics at a browser: a rule rings, people are told, the rule falls silent."""

import csv
import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
NODE = "node-2"
CODE = f"browser-{uuid4().hex[:6]}"
# From a rule's change to the alarm on the open page, and to the message: 30 s by the product's word, here with room
# for a slow machine.
WITHIN_MS = 180_000


@pytest.mark.req("POOL-12.19", "POOL-6h")
def test_a_rule_rings_tells_and_falls_silent(visit: Callable[[str], Visitor]) -> None:
    admin = visit("admin")
    admin.go("operator-alarms")
    admin.press("tab-routes")
    admin.press("route-role-system_administrator")
    admin.press("route-add-in_site")
    expect(admin.part("route-row", "System administrator").first).to_be_visible()
    admin.press("tab-rules")
    admin.press("rule-new")
    admin.fill("rule-code", CODE)
    admin.at("rule-metric").select_option("node_silent")
    admin.fill("rule-threshold", "0")
    admin.fill("rule-subject", "nobody")
    admin.press("rule-save")
    refused = admin.at("rule-subject")
    expect(refused).to_have_attribute("aria-invalid", "true")
    expect(refused).to_be_focused()
    expect(refused).to_have_accessible_description(re.compile("nothing called nobody"))
    expect(admin.at("problems")).to_contain_text("Only this subject")
    admin.shoot("19-alarm-rule-refused")
    admin.fill("rule-subject", NODE)
    expect(refused).not_to_have_attribute("aria-invalid", "true")
    admin.press("rule-save")
    row = admin.page.locator(f'[data-test="rule-row"][data-code="{CODE}"]')
    expect(row).to_be_visible()
    admin.shoot("20-alarm-rules")
    admin.press("tab-records")
    alarm = admin.page.locator(f'[data-test="alarm-row"][data-key^="{CODE}:"]').first
    expect(alarm).to_be_visible(timeout=WITHIN_MS)
    alarm.locator('[data-test="alarm-open"]').click()
    sees(admin.part("delivery", "In-site message"), "sent", WITHIN_MS)
    admin.shoot("21-alarm")
    told_at = admin.page.url
    admin.go("notices-messages")
    admin.page.get_by_text("was last heard").first.click()
    admin.page.wait_for_url(told_at)
    admin.go("operator-alarms")
    admin.press("tab-rules")
    row.locator('[data-test="rule-switch"]').click()
    expect(row.locator('[data-state="disabled"]')).to_be_visible()
    admin.page.goto(told_at)
    expect(admin.at("alarm-facts").locator('[data-state="resolved"]')).to_be_visible()
    admin.go("operator-alarms")
    admin.press("tab-routes")
    admin.shoot("22-alarm-routes")
    webhook = admin.at("route-form-webhook")
    webhook.locator('[name="hook_kind"]').select_option("slack")
    webhook.locator('[name="hook_url"]').fill("https://chat.invalid/robot/k-1")
    admin.press("route-add-webhook")
    made = admin.page.locator('[data-test="route-row"][data-channel="webhook"]')
    expect(made).to_contain_text("Slack · chat.invalid")
    expect(admin.page.get_by_text("k-1")).to_have_count(0)
    admin.shoot("22-alarm-routes-webhook")
    made.locator('[data-test="route-remove"]').click()
    admin.confirm()
    expect(made).to_have_count(0)
    routes = admin.at("route-row").count()
    admin.at("route-remove").last.click()
    admin.confirm()
    expect(admin.at("route-row")).to_have_count(routes - 1)
    admin.press("tab-rules")
    row.locator('[data-test="rule-edit"]').click()
    admin.press("rule-delete")
    admin.confirm()
    expect(admin.at("rule-row").first).to_be_visible()
    expect(row).to_have_count(0)


@pytest.mark.req("POOL-12.18")
def test_the_log_is_filtered_read_and_exported(visit: Callable[[str], Visitor]) -> None:
    admin = visit("admin")
    admin.go("operator-logs")
    expect(admin.at("log-row").first).to_be_visible()
    admin.shoot("23-log")
    admin.at("filter-component").select_option("portal")
    expect(admin.page).to_have_url(re.compile("component=portal"))
    admin.fill("search", "node_join")
    expect(admin.page).to_have_url(re.compile("search=node_join"))
    expect(admin.part("log-row", "Took a node into the pool").first).to_be_visible()
    admin.press("export-menu")
    with admin.page.expect_download() as waiting:
        admin.press("export-csv")
    with waiting.value.path().open(encoding="utf-8-sig", newline="") as file:
        sent = list(csv.DictReader(file))
    assert sent
    assert all("node_join" in line["Text"] for line in sent)
    admin.press("log-open")
    expect(admin.at("log-text")).to_contain_text("node_join")


@pytest.mark.req("POOL-12.21", "POOL-6f")
def test_the_statistics_are_shown_and_exported(visit: Callable[[str], Visitor]) -> None:
    boss = visit("boss")
    boss.go("operator-statistics")
    for question in ("used", "who", "earned", "waited", "failed"):
        expect(boss.at(f"answer-{question}").locator('[data-test="sentence"]')).not_to_be_empty()
    expect(boss.at("answer-used").locator("canvas")).to_be_visible()
    boss.at("answer-used").locator('[data-test="figures"]').click()
    expect(boss.at("answer-used").locator('[data-test="answer-row"]').first).to_be_visible()
    with boss.page.expect_download() as waiting:
        boss.press("export-used")
    assert len(waiting.value.path().read_text(encoding="utf-8-sig").splitlines()) > 1
    for report in ("tasks", "operations", "energy", "resources"):
        boss.press(f"report-{report}")
        totals = boss.page.locator(f'[data-test="totals"][data-report="{report}"]')
        expect(totals).to_be_visible()
        boss.shoot(f"24-statistics-{report}")
    boss.at("span").select_option("1")
    expect(boss.page).to_have_url(re.compile("span=1"))
    with boss.page.expect_download() as waiting:
        boss.press("export-csv")
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0] == "section,name,figure,value"
    assert any(line.startswith("totals,,capacity_percent_hours,") for line in lines)
