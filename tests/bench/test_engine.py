"""The engine against the plain way, in one run: `make bench` prints the figures, the limit is a ratio."""

import pytest

from apps.scheduling.engine.bench import engine_rate, scan_rate
from apps.scheduling.engine.types import Placing

NODES, CARDS, JOBS = 1000, 8, 3000
# Seen 25 to 50 on two cores; far below that the buckets have stopped working.
LEAST_TIMES = 5


@pytest.mark.parametrize("placing", list(Placing))
def test_placing_beats_a_scan_of_all_devices(placing, capsys):
    engine, placed = engine_rate(NODES, CARDS, JOBS, placing)
    scan = scan_rate(NODES, CARDS, 60)
    with capsys.disabled():
        print(
            f"\n{placing:9} {engine:9.0f} jobs/s, a scan {scan:6.0f} jobs/s: {engine / scan:.1f} times; {placed} placed"
        )
    assert placed > JOBS * 0.9
    assert engine >= scan * LEAST_TIMES
