"""From an empty installation to the paid bill of a customer who did not exist: by pages alone, as strangers do it.

Two addresses are typed: the one that the terminal printed, and an invitation's. From there on everybody goes where the
pages lead: the operator from one thing that is missing to the next, the others by what their homes offer and by menus.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from portal.devstack.stack import Stack
from tests.browser.visitor import LIVE_MS, Visitor, sees
from tests.harness.joined_node import joined_node
from tests.harness.portal import empty_centre
from tests.harness.web_pages import START_MS

pytestmark = [pytest.mark.browser, pytest.mark.journey, pytest.mark.xdist_group("empty centre")]
PASSWORD = "correct-horse-9"
# Of each part of a share: the least, the most, what is usual (shares in %, memory in MiB, CPU in cores).
PARTS = {
    "compute_share": (1, 100, 30),
    "gpu_memory": (128, 4096, 1024),
    "cpu": (1, 2, 1),
    "memory": (256, 4096, 1024),
}
PRICES = {"compute_share": "1.20", "gpu_memory": "40", "cpu": "6", "memory": "2"}
FIRST_PROGRAM = """
import os
text = open('/volumes/data/notes.txt').read()
print('the first work computes on', os.environ['WEIR_COMPUTE_PERCENT'], '%', flush=True)
open(os.environ['WEIR_OUTPUTS'] + '/count.txt', 'w').write(str(len(text)))
import time; time.sleep(5)
"""
Come = Callable[..., Visitor]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A centre in which there is nothing."""
    with empty_centre(tmp_path_factory, "first") as found:
        yield found


@pytest.fixture
def come(empty: Stack, chromium: Browser) -> Iterator[Come]:
    """`come("ada")` at the operators' side, `come("nora", "north")` at a tenant's: a window of one's own."""
    visitors: list[Visitor] = []

    def arrive(name: str, tenant: str = "") -> Visitor:
        host = f"{tenant}.localhost" if tenant else "localhost"
        visitors.append(Visitor(chromium, f"http://{host}:{empty.options.port}", name))
        return visitors[-1]

    yield arrive
    for visitor in visitors:
        visitor.leave()
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []


@pytest.fixture
def node(empty: Stack, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """`node(line)` runs on this machine what the portal says is to be run on the node."""
    with ExitStack() as nodes:
        storage = empty.var_dir / "storage"
        yield lambda line: nodes.enter_context(joined_node(tmp_path, line, storage=storage))


def opened(ada: Visitor, empty: Stack) -> None:
    """The setup page, once."""
    ada.page.goto(re.search(r"http://\S+token=\S+", empty.welcome)[0])
    for mark, text in {"name": "Lakeside Centre", "display_name": "Ada First", "username": "ada"}.items():
        ada.fill(mark, text)
    for mark in ("password", "password_again"):
        ada.fill(mark, PASSWORD)
    ada.press("set-up")
    expect(ada.at("checklist")).to_be_visible()
    ada.shoot("checklist")


def led_to(ada: Visitor, code: str) -> None:
    """What the page names as missing, pressed: the overview names all of it, other pages what is next."""
    ada.press(f"cure-{code}")


def node_made(ada: Visitor, run: Callable[[str], None]) -> None:
    led_to(ada, "node")
    ada.fill("join-name", "rack1")
    ada.press("join-make")
    run(ada.at("join-line").input_value())
    expect(ada.at("joined")).to_contain_text("rack1 has joined: 1 device was found.", timeout=LIVE_MS)


def saved(ada: Visitor, **fields: str) -> None:
    """One of the catalogue's forms, filled in and kept."""
    opened_at = ada.page.url
    for mark, text in fields.items():
        box = ada.at(mark).first
        if box.evaluate("box => box.tagName") == "SELECT":
            labels = box.locator("option").all_inner_texts()
            box.select_option(label=next(label for label in labels if label.startswith(text)))
        else:
            box.fill(text)
    ada.press("save")
    ada.page.wait_for_url(lambda url: url != opened_at)


def process_made(ada: Visitor, name: str, kind: str, decided_by: str) -> None:
    """What is asked, and who decides it, published."""
    led_to(ada, "form")
    saved(ada, name_en=name, name_zh=name, kind=kind)
    led_to(ada, "process")
    tied = {"category": "Compute", "form_template": name, "process_template": f"{decided_by} ·"}
    saved(ada, name_en=name, name_zh=name, **tied)
    ada.part("process-row", name).locator('[data-test="process-publish"]').click()
    expect(ada.part("process-row", name)).to_contain_text("Published")


def commodity_made(ada: Visitor) -> None:
    """A commodity with its price, in the catalogue."""
    led_to(ada, "commodity")
    ada.press("kind-environment")
    ada.fill("name_en", "Notebook")
    ada.fill("name_zh", "笔记本")
    ada.at("environment").select_option(index=1)
    for part, figures in PARTS.items():
        if part in ("gpu_memory", "memory"):
            ada.at(f"{part}_unit").select_option(label="MiB")
        for mark, figure in zip(("minimum", "maximum", "default"), figures, strict=True):
            ada.fill(f"{part}-{mark}", str(figure))
    saved(ada, process_app="Application", termination_app="Early end")
    led_to(ada, "price")
    saved(ada, **{f"price_{part}_0": price for part, price in PRICES.items()})
    led_to(ada, "listing")
    ada.at("commodity-open").first.click()
    ada.press("commodity-list")
    expect(ada.page.locator("[data-test=message]")).to_contain_text("in the catalogue")


def catalogue_made(ada: Visitor) -> None:
    """All that is missing of the catalogue, in the order in which the pages ask for it."""
    led_to(ada, "category")
    saved(ada, name_en="Compute", name_zh="算力")
    expect(ada.at("still-lacking")).to_contain_text("There is no form template of the kind New")
    process_made(ada, "Application", "New", "Application approval")
    process_made(ada, "Early end", "Termination", "Termination approval")
    led_to(ada, "environment")
    ada.fill("template-name", "lab")
    ada.fill("template-compute_percent", "30")
    ada.fill_amount("template-memory_mib", "1", "GiB")
    ada.press("template-save")
    expect(ada.part("template-row", "lab")).to_be_visible()
    commodity_made(ada)
    led_to(ada, "direct")
    ada.at("direct-commodity").select_option(label="Notebook")
    ada.press("direct-save")
    expect(ada.page.locator("[data-test=message]")).to_contain_text("is charged as Notebook")


def tenant_made(ada: Visitor) -> str:
    """The tenant with its first business system; the link that lets its administrator in."""
    led_to(ada, "tenant")
    given = {"name": "North Lab", "schema": "north", "display_name": "Nora North"}
    for mark, text in (given | {"system_name": "Speech", "system_number": "N-1"}).items():
        ada.fill(mark, text)
    ada.press("tenant-make")
    return ada.at("invite-link").input_value()


def money_given(ada: Visitor) -> None:
    """Who sells, and then, in the other role of the first operator, an account with a deposit."""
    ada.page.get_by_role("link", name="What is still lacking").click()
    led_to(ada, "seller")
    ada.fill("legal_name", "Lakeside Computing Ltd.")
    ada.press("seller-save")
    led_to(ada, "account")
    ada.press("account-open")
    expect(ada.at("nothing-to-spend")).to_contain_text("credit what it has paid in")
    ada.at("deposit").locator("summary").click()
    ada.fill("amount", "500")
    ada.fill("reference", "P-1")
    ada.press("deposit-save")
    expect(ada.at("tenant-balance")).to_contain_text("500.00")


def nothing_lacks(ada: Visitor) -> None:
    """The overview, which names nothing any more."""
    with ada.page.expect_response("**/checklist/"):
        ada.go("operator-home")
    expect(ada.at("checklist")).to_have_count(0)


def joined(person: Visitor, link: str, account: str) -> None:
    """By an invitation link, with an account of one's own choice."""
    person.page.goto(link)
    person.press("join-new")
    person.fill("username", account)
    person.fill("password", PASSWORD)
    person.press("join")
    person.page.wait_for_url(lambda url: "/join/" not in url)
    expect(person.at("next-steps")).to_be_visible()


def begun(person: Visitor, step: str) -> None:
    """What one's own home offers to begin with."""
    person.go("console-home")
    person.part("next-step", step).click()


def invited(nora: Visitor, name: str, role: str) -> str:
    begun(nora, "Invite your people")
    nora.fill("person-name", name)
    nora.at(f"role-{role}").check()
    nora.press("person-make")
    return nora.at("invite-link").input_value()


def taken_part(nora: Visitor, name: str) -> None:
    """Who applies for something says which business system it is for."""
    begun(nora, "Business systems")
    nora.page.get_by_role("link", name="Speech").click()
    box = nora.page.locator("#member")
    labels = box.locator("option").all_inner_texts()
    box.select_option(label=next(label.strip() for label in labels if name in label))
    nora.press("take-part")
    expect(nora.part("participant", name)).to_be_visible()


def first_work(eva: Visitor) -> None:
    """A command over a file of hers: its log, the file that comes of it, and what it cost."""
    begun(eva, "Submit work")
    eva.fill("submit-name", "first")
    eva.fill("submit-command", f"python -c {shlex.quote(FIRST_PROGRAM)}")
    eva.fill("submit-compute_percent", "20")
    eva.fill_amount("submit-memory_mib", "256", "MiB")
    eva.fill("submit-volumes", "data")
    eva.fill("submit-outputs", "data")
    expect(eva.at("dry-run-start")).to_contain_text("at once")
    expect(eva.at("dry-run-cost")).to_contain_text("¥34.00 / h")
    eva.shoot("first-work")
    eva.press("submit-send")
    sees(eva.at("resource"), "finished")
    expect(eva.at("log")).to_contain_text("the first work computes on 20 %")
    fetched = downloaded(eva, eva.part("output-entry", "count.txt").locator('[data-test="output-download"]'))
    assert fetched == "13"
    cost = eva.at("cost").locator("strong")
    expect(cost).not_to_have_text("¥0.00")
    eva.shoot("first-work-done")
    shown = cost.inner_text()
    eva.go("console-home")
    expect(eva.at("own-cost")).to_have_text(shown)


def ordered(eva: Visitor) -> str:
    """From the catalogue to a submitted form; its number."""
    begun(eva, "Order a service")
    eva.press("apply")
    eva.fill("duration", "1")
    eva.at("duration-unit").select_option("3600")
    expect(eva.at("quote-total")).to_contain_text("¥")
    eva.press("put-in-cart")
    eva.fill("duration", "1")
    eva.at("duration-unit").select_option("3600")
    eva.press("form-make")
    eva.at("business-system").select_option(index=1)
    eva.at("form-volumes").locator("summary").click()
    eva.part("volume-choice", "Mount").select_option(label="Mount")
    eva.shoot("form-volumes")
    eva.fill("remark", "a first notebook")
    # As people do: the price is read before.
    expect(eva.at("quote-total")).to_be_visible()
    eva.press("submit")
    return submitted_no(eva)


def file_brought(eva: Visitor, file: Path) -> None:
    """A volume of one's own with a file in it."""
    begun(eva, "Upload files")
    eva.fill("volume-name", "data")
    eva.fill_amount("volume-size", "64", "MiB")
    eva.press("volume-make")
    eva.page.wait_for_url("**/files/*-*/")
    eva.page.locator('[data-test="upload-files"]').set_input_files(file)
    expect(eva.part("entry", file.name)).to_be_visible()


def file_fetched(eva: Visitor, name: str) -> str:
    """What a file of the volume says, downloaded."""
    eva.go("files-volumes")
    eva.page.get_by_role("link", name="data", exact=True).click()
    return downloaded(eva, eva.part("entry", name).locator('[data-test="download"]'))


def downloaded(eva: Visitor, link: Locator) -> str:
    with eva.page.expect_download() as fetched:
        link.click()
    return fetched.value.path().read_text()


def resource_seen(eva: Visitor) -> None:
    """What her order delivered, from the list of her resources."""
    eva.go("workloads-workloads")
    eva.part("resource-row", "Notebook").first.locator('[data-test="resource-open"]').click()


def order_seen(eva: Visitor) -> None:
    """Her order, from the list of her orders."""
    eva.go("orders-orders")
    eva.press("order-open")


def resized(eva: Visitor, *deciders: tuple[Visitor, str]) -> None:
    """Another share for what runs, applied for on the order's page and approved by all who are asked."""
    eva.press("to-order")
    eva.fill("change-compute_share", "40")
    expect(eva.at("change-price").locator('[data-test="quote-total"]')).to_contain_text("¥96.00")
    eva.shoot("order-change")
    eva.fill("change-reason", "a larger model")
    eva.press("change")
    no = submitted_no(eva)
    for decider, inbox in deciders:
        decided(decider, inbox, no)
    sees(eva.at("part-form"), "completed", 2 * LIVE_MS)
    order_seen(eva)
    expect(eva.at("order")).to_contain_text("40 %")


def ended(eva: Visitor, dora: Visitor) -> None:
    """The end of the order, applied for and approved."""
    order_seen(eva)
    eva.fill("reason", "the work is done")
    eva.press("terminate")
    eva.confirm()
    decided(dora, "approvals-inbox", submitted_no(eva))
    order_seen(eva)
    sees(eva.at("order"), "terminated", 2 * LIVE_MS)


def submitted_no(eva: Visitor) -> str:
    """The number of the form that was just submitted."""
    eva.page.wait_for_url(re.compile(r"/forms/[0-9a-f-]{36}/$"))
    return re.search(r"\bF\d+-\d+\b", eva.at("page-title").inner_text()).group()


def decided(approver: Visitor, key: str, no: str) -> None:
    approver.go(key)
    approver.part("task-row", no).locator('[data-test="task-open"]').click()
    approver.press("decide-approve")
    expect(approver.page.locator("[data-test=message]")).to_contain_text(no)


def cell_computed(lab: Page) -> None:
    lab.locator(".jp-LauncherCard[title^='Python 3']").first.click(timeout=START_MS)
    expect(lab.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=START_MS)
    lab.locator(".jp-Notebook .jp-Cell .cm-content").first.click()
    lab.keyboard.type("import os; text = open('/volumes/data/notes.txt').read().upper(); ")
    lab.keyboard.type("open('/volumes/data/result.txt', 'w').write(text); ")
    lab.keyboard.type("print('share', os.environ['WEIR_COMPUTE_PERCENT'], 6 * 7)")
    lab.keyboard.press("Shift+Enter")
    expect(lab.locator(".jp-OutputArea-output").first).to_contain_text("share 30 42", timeout=START_MS)


def paid(olga: Visitor) -> None:
    olga.go("billing-bills")
    expect(olga.at("unbilled")).not_to_have_text("¥0.00", timeout=LIVE_MS)
    olga.press("bill-make")
    sees(olga.at("settlement"), "made")
    olga.press("bill-confirm")
    sees(olga.at("settlement"), "confirmed")
    olga.press("bill-pay")
    olga.confirm()
    sees(olga.at("settlement"), "paid")
    assert re.search(r"¥\d", olga.at("paid-balance").inner_text())


@pytest.mark.req(
    "PLAT-TEN-8", "PLAT-TEN-24", "PLAT-OPS-12", "PLAT-APPLY-1", "PLAT-TODO-5", "PLAT-CMP-10", "PLAT-OPS-32"
)
@pytest.mark.req("PLAT-ASSET-6", "PLAT-APPLY-20", "PLAT-APPLY-22")
def test_a_stranger_opens_a_centre_and_its_first_customer_pays_a_bill(
    empty: Stack, come: Come, node: Callable[[str], None], tmp_path: Path
) -> None:
    ada = come("ada")
    opened(ada, empty)
    node_made(ada, node)
    catalogue_made(ada)
    link = tenant_made(ada)
    money_given(ada)

    nora, eva, dora, olga = (come(name, "north") for name in ("nora", "eva", "dora", "olga"))
    joined(nora, link, "nora")
    joined(eva, invited(nora, "Eva Engineer", "tenant_front_line"), "eva")
    joined(dora, invited(nora, "Dora Decider", "tenant_decision_maker"), "dora")
    joined(olga, invited(nora, "Olga Office", "tenant_operations_manager"), "olga")
    taken_part(nora, "Eva Engineer")
    nothing_lacks(ada)
    notes = tmp_path / "notes.txt"
    notes.write_text("from the desk")
    file_brought(eva, notes)
    first_work(eva)

    no = ordered(eva)
    decided(dora, "approvals-inbox", no)
    decided(ada, "operator-inbox", no)
    sees(eva.at("part-form"), "completed", 2 * LIVE_MS)
    resource_seen(eva)
    with eva.context.expect_page() as tab:
        eva.press("open-web")
    cell_computed(tab.value)
    assert file_fetched(eva, "result.txt") == "FROM THE DESK"
    resource_seen(eva)
    resized(eva, (dora, "approvals-inbox"), (ada, "operator-inbox"))
    ended(eva, dora)
    paid(olga)
