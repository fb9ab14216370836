"""The engine against the plain way, in one run: `make bench` prints the figures, the limit is a ratio."""

import os

import pytest

from apps.scheduling.engine.bench.passes import filled, growth, passes
from apps.scheduling.engine.bench.speed import engine_rate, scan_rate
from apps.scheduling.engine.model.types import Placing
from tests.bench.histories import histories

NODES, CARDS, JOBS = 1000, 8, 3000
# Seen 25 to 50 on two cores; far below that the buckets have stopped working.
LEAST_TIMES = 5
# The goal is one second: seen 0.86 to 0.95 on a quiet machine where devices are filled evenly, 0.41 to 0.75 else. The
# limit leaves them a quarter for a machine that is not.
FULL_PASS_S = 1.25


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


@pytest.mark.parametrize("ends", [False, True], ids=["open ends", "known ends"])
def test_a_pass_costs_what_changed_and_not_what_waits(ends, capsys):
    """100,000 waiting on 10,000 devices that are full; the rows read anew, and then one change at a time."""
    row = passes(10_000, 100_000, Placing.DEVICE_COMPACT, ends=ends)
    with capsys.disabled():
        print("\n" + "  ".join(f"{name} {value}" for name, value in row.items()))
    assert int(row["bytes_per_waiting"]) < 1_000
    assert float(row["one_change_ms"]) * 20 < float(row["rebuild_and_pass_s"]) * 1_000


def test_the_filling_pass_grows_at_most_as_n_log_n(capsys):
    row = growth(Placing.DEVICE_COMPACT)
    with capsys.disabled():
        print("\n" + "  ".join(f"{name} {value}" for name, value in row.items()))
    assert float(row["exponent"]) < 1.3


@pytest.mark.req("ELA-2404")
@pytest.mark.parametrize("placing", list(Placing))
def test_a_full_pass_stays_within_its_limit(placing, capsys):
    """10,000 devices filled from 100,000 jobs, in seconds of this process; on a busy machine also these grow: the
    least of five."""
    row = min((filled(10_000, 100_000, placing)[1] for _ in range(5)), key=lambda row: row["filling_pass_s"])
    with capsys.disabled():
        print("\n" + "  ".join(f"{name} {value}" for name, value in {"policy": placing.value, **row}.items()))
    assert float(row["filling_pass_s"]) < FULL_PASS_S


def test_long_histories_keep_all_promises(capsys):
    """The properties of the unit tests over 10^6 steps; WEIR_ENGINE_STEPS makes it fewer."""
    steps = int(os.environ.get("WEIR_ENGINE_STEPS", str(10**6)))
    with capsys.disabled():
        seen = histories(steps, 1, lambda text: print(f"\n{text}", end="", flush=True))
    assert seen["steps"] >= steps
    assert all(seen[kind] for kind in ("placements", "preemptions", "resizes", "moves", "holds"))
