"""The acceptance test at a browser: started, watched while it runs, its evidence read, its report taken away."""

import json
import re

import pytest
from playwright.sync_api import expect

from apps.conformance.report.signing import is_sound

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
RUN_MS = 600_000


@pytest.mark.req("POOL-12.7", "POOL-12.16")
def test_an_operator_examines_the_pool_and_takes_the_report_away(visit):
    admin = visit("admin")
    page = admin.page
    admin.go("conformance-home")
    page.get_by_text("Choose single tests").click()
    page.locator('[data-test="what-chosen"]').check()
    for number in ("12.7", "12.16"):
        page.locator(f'input[name="tests"][value="{number}"]').check()
    admin.press("start-run")
    page.wait_for_url(re.compile(r"/conformance/[0-9a-f-]{36}/$"))
    # Nothing is loaded again by hand: the page follows by itself.
    for number in ("12.7", "12.16"):
        row = page.locator(f'[data-test="result"][data-number="{number}"]')
        expect(row).to_have_attribute("data-outcome", "passed", timeout=RUN_MS)
    expect(admin.at("pdf")).to_be_visible(timeout=RUN_MS)
    expect(admin.at("level-1")).to_contain_text("2 / 9")
    with page.expect_download() as taken:
        admin.press("json")
    document = json.loads(taken.value.path().read_text())
    assert is_sound(document)
    assert document["report"]["counts"] == {"passed": 2, "failed": 0, "not_run": 0}
    page.locator('[data-number="12.7"] a').click()
    expect(page.locator('[data-test="expectation"][data-name="E3"]')).to_contain_text("No Pool Has")


def test_who_may_only_look_starts_nothing(visit):
    boss = visit("boss")
    boss.go("conformance-home")
    expect(boss.at("page-title")).to_have_text("Acceptance test")
    expect(boss.page.locator('[data-test="start-run"]')).to_have_count(0)
