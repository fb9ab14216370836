"""A queue's rules and the reservations at a browser: fields that belong to some answers only, and a page that fills by
itself."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
Visit = Callable[[str], Visitor]
MARK = uuid4().hex[:6]
CODE = f"rules-{MARK}"
# Whatever the centre's clock is: far enough from now on any.
SOON = datetime.now(UTC) + timedelta(days=3)


@pytest.mark.req("PLAT-CLU-52", "PLAT-CLU-53", "PLAT-CLU-60")
def test_the_length_and_the_number_are_asked_for_where_they_belong(visit: Visit) -> None:
    admin = visit("admin")
    admin.page.goto("/scheduling/queues/new/")
    length, number = (admin.page.locator(f'[data-test="queue-{name}"]') for name in ("max_run_s", "max_jobs"))
    admin.unfold("queue-part-sharing")
    expect(length).to_be_hidden()
    admin.at("queue-time_limit").select_option("limited")
    expect(length).to_be_visible()
    assert admin.at("queue-oversubscribe").locator("option").all_inner_texts() == [
        "YES",
        "NO",
        "EXCLUSIVE",
        "FORCE",
    ]
    for mode, is_shown in (("yes", True), ("no", False), ("exclusive", False), ("force", True)):
        admin.at("queue-oversubscribe").select_option(mode)
        expect(number).to_be_visible() if is_shown else expect(number).to_be_hidden()
    for name, value in {
        "code": CODE,
        "name_en": CODE,
        "name_zh": CODE,
        "max_run_s": "900",
        "max_jobs": "4",
    }.items():
        admin.fill(f"queue-{name}", value)
    admin.shoot("70-queue-rules")
    admin.press("queue-save")
    row = admin.page.locator(f'[data-test="queue-row"][data-code="{CODE}"]')
    expect(row.locator('[data-test="queue-sharing"]')).to_have_text("FORCE:4")
    admin.page.goto(f"/scheduling/queues/{CODE}/")
    # What somebody has set is in sight; the rest is folded.
    expect(admin.at("queue-max_jobs")).to_have_value("4")
    expect(admin.page.locator('[data-test="queue-weight"]')).to_be_hidden()
    admin.unfold("queue-part-order")
    admin.fill("queue-weight", "0")
    admin.unfold("queue-part-sharing")
    admin.at("queue-part-order").locator("summary").click()
    admin.press("queue-save")
    expect(admin.at("queue-weight")).to_be_visible()
    admin.page.goto(f"/scheduling/queues/{CODE}/")
    admin.press("queue-remove")
    admin.confirm()
    expect(row).to_have_count(0)


@pytest.mark.req("ELA-305")
def test_what_somebody_reserves_stands_on_the_page_of_others(visit: Visit) -> None:
    watcher, maker = visit("admin"), visit("admin")
    for each in (watcher, maker):
        each.page.goto("/scheduling/reservations/")
    seen = watcher.page.locator(f'[data-test="reservation-row"][data-name="{CODE}"]')
    given = {
        "name": CODE, "from_at": SOON.strftime("%Y-%m-%dT%H:%M"),
        "to_at": (SOON + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M"), "count": "1", "compute_percent": "20",
    }  # fmt: skip
    for name, value in given.items():
        maker.fill(f"reservation-{name}", value)
    maker.at("reservation-tenant").select_option("acme")
    with watcher.staying():
        watcher.fill("reservation-name", "half written")
        maker.press("reservation-save")
        expect(seen).to_contain_text("1 × 20 %")
        expect(watcher.at("reservation-name")).to_have_value("half written")
        maker.page.locator(
            f'[data-test="reservation-row"][data-name="{CODE}"] [data-test="reservation-cancel"]'
        ).click()
        maker.confirm()
        expect(seen).to_have_count(0)
    watcher.shoot("71-reservations")
