"""What interrupts people: the session that ends in the middle of a form, the network that goes and comes back, Enter
twice, and figures that are pasted as they stood elsewhere."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from portal.devstack.stack import Stack
from tests.browser.visitor import Visitor
from tests.harness.portal import password_of

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]
PASTE = """([mark, text]) => {
  const field = document.querySelector(`[data-test="${mark}"]`);
  const data = new DataTransfer();
  data.setData("text", text);
  field.focus();
  field.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
  return field.value;
}"""


@pytest.fixture
def cookies() -> dict:
    """Sessions of their own: this file ends some."""
    return {}


def signed_in_again(visitor: Visitor, stack: Stack) -> None:
    visitor.fill("username", visitor.name)
    visitor.fill("password", password_of(stack))
    visitor.press("sign-in")


def test_what_was_typed_outlives_the_session(visit: Visit, stack: Stack) -> None:
    alice = visit("alice")
    alice.page.goto("/tickets/new/")
    alice.page.goto("/account/tokens/")
    alice.fill("token-name", "CI-1")
    alice.context.clear_cookies(name="sessionid")
    alice.press("token-make")
    alice.page.wait_for_url("**/login/**")
    signed_in_again(alice, stack)
    alice.page.wait_for_url("**/account/tokens/")
    expect(alice.at("typed-again")).to_be_visible()
    expect(alice.at("token-name")).to_have_value("CI-1")
    # It is put back once.
    alice.page.reload()
    expect(alice.at("typed-again")).to_have_count(0)


def test_somebody_else_at_the_same_window_sees_nothing_of_it(visit: Visit, stack: Stack) -> None:
    alice = visit("alice")
    alice.page.goto("/account/tokens/")
    alice.fill("token-name", "CI-3")
    alice.context.clear_cookies(name="sessionid")
    alice.press("token-make")
    alice.page.wait_for_url("**/login/**")
    alice.name = "olga"
    signed_in_again(alice, stack)
    alice.page.wait_for_url("**/account/tokens/")
    expect(alice.at("token-name")).to_have_value("")
    assert "CI-3" not in str(alice.page.evaluate("JSON.stringify({...sessionStorage})"))


def test_a_network_that_is_gone_is_said_and_its_return_too(visit: Visit) -> None:
    alice = visit("alice")
    alice.page.goto("/account/tokens/")
    alice.context.set_offline(True)
    alice.page.evaluate(
        """() => htmx.ajax("POST", "/help/whats-new/read/", {target: "#problems", swap: "none"}).catch(() => {})"""
    )
    expect(alice.at("problem")).to_contain_text("cannot be reached")
    # The browser notes that, too.
    alice.complaints.clear()
    alice.context.set_offline(False)
    alice.page.evaluate("""() => htmx.ajax("GET", "/messages/bell/", {target: "[data-test=bell-large]"})""")
    expect(alice.at("problem")).to_have_count(0)
    alice.complaints.clear()


def test_enter_twice_makes_one(visit: Visit) -> None:
    alice = visit("alice")
    alice.page.goto("/account/tokens/")
    alice.fill("token-name", "CI-2")
    field = alice.at("token-name").first
    field.press("Enter", no_wait_after=True)
    field.press("Enter", no_wait_after=True)
    expect(alice.at("token-secret")).to_be_visible()
    alice.page.goto("/account/tokens/")
    assert alice.page.get_by_text("CI-2").count() == 1


@pytest.mark.parametrize(
    ("pasted", "stands"),
    [(" 12 ", "12"), ("１２", "12"), ("1,024", "1024"), ("１ ０２４", "1024"), ("twelve", None)],
)
def test_figures_are_pasted_as_they_stand_elsewhere(visit: Visit, pasted: str, stands: str | None) -> None:
    alice = visit("alice")
    alice.page.goto("/catalogue/")
    alice.press("apply")
    before = alice.at("duration").input_value()
    assert alice.page.evaluate(PASTE, ["duration", pasted]) == (stands or before)
