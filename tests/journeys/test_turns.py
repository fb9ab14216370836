"""Works on one card, stopped and continued by real shims, one after another."""

import time
from pathlib import Path

import pytest

from tests.journeys.test_shim import ShimSlice

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("shim")]

SECONDS, MOMENT_S = 4.0, 0.005
# Writes down when it runs, on the clock of the shims.
TELLS = """
import time
with open("ran", "w", buffering=1) as ran:
    last = 0.0
    while True:
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        if now - last > 0.002:
            ran.write(f"{now:.4f}\\n")
            last = now
"""


def now_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.mark.req("POOL-12.1", "POOL-7.4-1")
def test_two_works_on_a_card_run_by_turns(tmp_path: Path) -> None:
    """A vendor whose card tells nothing of single works: its shim holds the share as on any card."""
    percents = (50, 30)
    made = [
        ShimSlice(tmp_path / f"t{k}", vendor="ascend", compute_percent=percent).program(TELLS)
        for k, percent in enumerate(percents)
    ]
    time.sleep(3)
    began = now_s()
    time.sleep(SECONDS + 0.5)
    for one in made:
        one.shim.terminate()
    for one in made:
        one.shim.wait(60)
    moments = []
    for one in made:
        at = [float(line) for line in (one.files.work / "ran").read_text().splitlines()[:-1]]
        moments.append({int(s / MOMENT_S) for s in at if began < s < began + SECONDS})
    whole = SECONDS / MOMENT_S
    both = 100 * len(moments[0] & moments[1]) / whole
    # Each by a clock of its own they would meet in 15 % of all moments.
    assert both < 8, both
    for percent, seen in zip(percents, moments, strict=True):
        assert 100 * len(seen) / whole <= percent + 8
        assert seen
