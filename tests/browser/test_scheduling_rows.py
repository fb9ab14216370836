"""The scheduler's pages as their users meet them, with work in them: in both languages, wide and narrow, light and
dark; live, and with the acts of who may act and nobody else's."""

from collections.abc import Callable, Iterator
from itertools import product
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.rules import content_faults
from tests.browser.test_pages_hold import dress, keyboard_faults, look_faults, opened
from tests.browser.visitor import NARROW, WIDE, Visitor, sees

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]
MARK = uuid4().hex[:6]
TOP, MIDDLE, LOW = (f"{level}-{MARK}" for level in ("top", "middle", "low"))
SLEEP = "python -c 'import time; print(1, flush=True); time.sleep(900)'"
SOON_MS = 60_000
SEND = """async ([path, given]) => {
  const token = document.cookie.match(/csrftoken=([^;]+)/)?.[1] ??
    document.querySelector('meta[name="csrf-token"]')?.content;
  const body = new URLSearchParams({ ...given, csrfmiddlewaretoken: token });
  const answer = await fetch(path, { method: "POST", body });
  return [answer.status, answer.url];
}"""


def send(visitor: Visitor, path: str, **given: object) -> str:
    """What a form of theirs sends, from the page that is open; the address that it leads to."""
    status, url = visitor.page.evaluate(SEND, [path, {name: str(value) for name, value in given.items()}])
    assert status == 200, f"{path}: {status}"
    return urlsplit(url).path


def queue(ops: Visitor, code: str, parent: str = "", **more: object) -> None:
    """A queue by its form; `parent` by its code."""
    ops.page.goto("/scheduling/queues/new/")
    if any(name.startswith(("borrow", "lend")) for name in more):
        ops.unfold("queue-part-lending")
    for name, value in {"code": code, "name_en": code, "name_zh": f"队列 {code}", **more}.items():
        ops.fill(f"queue-{name}", str(value))
    if parent:
        ops.at("queue-parent").select_option(label=parent)
    ops.press("queue-save")
    expect(ops.page.locator(f'[data-test="queue-row"][data-code="{code}"]')).to_be_visible()


def work(alice: Visitor, name: str, **more: object) -> str:
    """The address of new work of hers."""
    given = {
        "name": f"{name} {MARK}", "kind": "program", "command": SLEEP, "compute_percent": 30, "memory_mib": 128,
        "shares": 1, "queue": LOW, "run_minutes": 15,
    }  # fmt: skip
    return send(alice, "/resources/submit/", **given | more)


@pytest.fixture
def jobs(visit: Visit) -> Iterator[dict[str, str]]:
    """Queues three deep, the lowest bounded by the one above; in it work that runs, waits, is aside and has failed."""
    ops, alice = visit("admin"), visit("alice")
    alice.page.goto("/resources/submit/")
    queue(ops, TOP, guaranteed_compute_percent=50)
    queue(ops, MIDDLE, TOP, max_compute_percent=40, borrow_compute_percent=30)
    queue(ops, LOW, MIDDLE)
    found = {
        "runs": work(alice, "runs"),
        "elastic": work(alice, "elastic", compute_percent=10, shares=2, min_shares=1),
        "waits": work(alice, "waits", compute_percent=60),
        "aside": work(alice, "aside", compute_percent=50),
        "fails": work(alice, "fails", command="python -c 'import nothing_there'", queue="default"),
    }
    send(alice, f"{found['aside']}steer/suspend/")
    for name in ("runs", "elastic"):
        alice.page.goto(found[name])
        sees(alice.at("resource"), "running", SOON_MS)
    alice.page.goto(found["fails"])
    sees(alice.at("resource"), "failed", SOON_MS)
    yield found
    for name in ("runs", "elastic", "waits", "aside"):
        send(alice, f"{found[name]}stop/", reason="seen")
    for name in ("runs", "elastic", "waits", "aside"):
        alice.page.goto(found[name])
        sees(alice.at("resource"), "finished", SOON_MS)
    for code in (LOW, MIDDLE, TOP):
        send(ops, f"/scheduling/queues/{code}/remove/")


def eight_looks(visitor: Visitor, path: str) -> Iterator[str]:
    """What is wrong with a page in either language, wide or narrow, light or dark, and by keyboard."""
    for language, page in (("en", visitor.page), ("zh", visitor.in_chinese())):
        page.bring_to_front()
        dress(page, WIDE, "light")
        if opened(page, path) != 200:
            yield f"{path} {language}: not there"
            continue
        for size, scheme in product((WIDE, NARROW), ("light", "dark")):
            dress(page, size, scheme)
            if scheme == "light":
                yield from content_faults(page, f"{path} {language} {size['width']}")
            yield from look_faults(page, f"{path} {language} {scheme}", size, scheme)
        dress(page, WIDE, "light")
    visitor.page.bring_to_front()
    yield from keyboard_faults(visitor.page, path)


@pytest.mark.req("PLAT-GEN-11", "ELA-1101", "ELA-504", "ELA-103", "PLAT-AICFG-18", "PLAT-AICFG-24")
def test_every_page_of_the_scheduler_holds_with_rows_in_it(visit: Visit, jobs: dict[str, str]) -> None:
    ops, alice = visit("admin"), visit("alice")
    ops.go("scheduling_admin-policy")
    before = ops.at("policy-hysteresis_s").input_value()
    for value in ("7", before):
        ops.fill("policy-hysteresis_s", value)
        known = ops.at("policy-change").count()
        ops.press("policy-save")
        expect(ops.at("policy-change")).to_have_count(known + 1)
        expect(ops.at("policy-change").first).to_contain_text(value)
    ops.page.goto("/scheduling/what-if/")
    ops.fill("what-if-name", f"rows {MARK}")
    ops.at("what-if-ordering").select_option("priority")
    ops.press("what-if-ask")
    expect(ops.at("what-if-figure").first).to_be_visible(timeout=SOON_MS)
    expect(ops.at("what-if-changes")).to_contain_text("Priority")
    pages = ["queues/", f"queues/{LOW}/", "policy/", "priorities/", "start-estimates/", "what-if/"]
    seen = [fault for path in pages for fault in eight_looks(ops, f"/scheduling/{path}")]
    ops.page.goto("/scheduling/what-if/")
    replay = ops.part("what-if-row", f"rows {MARK}").get_attribute("href")
    assert replay
    seen += eight_looks(ops, replay)
    for path in ("/resources/", "/resources/submit/", "/resources/environments/", *jobs.values()):
        seen += eight_looks(alice, path)
    assert not seen, "\n".join(seen)


@pytest.mark.req("ELA-1101", "ELA-610", "ELA-409")
def test_the_tree_and_a_queue_tell_what_happens_in_them_live(visit: Visit, jobs: dict[str, str]) -> None:
    ops, alice = visit("admin"), visit("alice")
    ops.page.goto("/scheduling/queues/")
    row = ops.page.locator(f'[data-test="queue-row"][data-code="{MIDDLE}"]')
    expect(row.locator('[data-test="queue-use"]')).to_contain_text("50 % / 70 %")
    expect(row.locator('[data-test="queue-borrowed"]')).to_have_text("10 %")
    expect(row.locator('[data-test="queue-waiting"]')).to_contain_text("1")
    low = ops.page.locator(f'[data-test="queue-row"][data-code="{LOW}"]')
    expect(low).to_have_attribute("data-depth", "2")
    expect(low.locator('[data-test="queue-use"]')).to_contain_text("/ 70 % ↑")
    low.locator('[data-test="queue-open"]').click()
    expect(ops.at("queue-runs")).to_have_count(2)
    expect(ops.at("queue-waits")).to_have_count(1)
    expect(ops.at("queue-waits").first).to_contain_text("60 % more are asked")
    with ops.staying():
        # A form that is being filled in stays while the figures beside it change.
        ops.unfold("queue-part-order")
        ops.fill("queue-weight", "7")
        send(alice, f"{jobs['aside']}steer/resume/")
        expect(ops.at("queue-waits")).to_have_count(2, timeout=SOON_MS)
        expect(ops.at("queue-weight")).to_have_value("7")


@pytest.mark.req("ELA-503", "ELA-504", "POOL-12.2")
def test_a_job_is_steered_from_its_page_which_follows_by_itself(visit: Visit, jobs: dict[str, str]) -> None:
    alice, dan = visit("alice"), visit("dan")
    alice.page.goto(jobs["elastic"])
    expect(alice.at("log")).to_contain_text("1")
    for act in ("suspend", "requeue", "resize", "scale", "stop"):
        expect(alice.at(act)).to_be_visible()
    alice.fill("scale-shares", "1")
    alice.press("scale")
    # It may have grown by itself before.
    scaled = alice.page.locator('[data-test="decision"][data-kind="scaled"]')
    expect(scaled.first).to_be_visible(timeout=SOON_MS)
    alice.fill("resize-percent", "12")
    alice.press("resize")
    expect(alice.at("share")).to_contain_text("12 %", timeout=SOON_MS)
    expect(alice.at("usage-record").first).to_be_visible(timeout=SOON_MS)
    expect(alice.at("cost")).to_contain_text("¥")
    with alice.staying():
        send(alice, f"{jobs['elastic']}steer/suspend/")
        expect(alice.at("resume")).to_be_visible(timeout=SOON_MS)
        expect(alice.at("suspend")).to_have_count(0)
    with alice.staying():
        send(alice, f"{jobs['elastic']}steer/resume/")
        expect(alice.at("requeue")).to_be_visible(timeout=SOON_MS)
    dan.page.goto(jobs["runs"])
    expect(dan.at("timeline")).to_be_visible()
    expect(dan.at("acts")).to_have_count(0)


@pytest.mark.req("PLAT-SVC-17", "ELA-409", "ELA-501")
def test_the_list_says_why_and_the_form_what_it_costs(visit: Visit, jobs: dict[str, str]) -> None:
    alice = visit("alice")
    alice.page.goto("/resources/")
    waiting = alice.part("resource-row", f"waits {MARK}").first
    expect(waiting.locator('[data-test="why"]')).to_contain_text("60 % more are asked")
    expect(alice.part("resource-row", f"runs {MARK}").first).to_contain_text("node-")
    alice.press("to-submit")
    expect(alice.at("dry-run-cost")).to_contain_text("¥")
    alice.fill("submit-run_minutes", "60")
    expect(alice.at("dry-run-cost")).to_contain_text("at most")
    alice.at("submit-queue").select_option(LOW)
    alice.fill("submit-compute_percent", "60")
    expect(alice.at("dry-run-why")).to_contain_text("60 % more are asked")
