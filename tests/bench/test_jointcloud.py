"""The choice among computing centres: how fast a cycle is, what its choices are worth. Limits are ratios of one run."""

import pytest

from apps.jointcloud.engine.bench.__main__ import SIMPLE, compared
from apps.jointcloud.engine.bench.optimum import by_price
from apps.jointcloud.engine.bench.speed import speed
from apps.jointcloud.engine.bench.week import week

# The goal is 50. Seen 42 to 44 on two cores with several times as much to do; far below, nothing is kept any more.
LEAST_TIMES_PLAIN = 30


def test_a_cycle_beats_the_plain_loop_with_the_same_plan(capsys):
    """10,000 tasks on 100 centres by 13 policies."""
    row = speed(10_000, 100, 42)
    with capsys.disabled():
        print("\n" + "  ".join(f"{name} {value}" for name, value in row.items()))
    assert row["equal"]
    assert row["bound"] == 10_000
    assert float(row["times_plain"]) >= LEAST_TIMES_PLAIN


@pytest.mark.req("JC-5-4")
def test_no_simple_way_is_both_cheaper_and_quicker_than_the_default_weights(capsys):
    """A week of 20,000 jobs on 6 centres."""
    rows = {str(row["by"]): row for row in compared(42, 20_000)}
    with capsys.disabled():
        for row in rows.values():
            print("\n" + "  ".join(f"{name} {value}" for name, value in row.items()), end="")
    ours = rows["default_weights"]
    for name in SIMPLE:
        other = rows[name]
        is_better = other["cost"] <= ours["cost"] and other["mean_wait_s"] <= ours["mean_wait_s"]
        assert not is_better, name
        assert other["jobs"] == ours["jobs"] == 20_000


@pytest.mark.req("JC-6.6.2d")
def test_by_price_alone_a_week_is_near_the_least_that_is_possible(capsys):
    """Beside HiGHS on the same snapshots; seen 1.0065."""
    pytest.importorskip("highspy", reason="highspy is not installed")
    row = by_price(week(42, 20_000))
    with capsys.disabled():
        print("\n" + "  ".join(f"{name} {value}" for name, value in row.items()))
    assert row["jobs"] == 20_000
    assert row["times_least"] <= 1.02
