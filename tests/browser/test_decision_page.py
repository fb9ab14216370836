"""The page on which somebody decides, at a browser: what it takes and the drawing stand beside the decision, a refusal
asks first and says its reason, several are decided with one press, and what was refused is applied for again."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from portal.devstack.demo_order import AMOUNTS, Journey
from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]


def submitted(journey: Journey) -> dict:
    """An application of alice's that waits for the tenant's decision."""
    alice = journey.person("alice")
    goods = journey.commodity(alice)
    system = alice.business_systems()[-1]["uid"]
    lines = [{"commodity": goods["uid"], "amounts": AMOUNTS, "count": 1}]
    form = alice.application_make(lines=lines, duration_s=600, business_system=system, remark="For the paper")
    return alice.application_submit(form["uid"])


@pytest.mark.req("PLAT-TODO-4", "PLAT-TODO-5", "PLAT-APPLY-19")
def test_a_refusal_is_weighed_asked_about_and_read_by_its_applicant(visit: Visit, journey: Journey) -> None:
    form = submitted(journey)
    dan, alice = visit("dan"), visit("alice")
    alice.page.goto(f"{alice.base_url}/forms/{form['uid']}/")
    dan.go("approvals-inbox")
    row = dan.part("task-row", form["no"])
    expect(row).to_contain_text("¥")
    row.locator('[data-test="task-no"]').click()
    expect(dan.at("weighed-price")).to_contain_text("¥")
    expect(dan.at("weighed-quota").first).to_be_visible()
    expect(dan.part("part-form", "For the paper")).to_be_visible()
    drawing = dan.at("drawing")
    expect(drawing).to_have_attribute("data-drawn", "yes")
    expect(drawing.locator(".is-waiting")).to_have_count(1)
    expect(drawing.locator(".is-coming")).to_have_count(1)
    # The mark of its makers stays in sight, as their licence asks.
    expect(drawing.locator(".bjs-powered-by")).to_be_visible()
    expect(dan.part("step", "Operations manager")).to_be_visible()
    dan.shoot("70-decision")
    dan.press("decide-refuse")
    expect(dan.at("confirm")).to_contain_text(form["no"])
    dan.confirm()
    expect(dan.problem()).to_contain_text("reason")
    dan.fill("comment", "Too dear this month")
    dan.press("decide-refuse")
    with alice.staying():
        dan.confirm()
        expect(dan.at("message")).to_contain_text(f"Refused: {form['no']}")
        sees(alice.at("part-form"), "rejected")
    expect(alice.at("timeline")).to_contain_text("Too dear this month")
    alice.press("apply-again")
    expect(alice.at("remark")).to_have_value("For the paper")


@pytest.mark.req("PLAT-TODO-5")
def test_several_are_decided_with_one_press(visit: Visit, journey: Journey) -> None:
    first, second = submitted(journey), submitted(journey)
    dan = visit("dan")
    dan.go("approvals-inbox")
    for form in (first, second):
        dan.part("task-row", form["no"]).locator('[data-test="task-choose"]').check()
    dan.fill("together-comment", "Not this week")
    dan.press("together-refuse")
    dan.confirm()
    told = dan.at("message")
    for form in (first, second):
        expect(told).to_contain_text(form["no"])
        expect(dan.part("task-row", form["no"])).to_have_count(0)
    dan.shoot("71-together")
    alice = journey.person("alice")
    assert {alice.application(form["uid"])["state"] for form in (first, second)} == {"rejected"}
