"""Work that serves web pages: opened from its page in the portal by who started it, and by nobody else."""

import re
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import weir
from playwright.sync_api import Browser, Page, expect

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.browser.conftest import address_of
from tests.browser.visitor import Visitor
from tests.harness.portal import password_of
from tests.harness.web_pages import ECHO, START_MS, Caller

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal"), pytest.mark.req("PLAT-CMP-10")]
HOST = re.compile(r"http://w-[0-9a-f]{32}\.env\.localhost:\d+/")


@pytest.fixture
def started(journey: Journey) -> Iterator[Callable[..., dict]]:
    """`started("python", "-c", …)`: alice's work with these words, stopped at the end."""
    alice, made = journey.person("alice"), []

    def start(*argv: str, percent: int = 20) -> dict:
        name = f"pages {uuid4().hex[:6]}"
        made.append(
            alice.workload_submit(
                name=name, argv=list(argv), compute_percent=percent, memory_mib=1024, web=True
            )
        )
        return made[-1]

    yield start
    for work in made:
        alice.workload_stop(work["uid"])


@pytest.mark.req("PLAT-AICFG-9", "PLAT-AICFG-10", "PLAT-AICFG-11", "PLAT-AICFG-16")
def test_jupyterlab_runs_a_cell_on_the_share(visit: Callable[[str], Visitor]) -> None:
    """By pages alone: a template is made, started with one click, opened, a cell computed; then it is stopped."""
    admin, alice = visit("admin"), visit("alice")
    name = f"lab-{uuid4().hex[:6]}"
    admin.go("scheduling_admin-environment_templates")
    admin.press("template-new")
    admin.fill("template-name", name)
    admin.fill("template-description", "Notebooks, a terminal and an editor in the browser.")
    admin.fill("template-compute_percent", "40")
    admin.fill_amount("template-memory_mib", "1", "GiB")
    admin.press("template-save")
    row = admin.part("template-row", name)
    expect(row).to_contain_text("JupyterLab")
    admin.shoot("60-environment-templates")
    alice.go("workloads-environments")
    alice.shoot("61-environments")
    alice.part("environment-template", name).locator("[data-test=environment-start]").click()
    alice.page.wait_for_url(re.compile(r"/resources/[0-9a-f-]{36}/$"))
    with alice.context.expect_page() as opened:
        alice.press("open-web")
    lab = opened.value
    lab.wait_for_url(HOST)
    _cell_computes(lab)
    alice.shoot("62-environment")
    alice.press("stop")
    alice.confirm()
    expect(alice.at("open-web")).to_have_count(0)
    # Until it has ended it answers: it has time to finish after *Stop*.
    _reload_until(lab, "[data-test=gateway-over], [data-test=gateway-not_listening]")
    row.locator("[data-test=template-remove]").click()
    admin.confirm()
    expect(row).to_have_count(0)


def _cell_computes(lab: Page) -> None:
    lab.locator(".jp-LauncherCard[title^='Python 3']").first.click(timeout=START_MS)
    # Run before its kernel is there, a cell is passed over.
    expect(lab.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START_MS)
    lab.locator(".jp-Notebook .jp-Cell .cm-content").first.click()
    lab.keyboard.type("import os; print('share', os.environ['WEIR_COMPUTE_PERCENT'], 6 * 7)")
    lab.keyboard.press("Shift+Enter")
    expect(lab.locator(".jp-OutputArea-output").first).to_contain_text("share 40 42", timeout=START_MS)


def _reload_until(page: Page, wanted: str) -> None:
    """The page loaded again until it shows what is wanted; fails after a minute."""
    end_s = time.monotonic() + 60
    while not page.locator(wanted).count():
        assert time.monotonic() < end_s, f"{page.url} does not show {wanted}"
        page.wait_for_timeout(500)
        page.reload()


def test_a_ticket_opens_once_and_for_its_own_work_alone(
    stack: Stack, journey: Journey, started: Callable[..., dict]
) -> None:
    alice = journey.person("alice")
    work, other = started("python", "-c", ECHO), started("python", "-c", ECHO)
    mine = Caller(stack, alice.workload_web(work["uid"])["url"])
    theirs = Caller(stack, alice.workload_web(other["uid"])["url"])
    assert mine.get("/").status_code == 403
    assert mine.get(theirs.enter).status_code == 403
    cookie = mine.cookie()
    assert mine.get(mine.enter).status_code == 403, "a ticket opens once"
    assert mine.ready(cookie).json()["path"] == "/"
    assert theirs.get("/", Cookie=cookie).status_code == 403, "a cookie of other work opens nothing"
    for name in ("dan", "gina", "ops"):
        with pytest.raises(weir.WeirClientError):
            journey.person(name).workload_web(work["uid"])


def test_the_pages_stream_both_ways_and_keep_their_headers(
    stack: Stack, journey: Journey, started: Callable[..., dict]
) -> None:
    work = started("python", "-c", ECHO, percent=30)
    caller = Caller(stack, journey.person("alice").workload_web(work["uid"])["url"])
    cookie = caller.cookie()
    answer = caller.ready(cookie)
    said = answer.json()["headers"]
    assert said["host"] == caller.host
    assert "weir_web" not in str(said)
    assert answer.headers.get_list("set-cookie") == ["own=1"]
    own = {"Host": caller.host, "Cookie": cookie}
    # More than the portal takes of a form: nothing of it is kept on the way.
    sent = caller.http.post("/up?a=1", content=b"y" * (12 * 2**20), headers=own)
    assert sent.json()["size"] == 12 * 2**20
    assert sent.json()["path"] == "/up?a=1"
    assert len(caller.get("/large", Cookie=cookie).content) == 5 * 2**20
    with caller.http.stream("GET", "/slow", headers=own) as slow:
        assert next(slow.iter_lines()) == "tick"


def test_pages_of_work_act_neither_on_each_other_nor_in_the_portal(
    stack: Stack, journey: Journey, started: Callable[..., dict]
) -> None:
    work = started("python", "-c", ECHO)
    caller = Caller(stack, journey.person("alice").workload_web(work["uid"])["url"])
    cookie = caller.cookie()
    caller.ready(cookie)
    neighbour = f"http://w-{uuid4().hex}.env.localhost:{urlsplit(stack.base_url).port}"
    own = {"Host": caller.host, "Cookie": cookie}
    assert caller.http.post("/", content=b"x", headers={**own, "Origin": neighbour}).status_code == 403
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert caller.get("/", Cookie=cookie, Origin=neighbour, **upgrade).status_code == 403
    # With all the cookies of somebody who is signed in: what counts is whose page it is.
    portal = {"Host": urlsplit(stack.base_url).netloc, "Origin": neighbour}
    assert caller.http.get("/login/", headers=portal).status_code == 403
    assert caller.http.get("/ws/live", headers={**portal, **upgrade}).status_code == 403


def test_access_ends_with_the_portals_session(
    stack: Stack, chromium: Browser, started: Callable[..., dict]
) -> None:
    work = started("python", "-c", ECHO)
    alice = Visitor(chromium, address_of(stack, "alice"), "alice")
    alice.sign_in(password_of(stack))
    alice.page.goto(f"/resources/{work['uid']}/")
    with alice.context.expect_page() as opened:
        alice.press("open-web")
    page = opened.value
    expect(page.locator("body")).to_contain_text('"path": "/"', timeout=START_MS)
    # What is open when she signs out, as a terminal's WebSocket would be, ends too.
    page.evaluate("""async () => {
        const reader = (await fetch("/slow")).body.getReader();
        const read = () => reader.read().then(({done}) => done ? window.over = true : read(), () => window.over = true);
        read();
    }""")
    alice.press("user-menu-large")
    alice.press("logout-large")
    alice.page.wait_for_url("**/login/**")
    page.wait_for_function("window.over === true")
    _reload_until(page, "[data-test=gateway-closed]")
    alice.leave()


def test_a_terminal_on_the_works_page_types_shows_and_ends_with_the_sign_in(
    stack: Stack, chromium: Browser, started: Callable[..., dict]
) -> None:
    work = started("python", "-c", ECHO)
    alice = Visitor(chromium, address_of(stack, "alice"), "alice")
    alice.sign_in(password_of(stack))
    alice.page.goto(f"/resources/{work['uid']}/")
    alice.press("open-terminal")
    page, rows = alice.page, alice.at("terminal").locator(".xterm-rows")
    expect(rows).to_contain_text("$", timeout=START_MS)
    page.keyboard.insert_text("echo 你好-$((6*7))")
    page.keyboard.press("Enter")
    expect(rows).to_contain_text("你好-42")
    page.keyboard.insert_text("exit")
    page.keyboard.press("Enter")
    alice.press("terminal-again")
    expect(rows).to_contain_text("$")
    # Signed out in another tab: what is open here ends.
    other = alice.context.new_page()
    other.goto("/")
    other.locator("[data-test=user-menu-large]").click()
    other.locator("[data-test=logout-large]").click()
    expect(alice.at("terminal-state")).to_have_attribute("data-terminal-state", "closed", timeout=20_000)
    alice.leave()
