"""Metrics of real work: drawn on its page as it writes them, and beside those of other work."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from portal.devstack.demo_order import Journey
from tests.browser.visitor import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("portal")]
WRITE = """
import time
from weir_wire import metrics
for step in range(40):
    metrics.log({"loss": RATE / (1 + step), "accuracy": 1 - 1 / (2 + RATE * step)}, step=step)
time.sleep(60)
"""


def box_of(visitor: Visitor, work: dict[str, Any]) -> Locator:
    """The box by which a work is chosen in the list of resources."""
    return visitor.page.locator(f'[data-no="{work["no"]}"] [data-test="compare-choose"]')


def test_metrics_are_drawn_as_they_come_and_compared(
    visit: Callable[[str], Visitor], journey: Journey
) -> None:
    client, works = journey.person("alice"), []

    def submit(rate: int) -> None:
        argv = ["python", "-c", WRITE.replace("RATE", str(rate))]
        works.append(
            client.workload_submit(name=f"rate {rate}", argv=argv, compute_percent=5, memory_mib=128)
        )

    try:
        submit(1)
        alice = visit("alice")
        alice.page.goto(f"/resources/{works[0]['uid']}/")
        chart = alice.at("metric").filter(has_text="loss")
        expect(chart.get_by_text("0.025 at step 39")).to_be_visible(timeout=60_000)
        expect(chart.locator("canvas")).to_be_visible()
        alice.shoot("metrics-of-work")
        alice.page.goto("/resources/")
        box_of(alice, works[0]).check(timeout=60_000)
        # The list goes on while one of its rows is chosen, and the row stays chosen.
        submit(3)
        box_of(alice, works[1]).check(timeout=60_000)
        expect(box_of(alice, works[0])).to_be_checked()
        alice.shoot("metrics-choose")
        alice.press("compare")
        expect(alice.at("metric")).to_have_count(2)
        expect(alice.at("metric").filter(has_text="loss").get_by_text("0.075 at step 39")).to_be_visible()
        alice.shoot("metrics-compared")
    finally:
        for work in works:
            client.workload_stop(work["uid"])
