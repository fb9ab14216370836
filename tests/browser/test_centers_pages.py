"""A real Slurm joins the network at a browser: what it holds is seen, a specification is offered there, and it is told
when its interface is stopped."""

import base64
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from portal.devstack.servers.processes import wait_until
from portal.devstack.stack import Stack
from tests.browser.visitor import LIVE_MS, Visitor, sees
from tests.harness.portal import own_environment, portal_folder
from tests.harness.slurm import USER, Cluster

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("engines")]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A portal that watches centres, also those of its own machine."""
    with own_environment():
        found = Stack.in_folder(
            portal_folder(tmp_path_factory, "centers"),
            nodes=0,
            center_processes=1,
            environment={"WEIR_CENTER_LOCAL_ADDRESSES": "true"},
        )
        found.start()
        try:
            yield found
        finally:
            found.stop()


def join(admin: Visitor, cluster: Cluster, key: bytes) -> None:
    admin.go("centers-centers")
    admin.press("center-join")
    admin.press("kind-slurm")
    for name, text in (
        ("ai-center-id", "lake"),
        ("name", "Lakeside"),
        ("region", "East"),
        ("longitude", "120.15"),
        ("latitude", "30.28"),
        ("kind-address", cluster.address),
        ("kind-user", USER),
        ("kind-folder", str(cluster.work)),
        ("kind-log-folder", str(cluster.work)),
        ("kind-devices", "user_define=card"),
        ("kind-key", base64.b64encode(key).decode()),
    ):
        admin.fill(f"center-{name}", text)
    admin.fill_amount("center-stale-after-s", "8", "seconds")
    admin.fill_amount("center-lost-after-s", "40", "seconds")
    admin.press("center-save")


@pytest.mark.req("JC-5-1", "JC-5a", "JC-6.6-1", "JC-6.1.1-1", "JC-6.1.1-2", "JC-6.1.2-1", "JC-6.1.3-1")
def test_a_slurm_joins_is_seen_and_offers_and_is_told_when_it_falls_silent(
    visit: Callable[[str], Visitor],
    slurm: Cluster,
) -> None:
    admin = visit("admin")
    admin.go("centers-centers")
    expect(admin.at("empty")).to_be_visible()
    join(admin, slurm, b"k" * 32)
    expect(admin.problem()).to_have_attribute("data-code", "center_refused")
    # What was typed stands there still: only the wrong field is typed anew.
    expect(admin.at("center-name").first).to_have_value("Lakeside")
    admin.shoot("60-centre-refused")
    admin.fill("center-kind-key", base64.b64encode(slurm.key).decode())
    admin.press("center-save")
    served(admin)
    sees(admin.at("center"), "up")
    gpus = admin.page.locator('[data-test="amount"][data-code="gpu"]')
    expect(gpus).to_contain_text("4")
    expect(admin.page.locator('[data-test="amount"][data-code="npu"]')).to_contain_text("8")
    expect(admin.page.locator('[data-test="amount"][data-code="memory"]')).to_contain_text("GiB")
    admin.press("center-sample")
    expect(admin.page.get_by_text("Lakeside has answered.")).to_be_visible()
    offered(admin)
    admin.shoot("61-centre")
    admin.go("centers-centers")
    expect(admin.part("center-row", "Lakeside")).to_contain_text("Available")
    admin.shoot("62-centres")
    tried(admin)
    worked(visit("alice"))
    admin.go("jointcloud-jobs")
    expect(admin.part("job-row", "night")).to_be_visible()
    admin.shoot("73-jobs-of-all")
    admin.go("centers-centers")
    slurm.kill("slurmrestd")
    try:
        fallen_silent(admin)
    finally:
        slurm.rest_start(int(slurm.address.rpartition(":")[2]))


def served(admin: Visitor) -> None:
    """A new centre serves nobody until it is said whom; where it keeps no tenant's work apart, that has to be known."""
    expect(admin.at("served")).to_have_attribute("data-serves", "named")
    admin.at("serves-serves").select_option("all")
    admin.press("serves-save")
    expect(admin.problem()).to_be_visible()
    admin.at("serves-may-share").check()
    admin.press("serves-save")
    expect(admin.at("served")).to_have_attribute("data-serves", "all")
    admin.shoot("60-centre-serves")
    admin.page.get_by_role("main").get_by_role("link", name="Lakeside").click()


def fallen_silent(admin: Visitor) -> None:
    """The centre whose interface has gone is unknown for a while, and then unavailable, with what was the matter."""
    with admin.staying():
        sees(admin.part("center-row", "Lakeside"), "warning")
        sees(admin.part("center-row", "Lakeside"), "down")
    admin.press("open-center")
    expect(admin.at("center-trouble")).to_contain_text("did not answer")
    admin.shoot("63-centre-silent")


def tried(admin: Visitor) -> None:
    """Where a task would go is told centre by centre; the weights that decide it are seen on a page of their own."""
    admin.go("jointcloud-try")
    admin.press("try")
    expect(admin.part("tried-center", "Lakeside")).to_contain_text("Goes there")
    expect(admin.at("tried-sentence").first).to_contain_text("Lakeside is best")
    admin.shoot("68-where-work-would-go")
    admin.go("jointcloud-settings")
    expect(admin.at("placement-weight-price")).to_have_value("0.2")
    admin.shoot("69-choice-of-centres")


def worked(alice: Visitor) -> None:
    """A tenant's job of two tasks runs there: its state, place, reason and log are read, and another one is stopped."""
    submitted(alice, "night", 'sleep 1; echo "made in $WEIR_TASK_NAME"', "sleep 4")
    alice.shoot("70-job-waits")
    with alice.staying():
        expect(alice.at("job")).to_have_attribute("data-state", "completed", timeout=LIVE_MS)
    expect(alice.at("replica").first).to_contain_text("Lakeside")
    expect(alice.at("decision").first).to_contain_text("Lakeside")
    alice.shoot("71-job")
    alice.at("task").first.locator('[data-test="open-log"]').click()
    expect(alice.at("job-log")).to_contain_text("made in make")
    alice.shoot("72-job-log")
    submitted(alice, "long", "sleep 600", "sleep 600")
    expect(alice.at("job")).to_have_attribute("data-state", "running", timeout=LIVE_MS)
    alice.press("job-change")
    alice.fill("job-name", "longer")
    folded = alice.page.locator('[data-test="job-group-weights"] summary')
    folded.click()
    alice.fill("job-weight-price", "0.5")
    folded.click()
    alice.press("job-save")
    # What is wrong stands at its field, which is unfolded for it.
    expect(alice.problem()).to_contain_text("sum to 1")
    expect(alice.at("job-weight-manual")).to_be_focused()
    alice.fill("job-weight-load", "0.5")
    alice.shoot("74-job-change")
    alice.press("job-save")
    expect(alice.at("job")).to_be_visible()
    expect(alice.page.get_by_role("heading", name="longer")).to_be_visible()
    alice.press("job-stop")
    alice.confirm()
    expect(alice.at("job")).to_have_attribute("data-state", "stopped", timeout=LIVE_MS)
    # It stays until what it used is settled by the cluster's own accounts.
    assert wait_until(lambda: is_settled(alice), timeout_s=120, every_s=2)
    alice.press("job-delete")
    alice.confirm()
    expect(alice.part("job-row", "night")).to_be_visible()
    expect(alice.part("job-row", "longer")).to_have_count(0)


def is_settled(alice: Visitor) -> bool:
    """Whether the job on the page, looked at anew, may be deleted."""
    alice.page.reload()
    expect(alice.at("job")).to_be_visible()
    return alice.at("job-delete").is_visible()


def submitted(alice: Visitor, name: str, *commands: str) -> None:
    """Submit a job by its form, a task for each command."""
    alice.go("jointcloud-jobs")
    alice.press("job-submit")
    alice.fill("job-name", name)
    for number, command in enumerate(commands):
        if number:
            alice.press("job-another-task")
        alice.fill(f"job-task{number}-command", command)
    alice.fill("job-task0-name", "make")
    alice.page.locator('[data-test="job-group-weights"] summary').click()
    alice.shoot("70-job-submit")
    alice.press("job-send")
    expect(alice.at("job")).to_be_visible()


def offered(admin: Visitor) -> None:
    """Make a specification, offer it there, and come back to the centre by the mapping."""
    admin.go("centers-specs")
    admin.press("spec-new")
    for name, text in (("resource-spec-id", "gpu-1"), ("resource-spec-name", "One GPU"), ("price", "12.50")):
        admin.fill(f"spec-{name}", text)
    for name, text in (("cpu", "2"), ("gpu", "1")):
        admin.fill(f"spec-{name}", text)
    admin.fill_amount("spec-memory", "2", "GiB")
    admin.shoot("64-spec-new")
    admin.press("spec-save")
    admin.at("offer-center").first.select_option("lake")
    admin.fill("offer-price", "10")
    admin.fill("offer-performance", "1.5")
    admin.fill("offer-running-power-w", "400")
    admin.press("offer-save")
    expect(admin.part("spec-offer", "Lakeside")).to_contain_text("10.00")
    admin.shoot("65-spec")
    admin.go("centers-specs")
    admin.shoot("66-specs")
    admin.press("open-mapping")
    row = admin.part("mapping-row", "One GPU")
    expect(row.locator("td").nth(3)).to_have_text("4")
    admin.shoot("67-mapping")
    row.get_by_role("link", name="Lakeside").click()
    expect(admin.part("center-offer", "One GPU")).to_be_visible()
