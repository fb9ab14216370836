"""The scheduler at a browser: a queue in the tree, the policy and its history, work submitted after a live dry run,
its time line, and a what-if that fills by itself."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
# Codes of their own: the portal is shared, and runs may follow each other.
MARK = uuid4().hex[:6]
QUEUE = f"night-{MARK}"


def queue_row(visitor: Visitor, code: str):
    return visitor.page.locator(f'[data-test="queue-row"][data-code="{code}"]')


def remove(visitor: Visitor, code: str) -> None:
    visitor.page.goto(f"/scheduling/queues/{code}/")
    visitor.press("queue-remove")
    # The question is answered with the verb of what was pressed.
    expect(visitor.at("confirm-yes")).to_have_text("Remove")
    visitor.confirm()


@pytest.mark.req("PLAT-AICFG-23", "ELA-601", "ELA-612", "ELA-609", "PLAT-CLU-67", "POOL-5-7")
def test_a_queue_is_made_in_the_tree_refused_a_cycle_and_removed(visit: Callable[[str], Visitor]) -> None:
    ops = visit("admin")
    ops.go("scheduling_admin-queues")
    expect(queue_row(ops, "default")).to_be_visible()
    ops.press("queue-new")
    ops.fill("queue-code", QUEUE)
    ops.fill("queue-name_en", "Night work")
    ops.fill("queue-name_zh", "夜间作业")
    ops.unfold("queue-part-who")
    ops.draw_hours("queue-windows", (0, 20), (6, 23))
    ops.unfold("queue-part-order")
    ops.fill("queue-weight", "3")
    ops.press("queue-save")
    row = queue_row(ops, QUEUE)
    expect(row).to_contain_text("Mon-Sun 20:00-24:00")
    ops.press("queue-new")
    ops.fill("queue-code", f"{QUEUE}-low")
    ops.fill("queue-name_en", "Below")
    ops.fill("queue-name_zh", "下级")
    ops.at("queue-parent").select_option(label=QUEUE)
    ops.press("queue-save")
    expect(queue_row(ops, f"{QUEUE}-low")).to_have_attribute("data-depth", "1")
    ops.shoot("30-queues")
    row.locator('[data-test="queue-open"]').click()
    ops.at("queue-parent").select_option(label=f"{QUEUE}-low")
    ops.press("queue-save")
    expect(ops.problem()).to_contain_text("part of itself")
    ops.shoot("31-queue")
    remove(ops, QUEUE)
    expect(ops.problem()).to_contain_text("has queues in it")
    for code in (f"{QUEUE}-low", QUEUE):
        remove(ops, code)
        expect(queue_row(ops, "default")).to_be_visible()
        expect(queue_row(ops, code)).to_have_count(0)


@pytest.mark.req("PLAT-AICFG-18")
def test_a_change_of_the_policy_stands_in_its_history(visit: Callable[[str], Visitor]) -> None:
    ops = visit("admin")
    ops.go("scheduling_admin-policy")
    before = ops.at("policy-grace_s").input_value()
    ops.fill("policy-grace_s", "45")
    ops.press("policy-save")
    expect(ops.at("policy-history")).to_contain_text("45")
    ops.shoot("32-policy")
    ops.fill("policy-grace_s", before)
    ops.press("policy-save")
    expect(ops.at("policy-grace_s")).to_have_value(before)


@pytest.mark.req("ELA-501", "ELA-503", "ELA-504")
def test_work_is_submitted_after_a_dry_run_and_tells_its_time_line(visit: Callable[[str], Visitor]) -> None:
    alice = visit("alice")
    alice.go("workloads-workloads")
    alice.press("to-submit")
    expect(alice.at("dry-run-start")).to_be_visible()
    alice.fill("submit-name", f"train {MARK}")
    alice.fill("submit-command", "python -c 'import time; time.sleep(600)'")
    alice.fill("submit-compute_percent", "10")
    alice.fill_amount("submit-memory_mib", "256", "MiB")
    alice.fill("submit-shares", "500")
    expect(alice.at("dry-run").locator('[data-test="problem"]')).to_be_visible()
    alice.fill("submit-shares", "1")
    alice.fill("submit-run_minutes", "5")
    expect(alice.at("dry-run-start")).to_be_visible()
    alice.shoot("33-submit")
    alice.press("submit-send")
    expect(alice.at("page-title")).to_have_text(f"train {MARK}")
    with alice.staying():
        expect(alice.page.locator('[data-test="decision"][data-kind="started"]')).to_be_visible(
            timeout=40_000
        )
        sees(alice.at("resource"), "running")
    alice.shoot("34-job")
    alice.press("suspend")
    expect(alice.at("resume")).to_be_visible(timeout=60_000)
    sees(alice.at("resource"), "suspended")
    alice.page.reload()
    alice.fill("stop-reason", "seen enough")
    alice.press("stop")
    alice.confirm()
    expect(alice.page.locator('[data-test="decision"][data-kind="ended"]')).to_be_visible(timeout=30_000)
    alice.go("workloads-workloads")
    alice.fill("filter-search", MARK)
    expect(alice.at("resource-row")).to_have_count(1)
    alice.shoot("35-work")


@pytest.mark.req("ELA-103")
def test_a_what_if_fills_by_itself_and_shows_before_and_after(visit: Callable[[str], Visitor]) -> None:
    ops = visit("admin")
    ops.go("scheduling_admin-what_ifs")
    ops.fill("what-if-name", f"priority {MARK}")
    ops.at("what-if-ordering").select_option("priority")
    ops.press("what-if-ask")
    expect(ops.page).to_have_url(re.compile("/scheduling/what-if/[0-9a-f-]{36}/"))
    with ops.staying():
        expect(ops.page.locator('[data-test="what-if-figure"][data-name="jain_permille"]')).to_be_visible(
            timeout=60_000
        )
    ops.shoot("36-what-if")
    ops.go("scheduling_admin-what_ifs")
    expect(ops.part("what-if-row", f"priority {MARK}")).to_be_visible()
    ops.shoot("37-what-ifs")
    ops.go("scheduling_admin-priorities")
    for number, tab in enumerate(("priorities", "validity", "specials"), start=38):
        ops.press(f"tab-{tab}")
        expect(ops.page.locator(f'[data-test="tab-{tab}"]')).to_have_class(re.compile("active"))
        ops.shoot(f"{number}-{tab}")
