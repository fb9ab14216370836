"""An operator designs a form and makes a commodity, by names and units, wide and narrow."""

import pytest
from playwright.sync_api import expect

from tests.browser.rules import page_holds

pytestmark = [
    pytest.mark.browser,
    pytest.mark.req("PLAT-CFG-23", "PLAT-OPS-10"),
    pytest.mark.xdist_group("portal"),
]


def test_a_form_is_designed_and_a_commodity_made_of_pickers(visit):
    ops = visit("ops")
    ops.go("catalogue_admin-commodities")
    page_holds(ops.page)
    ops.press("tab-forms")
    ops.press("form-new")
    ops.fill("name_en", "Course")
    ops.fill("name_zh", "课程")
    ops.press("save")
    ops.press("add-number")
    ops.fill("label_en", "People")
    ops.fill("label_zh", "人数")
    ops.fill("minimum", "5")
    ops.fill("maximum", "1")
    ops.press("save")
    expect(ops.at("error-maximum")).to_be_visible()
    page_holds(ops.page)
    ops.fill("maximum", "50")
    ops.press("save")
    ops.press("add-model")
    ops.fill("label_en", "Card")
    ops.fill("label_zh", "卡")
    ops.press("save")
    expect(ops.at("data-people")).to_be_visible()
    ops.at("field-row").nth(1).locator('[data-test="up"]').click()
    expect(ops.at("field-row").nth(0)).to_contain_text("Card")
    page_holds(ops.page)
    ops.go("catalogue_admin-commodities")
    ops.press("commodity-new")
    ops.press("kind-session")
    page_holds(ops.page)
    ops.fill("name_en", "Card elsewhere")
    ops.fill("name_zh", "远程卡")
    for part, figures in {"compute_share": (10, 100, 25), "gpu_memory": (1, 4, 2)}.items():
        for column, figure in zip(("minimum", "maximum", "default"), figures, strict=True):
            ops.fill(f"{part}-{column}", str(figure))
    ops.press("save")
    expect(ops.at("commodity")).to_contain_text("Remote accelerator")
    page_holds(ops.page)
    ops.press("price-new")
    expect(ops.at("price-preview")).to_contain_text("Type the prices")
    ops.fill("price_compute_share_0", "0.05")
    expect(ops.at("preview-problems")).to_be_visible()
    ops.fill("price_gpu_memory_0", "1")
    # 25 % of a card and 2 GiB.
    expect(ops.at("preview-usual")).to_contain_text("¥3.25 an hour")
    expect(ops.at("curve").first.locator("canvas")).to_be_visible()
    ops.at("method_gpu_memory").select_option("progressive")
    ops.fill("upto_gpu_memory_0", "2")
    expect(ops.at("preview-problems")).to_contain_text("The tiers end at 2")
    ops.fill("price_gpu_memory_1", "0.5")
    expect(ops.at("example").last).to_contain_text("¥8.00")
    page_holds(ops.page)
    ops.shoot("price")
    ops.press("save")
    ops.shoot("commodity")
    ops.press("commodity-list")
    expect(ops.at("commodity-delist")).to_be_visible()
    alice = visit("alice")
    alice.go("catalog-commodities")
    expect(alice.page.get_by_text("Card elsewhere")).to_be_visible()
    alice.page.locator('[data-test="commodity"]', has_text="Card elsewhere").locator(
        '[data-test="apply"]'
    ).click()
    expect(alice.at("curve").first.locator("canvas")).to_be_visible()
    expect(alice.at("example")).to_have_count(3)
    page_holds(alice.page)
    alice.press("compare")
    expect(alice.at("compared-name")).to_have_count(1)
    alice.at("compare-which").select_option(index=1)
    alice.press("compare-go")
    expect(alice.at("compared-name")).to_have_count(2)
    page_holds(alice.page)
    alice.page.reload()
    expect(alice.at("compared-name")).to_have_count(2)
    alice.at("compared-drop").last.click()
    expect(alice.at("compared-name")).to_have_count(1)
    # The others who use this portal find the catalogue as it was.
    ops.press("commodity-delist")
    ops.confirm()
    expect(ops.at("commodity-list")).to_be_visible()
