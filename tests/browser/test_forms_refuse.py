"""What the pages say to bad input: the cause and the cure, in place, and nothing has changed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from portal.devstack.demo_order import AMOUNTS, Journey
from tests.browser.conftest import address_of
from tests.browser.visitor import Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]
TEN_MINUTES_S = 600


@pytest.fixture
def draft(journey: Journey):
    """Drafts of alice's, deleted afterwards where they are drafts still."""
    alice = journey.person("alice")
    made: list[str] = []

    def make(**amounts: int) -> str:
        goods = journey.commodity(alice)
        lines = [{"commodity": goods["uid"], "amounts": AMOUNTS | amounts, "count": 1}]
        system = alice.business_systems()[-1]
        form = alice.application_make(
            lines=lines, duration_s=TEN_MINUTES_S, business_system=system["uid"], remark="no"
        )
        made.append(form["uid"])
        return str(form["uid"])

    yield make
    for uid in made:
        state = alice.application(uid)["state"]
        if state == "submitted":
            alice.application_withdraw(uid)
        if state in ("submitted", "draft"):
            alice.call("DELETE", f"application-forms/{uid}")


def configuring(alice: Visitor) -> None:
    alice.go("catalog-commodities")
    alice.press("apply")
    expect(alice.at("quote-total")).to_be_visible()


def cart_count(alice: Visitor) -> int:
    alice.page.goto(f"{alice.base_url}/cart/")
    return alice.at("cart-line").count()


@pytest.mark.req("PLAT-TEN-26")
def test_a_wrong_password_lets_nobody_in(stack, chromium, visit: Visit) -> None:
    stranger = Visitor(chromium, address_of(stack, "alice"), "alice")
    page = stranger.page
    page.goto("/login/")
    stranger.fill("username", "nobody.here")
    stranger.fill("password", "not-the-password")
    stranger.press("sign-in")
    expect(stranger.problem()).to_contain_text(re.compile(r"\w+.*\w+", re.DOTALL))
    expect(stranger.at("username")).to_have_value("nobody.here")
    expect(stranger.at("password")).to_have_value("")
    page.goto("/bills/")
    page.goto("/resources/")
    assert "/login/" in page.url
    stranger.leave()
    assert stranger.complaints == []


@pytest.mark.req("PLAT-APPLY-1")
def test_a_negative_amount_is_named_and_not_put_in_the_cart(visit: Visit) -> None:
    alice = visit("alice")
    before = cart_count(alice)
    configuring(alice)
    # The browser's own check is switched off: what counts is the server's answer.
    alice.page.locator("#configure").evaluate("form => form.noValidate = true")
    alice.fill("amount-gpu_memory", "-5")
    expect(alice.at("quote-problem")).to_be_visible()
    alice.press("put-in-cart")
    problem = alice.at("problems").locator("[data-test=problem]")
    expect(problem).to_be_visible()
    expect(problem).to_have_attribute("data-status", "400")
    expect(alice.at("amount-gpu_memory")).to_have_value("-5")
    assert cart_count(alice) == before


@pytest.mark.req("PLAT-APPLY-6")
def test_more_than_the_quota_is_refused_with_what_is_left(visit: Visit, draft, journey: Journey) -> None:
    uid = draft(gpu_memory=16385)
    alice = visit("alice")
    held = journey.quota_in_use(journey.person("alice"))
    alice.page.goto(f"/forms/{uid}/edit/")
    expect(alice.at("quote-total")).to_be_visible()
    alice.press("submit")
    problem = alice.at("problems").locator("[data-test=problem]")
    expect(problem).to_contain_text("16385")
    expect(problem.locator(".alert-description")).to_be_visible()
    assert journey.quota_in_use(journey.person("alice")) == held
    assert journey.person("alice").application(uid)["state"] == "draft"


@pytest.mark.req("PLAT-APPLY-6")
def test_a_form_open_in_two_tabs_is_submitted_once(visit: Visit, draft, journey: Journey) -> None:
    uid = draft()
    alice = visit("alice")
    first, second = alice.page, alice.context.new_page()
    # The second tab hears of nothing: it still shows the draft when the first one has sent it.
    second.route_web_socket("**/ws/**", lambda _socket: None)
    for tab in (first, second):
        tab.goto(f"/forms/{uid}/")
    held = submit(first, journey)
    sees(first.locator("[data-test=part-form]"), "submitted")
    second.locator("[data-test=submit]").first.click()
    problem = second.locator("[data-test=problem]")
    expect(problem).to_be_visible()
    expect(problem).to_have_attribute("data-status", "409")
    assert journey.quota_in_use(journey.person("alice")) == held
    second.close()


def submit(page: Page, journey: Journey) -> int:
    """Send the form; what is held of the quota then."""
    page.locator("[data-test=submit]").first.click()
    expect(page.locator("[data-test=message]")).to_be_visible()
    return journey.quota_in_use(journey.person("alice"))


@pytest.mark.req("PLAT-GEN-11")
def test_somebody_elses_task_is_not_there(visit: Visit, draft, journey: Journey) -> None:
    form = journey.person("alice").application_submit(draft())
    task = journey.task_of(journey.person("dan"), form)
    for name in ("gil", "alice"):
        other = visit(name)
        other.page.goto(f"/tasks/{task['uid']}/")
        expect(other.at("decide-approve")).to_have_count(0)
        answer = other.page.evaluate(
            """async uid => (await fetch(`/tasks/${uid}/decide/`, {method: "POST",
              headers: {"X-CSRFToken": document.querySelector('meta[name="csrf-token"]').content},
              body: new URLSearchParams({decision: "approve", comment: ""})})).status""",
            task["uid"],
        )
        assert answer in (403, 404)
    gil = visit("gil")
    gil.page.goto(f"/tasks/{task['uid']}/")
    expect(gil.problem()).to_have_attribute("data-status", "404")
    expect(gil.at("back")).to_be_visible()
    assert journey.person("alice").application(form["uid"])["state"] == "submitted"
