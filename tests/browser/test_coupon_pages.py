"""An operator budgets, drafts, issues and ends coupons, wide and narrow, and is asked before what cannot be undone."""

import pytest
from playwright.sync_api import expect

from tests.browser.rules import page_holds

pytestmark = [
    pytest.mark.browser,
    pytest.mark.req("PLAT-OPS-34", "PLAT-OPS-35"),
    pytest.mark.xdist_group("portal"),
]


def test_coupons_are_budgeted_drafted_issued_and_ended(visit):
    ops = visit("ops")
    ops.go("operator-coupons")
    page_holds(ops.page)
    ops.press("tab-budgets")
    ops.fill("amount", "100000")
    ops.press("save")
    expect(ops.at("budget-row").first).to_contain_text("100,000.00")
    page_holds(ops.page)
    ops.shoot("coupon-budgets")
    ops.press("tab-activities")
    ops.press("activity-new")
    for name, text in {
        "name_zh": "开业", "name_en": "Opening week", "face_value": "12.50", "quantity": "8",
        "valid_from": "2026-01-01T00:00", "valid_until": "2025-01-01T00:00",
    }.items():  # fmt: skip
        ops.fill(name, text)
    ops.press("save")
    expect(ops.at("error-valid_until")).to_be_visible()
    page_holds(ops.page)
    ops.shoot("coupon-draft-refused")
    ops.fill("valid_until", "2126-01-01T00:00")
    ops.press("save")
    expect(ops.at("issue-hint")).to_contain_text("100.00")
    page_holds(ops.page)
    ops.press("activity-edit")
    page_holds(ops.page)
    ops.shoot("coupon-draft")
    ops.press("save")
    ops.press("activity-issue")
    expect(ops.at("confirm")).to_contain_text("Issue 8 coupons")
    ops.confirm()
    expect(ops.at("issued")).to_contain_text("100.00")
    ops.shoot("coupon-activity")
    ops.press("activity-end")
    expect(ops.at("confirm")).to_contain_text("8 coupons can no longer be claimed")
    ops.confirm()
    expect(ops.at("activity-end")).to_have_count(0)
    ops.go("operator-coupons")
    expect(ops.part("activity-row", "Opening week")).to_be_visible()
    page_holds(ops.page)
    ops.shoot("coupons")
    ops.press("tab-claimed")
    page_holds(ops.page)
    ops.shoot("coupons-claimed")


def test_a_draft_is_deleted_once_somebody_says_so(visit):
    ops = visit("ops")
    ops.go("operator-coupons")
    ops.press("activity-new")
    for name, text in {
        "name_zh": "误建", "name_en": "Made by mistake", "face_value": "1", "quantity": "1",
        "valid_from": "2026-01-01T00:00", "valid_until": "2126-01-01T00:00",
    }.items():  # fmt: skip
        ops.fill(name, text)
    ops.press("save")
    ops.press("activity-delete")
    expect(ops.at("confirm")).to_contain_text("Delete this draft?")
    ops.confirm()
    expect(ops.at("activity-new")).to_be_visible()
    expect(ops.part("activity-row", "Made by mistake")).to_have_count(0)
