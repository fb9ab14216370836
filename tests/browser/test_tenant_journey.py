"""Journey 1 of annex C as its people see it: every step by a page, and open pages that move by themselves."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import LIVE_MS, Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]
AMOUNTS = {"compute_share": "20", "gpu_memory": "256", "cpu": "1", "memory": "512"}
UNTIL_BILLED_MS = 120_000


def configured(alice: Visitor) -> None:
    """From the catalogue into the cart, with the price moving along."""
    alice.go("catalog-commodities")
    alice.shoot("01-commodities")
    alice.press("apply")
    total = alice.at("quote-total")
    expect(total).to_contain_text("¥")
    before = total.inner_text()
    for code, amount in AMOUNTS.items():
        alice.fill(f"amount-{code}", amount)
    alice.fill("duration", "10")
    alice.at("duration-unit").select_option("60")
    expect(total).not_to_have_text(before)
    expect(alice.at("expected-start")).to_be_visible()
    alice.shoot("02-commodity")
    alice.press("put-in-cart")
    expect(alice.at("cart-line")).to_have_count(1)
    alice.shoot("03-cart")


def submitted(alice: Visitor, folder: Path) -> str:
    """From the cart to a submitted form; its number."""
    alice.fill("duration", "10")
    alice.at("duration-unit").select_option("60")
    alice.press("form-make")
    plan = folder / "plan.md"
    plan.write_text("# Train a small model\n")
    alice.at("file").set_input_files(plan)
    alice.press("attach")
    expect(alice.part("attachment", "plan.md")).to_be_visible()
    alice.at("business-system").select_option(index=1)
    alice.fill("remark", "train a small model")
    expect(alice.at("quote-total")).to_contain_text("¥")
    alice.shoot("04-form-draft")
    alice.press("submit")
    alice.page.wait_for_url(re.compile(r"/forms/[0-9a-f-]{36}/$"))
    sees(alice.at("part-form"), "submitted")
    alice.shoot("05-form-submitted")
    return re.search(r"\bF\d+-\d+\b", alice.at("page-title").inner_text()).group()


def decided(approver: Visitor, no: str, picture: str = "") -> None:
    """The task of that form is opened from the inbox and approved."""
    approver.part("task-row", no).locator('[data-test="task-open"]').click()
    expect(approver.part("part-form", no)).to_be_visible()
    approver.fill("comment", "Fits our plan.")
    if picture:
        approver.shoot(picture)
    approver.press("decide-approve")
    expect(approver.page.locator("[data-test=message]")).to_contain_text(no)


def bell_count(visitor: Visitor) -> int:
    return int(visitor.at("bell").get_attribute("data-count") or 0)


def claimed(olga: Visitor) -> None:
    """Claim a coupon, and wait until the page says whose it is: she may hold others already."""
    olga.go("catalog-coupons")
    olga.press("claim")
    expect(olga.page.locator("[data-test=message]")).to_contain_text("is yours")


def paid(olga: Visitor, *, is_shown: bool) -> None:
    """Bill what was used, confirm, pay by coupon and balance, and open a line down to its records."""
    olga.go("billing-bills")
    expect(olga.at("unbilled")).not_to_have_text("¥0.00", timeout=UNTIL_BILLED_MS)
    olga.press("bill-make")
    sees(olga.at("settlement"), "made")
    total = olga.at("bill-total").inner_text()
    olga.press("bill-confirm")
    sees(olga.at("settlement"), "confirmed")
    # What pays most of the bill is proposed.
    expect(olga.at("pay-coupon").locator("option:checked")).to_contain_text("of the bill")
    if is_shown:
        olga.shoot("11-bill-confirmed")
    olga.press("bill-pay")
    olga.confirm()
    sees(olga.at("settlement"), "paid")
    assert sum(map(amount, olga.at("paid-coupon").all_inner_texts())) + amount(
        olga.at("paid-balance").inner_text()
    ) == amount(total)
    if is_shown:
        olga.shoot("12-bill-paid")
    olga.press("bill-line-open")
    expect(olga.at("usage-record").first).to_be_visible()
    expect(olga.at("line-sum")).to_contain_text("¥")
    if is_shown:
        olga.shoot("13-bill-line")


def amount(text: str) -> int:
    """The first amount of a text, in hundredths of CNY."""
    return int(re.search(r"¥([\d,]+\.\d\d)", text).group(1).replace(",", "").replace(".", ""))


@pytest.mark.req(
    "PLAT-APPLY-1",
    "PLAT-APPLY-3",
    "PLAT-TODO-4",
    "PLAT-TODO-5",
    "PLAT-GEN-15",
    "PLAT-CMP-18",
    "PLAT-OPS-11",
    "PLAT-OPS-21",
)
def test_from_the_catalogue_to_the_end_of_the_resource(visit: Visit, tmp_path: Path) -> None:
    alice, dan = visit("alice"), visit("dan")
    dan.go("approvals-inbox")
    unread = bell_count(dan)
    configured(alice)
    with dan.staying():
        no = submitted(alice, tmp_path)
        expect(dan.part("task-row", no)).to_be_visible(timeout=LIVE_MS)
        expect(dan.at("bell")).to_have_attribute("data-count", str(unread + 1))
    dan.shoot("06-inbox")

    ops = visit("ops")
    ops.go("operator-inbox")
    with alice.staying(), ops.staying():
        decided(dan, no, "07-task")
        sees(alice.at("part-form"), "approving")
        expect(ops.part("task-row", no)).to_be_visible(timeout=LIVE_MS)
    ops.shoot("08-operator-inbox")
    with alice.staying():
        decided(ops, no, "09-operator-task")
        sees(alice.at("part-form"), "completed", 2 * LIVE_MS)
        sees(alice.at("part-orders"), "completed")
        expect(alice.at("resource-brief")).to_contain_text("node-")
    alice.shoot("10-form-completed")

    order = alice.at("part-orders").locator("a").first.inner_text()
    running(alice)
    olga = visit("olga")
    claimed(olga)
    olga.shoot("10c-coupons")
    paid(olga, is_shown=True)
    released(alice, dan, order)
    claimed(olga)
    paid(olga, is_shown=False)


def running(alice: Visitor) -> None:
    """My resources: where it runs, how much it has, and its output as it is written."""
    alice.go("workloads-workloads")
    row = alice.at("resource-row").first
    sees(row, "running")
    expect(row).to_contain_text(re.compile(r"node-\d.*20\s+%.*256\s+MiB", re.DOTALL))
    alice.shoot("10a-resources")
    row.locator('[data-test="resource-open"]').click()
    sees(alice.at("resource"), "running")
    expect(alice.part("slice", "node-")).to_contain_text("20 %")
    log = alice.at("log")
    expect(log).to_contain_text(re.compile(r"\S"))
    with alice.staying():
        length = len(log.inner_text())
        alice.page.wait_for_function(
            "length => document.querySelector('[data-test=log]').innerText.length > length", arg=length
        )
    # The end of the output is what its reader sees: pieces leave no blank lines behind them.
    assert not log.inner_text().endswith("\n\n\n")
    alice.shoot("10b-resource")


def released(alice: Visitor, dan: Visitor, order: str) -> None:
    """Ask for the end, have it approved, and see the resource end on the page that stayed open."""
    watcher = alice.page
    alice.page = alice.context.new_page()
    alice.page.goto(f"{alice.base_url}/orders/")
    alice.part("order-row", order).locator('[data-test="order-open"]').click()
    alice.fill("reason", "done")
    alice.shoot("14-order")
    alice.press("terminate")
    alice.confirm()
    alice.page.wait_for_url(re.compile(r"/forms/"))
    no = re.search(r"\bF\d+-\d+\b", alice.at("page-title").inner_text()).group()
    watcher.evaluate("window.weirStayed = true")
    dan.go("approvals-inbox")
    decided(dan, no)
    sees(alice.at("part-form"), "completed", 2 * LIVE_MS)
    sees(watcher.locator('[data-test="resource"]'), "finished", 2 * LIVE_MS)
    assert watcher.evaluate("window.weirStayed === true")
    alice.page = watcher
    alice.shoot("15-resource-ended")
