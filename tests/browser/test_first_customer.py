"""From an empty installation to the paid bill of a customer who did not exist: by pages alone, as strangers do it."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

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


def tenant_made(ada: Visitor) -> str:
    """The tenant with its first business system; the link that lets its administrator in."""
    ada.press("cure-tenant")
    given = {"name": "North Lab", "schema": "north", "display_name": "Nora North"}
    for mark, text in (given | {"system_name": "Speech", "system_number": "N-1"}).items():
        ada.fill(mark, text)
    ada.press("tenant-make")
    return ada.at("invite-link").input_value()


def saved(ada: Visitor, path: str, **fields: str) -> None:
    """One of the catalogue's forms, filled in and kept."""
    ada.page.goto(path)
    for mark, text in fields.items():
        box = ada.at(mark).first
        if box.evaluate("box => box.tagName") == "SELECT":
            box.select_option(label=text)
        else:
            box.fill(text)
    ada.press("save")
    ada.page.wait_for_url(lambda url: not url.endswith(path))


def process_made(ada: Visitor, name: str, kind: str, decided_by: str) -> None:
    saved(ada, "/catalogue/forms/new/", name_en=name, name_zh=name, kind=kind)
    path = "/catalogue/processes/new/"
    ada.page.goto(path)
    kept = ada.at("process_template").locator("option").all_inner_texts()
    process = next(label for label in kept if label.startswith(f"{decided_by} ·"))
    saved(
        ada,
        path,
        name_en=name,
        name_zh=name,
        category="Compute",
        form_template=name,
        process_template=process,
    )
    ada.part("process-row", name).locator('[data-test="process-publish"]').click()
    expect(ada.part("process-row", name)).to_contain_text("Published")


def catalogue_made(ada: Visitor) -> None:
    """Category, two processes, an environment template, and a commodity with its price, in the catalogue."""
    saved(ada, "/catalogue/categories/new/", name_en="Compute", name_zh="算力")
    process_made(ada, "Application", "New", "Application approval")
    process_made(ada, "Early end", "Termination", "Termination approval")
    ada.page.goto("/scheduling/environments/")
    ada.press("template-new")
    ada.fill("template-name", "lab")
    ada.fill("template-compute_percent", "30")
    ada.fill_amount("template-memory_mib", "1", "GiB")
    ada.press("template-save")
    expect(ada.part("template-row", "lab")).to_be_visible()
    ada.page.goto("/catalogue/new/environment/")
    ada.fill("name_en", "Notebook")
    ada.fill("name_zh", "笔记本")
    ada.at("environment").select_option(index=1)
    for part, figures in PARTS.items():
        if part in ("gpu_memory", "memory"):
            ada.at(f"{part}_unit").select_option(label="MiB")
        for mark, figure in zip(("minimum", "maximum", "default"), figures, strict=True):
            ada.fill(f"{part}-{mark}", str(figure))
    for mark, name in (("process_app", "Application"), ("termination_app", "Early end")):
        labels = ada.at(mark).locator("option").all_inner_texts()
        ada.at(mark).select_option(label=next(label for label in labels if label.startswith(name)))
    ada.press("save")
    ada.press("price-new")
    for part, price in PRICES.items():
        ada.fill(f"price_{part}_0", price)
    ada.press("save")
    ada.press("commodity-list")
    expect(ada.page.locator("[data-test=message]")).to_contain_text("in the catalogue")


def money_given(ada: Visitor) -> None:
    """In the other role of the first operator: an account with a deposit."""
    ada.press("role-menu-large")
    ada.page.locator(".dropdown-menu.show").get_by_text("Operations manager").click()
    ada.page.wait_for_load_state()
    ada.go("operator-tenants")
    ada.page.get_by_role("link", name="North Lab").click()
    ada.press("account-open")
    ada.at("deposit").locator("summary").click()
    ada.fill("amount", "500")
    ada.fill("reference", "P-1")
    ada.press("deposit-save")
    expect(ada.at("tenant-balance")).to_contain_text("500.00")


def joined(person: Visitor, link: str, account: str) -> None:
    """By an invitation link, with an account of one's own choice."""
    person.page.goto(link)
    if person.at("join-new").count():
        person.press("join-new")
    person.fill("username", account)
    person.fill("password", PASSWORD)
    person.press("join")
    person.page.wait_for_url(lambda url: "/join/" not in url)
    if "/login/" in person.page.url:
        person.sign_in(PASSWORD)


def invited(nora: Visitor, name: str, role: str) -> str:
    nora.page.goto("/people/new/")
    nora.fill("person-name", name)
    nora.at(f"role-{role}").check()
    nora.press("person-make")
    return nora.at("invite-link").input_value()


def ordered(eva: Visitor) -> str:
    """From the catalogue to a submitted form; its number."""
    eva.go("catalog-commodities")
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
    eva.go("files-volumes")
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
    with eva.page.expect_download() as fetched:
        eva.part("entry", name).locator('[data-test="download"]').click()
    return fetched.value.path().read_text()


def resized(eva: Visitor, order: str, *deciders: tuple[Visitor, str]) -> None:
    """Another share for what runs, applied for on the order's page and approved by all who are asked."""
    eva.page.goto(order)
    eva.fill("change-compute_share", "40")
    expect(eva.at("change-price").locator('[data-test="quote-total"]')).to_contain_text("¥96.00")
    eva.shoot("order-change")
    eva.fill("change-reason", "a larger model")
    eva.press("change")
    no = submitted_no(eva)
    for decider, inbox in deciders:
        decided(decider, inbox, no)
    sees(eva.at("part-form"), "completed", 2 * LIVE_MS)
    eva.page.goto(order)
    expect(eva.at("order")).to_contain_text("40 %")


def ended(eva: Visitor, dora: Visitor, order: str) -> None:
    """The end of the order, applied for and approved."""
    eva.page.goto(order)
    eva.fill("reason", "the work is done")
    eva.press("terminate")
    eva.confirm()
    decided(dora, "approvals-inbox", submitted_no(eva))
    eva.page.goto(order)
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
    link = tenant_made(ada)
    ada.go("fleet-nodes")
    ada.press("join-token")
    ada.fill("join-name", "rack1")
    ada.press("join-make")
    node(ada.at("join-line").input_value())
    expect(ada.at("joined")).to_contain_text("rack1 has joined: 1 device was found.", timeout=LIVE_MS)
    catalogue_made(ada)
    money_given(ada)

    nora, eva, dora, olga = (come(name, "north") for name in ("nora", "eva", "dora", "olga"))
    joined(nora, link, "nora")
    joined(eva, invited(nora, "Eva Engineer", "tenant_front_line"), "eva")
    notes = tmp_path / "notes.txt"
    notes.write_text("from the desk")
    file_brought(eva, notes)
    joined(dora, invited(nora, "Dora Decider", "tenant_decision_maker"), "dora")
    joined(olga, invited(nora, "Olga Office", "tenant_operations_manager"), "olga")
    nora.go("orgs-organizations")
    nora.page.get_by_role("link", name="Speech").click()
    nora.page.locator("#member").select_option(label=_label(nora.page, "Eva"))
    nora.press("take-part")
    expect(nora.part("participant", "Eva Engineer")).to_be_visible()

    no = ordered(eva)
    decided(dora, "approvals-inbox", no)
    decided(ada, "operator-inbox", no)
    sees(eva.at("part-form"), "completed", 2 * LIVE_MS)
    order = eva.at("order").locator("a").first.get_attribute("href")
    eva.go("workloads-workloads")
    eva.at("resource-row").first.locator('[data-test="resource-open"]').click()
    with eva.context.expect_page() as tab:
        eva.press("open-web")
    cell_computed(tab.value)
    assert file_fetched(eva, "result.txt") == "FROM THE DESK"
    resized(eva, order, (dora, "approvals-inbox"), (ada, "operator-inbox"))
    ended(eva, dora, order)
    paid(olga)


def _label(page: Page, name: str) -> str:
    labels = page.locator("#member option").all_inner_texts()
    return next(label.strip() for label in labels if name in label)
