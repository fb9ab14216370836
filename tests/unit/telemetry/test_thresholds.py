"""A rule is broken at its threshold and settled only clear of it."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.telemetry.thresholds import firings, is_broken, is_settled

FIGURES = st.floats(min_value=-1e9, max_value=1e9)
COMPARISONS = st.sampled_from(["gt", "ge", "lt", "le"])


@pytest.mark.req("POOL-12.19")
@pytest.mark.parametrize(
    ("comparison", "value", "broken", "settled"),
    [
        ("ge", 100, True, False),
        ("gt", 100, False, False),
        ("ge", 96, False, False),
        ("ge", 94.9, False, True),
        ("le", 100, True, False),
        ("lt", 100, False, False),
        ("le", 104, False, False),
        ("le", 105.1, False, True),
    ],
)
def test_between_breaking_and_settling_lies_a_margin(comparison, value, broken, settled):
    assert is_broken(comparison, value, 100) is broken
    assert is_settled(comparison, value, 100) is settled


@pytest.mark.req("POOL-12.19")
@given(COMPARISONS, FIGURES, FIGURES)
def test_nothing_is_broken_and_settled_at_once(comparison, value, threshold):
    assert not (is_broken(comparison, value, threshold) and is_settled(comparison, value, threshold))


def test_a_flag_is_broken_at_one_and_settled_at_nought():
    assert is_broken("ge", 1, 1)
    assert is_settled("ge", 0, 1)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_rings_nothing_and_ends(value):
    assert not is_broken("ge", value, 1)
    assert is_settled("ge", value, 1)


BEGIN = datetime(2026, 11, 2, tzinfo=UTC)


def fired(values, *, comparison="ge", threshold=100, for_s=0, every_s=30, left_out=()):
    points = [
        (BEGIN + timedelta(seconds=every_s * n), value) for n, value in enumerate(values) if n not in left_out
    ]
    found = firings(points, comparison=comparison, threshold=threshold, for_s=for_s, gap_s=90)
    ends = [None if each.until is None else (each.until - BEGIN).total_seconds() for each in found]
    return [((each.since - BEGIN).total_seconds(), end) for each, end in zip(found, ends, strict=True)]


@pytest.mark.req("POOL-12.19")
@pytest.mark.parametrize(
    ("values", "more", "expected"),
    [
        ([], {}, []),
        ([1, 2, 3], {}, []),
        ([0, 100, 0, 100, 0], {}, [(30, 60), (90, 120)]),
        # One that swings about the threshold, within its margin, rings once.
        ([100, 96, 100, 96, 90], {}, [(0, 120)]),
        # What does not last long enough does not ring; each time that it keeps the rule it begins anew.
        ([100, 100, 0, 100, 100, 100], {"for_s": 60}, [(150, None)]),
        ([100, 96, 100, 96], {"for_s": 30}, []),
        # Where nothing was measured it ends with what was last measured, and begins anew.
        ([100] * 8, {"left_out": (2, 3, 4)}, [(0, 30), (150, None)]),
        ([100] * 8, {"left_out": (2, 3)}, [(0, None)]),
        ([5, 1, 5], {"comparison": "lt", "threshold": 2}, [(30, 60)]),
        ([float("nan"), 100], {}, [(30, None)]),
    ],
)
def test_a_rule_would_have_fired_as_it_fires(values, more, expected):
    assert fired(values, **more) == expected


@given(COMPARISONS, st.lists(FIGURES, max_size=40), FIGURES, st.sampled_from([0, 30, 300]))
def test_firings_follow_each_other_and_begin_where_the_rule_is_broken(comparison, values, threshold, for_s):
    found = fired(values, comparison=comparison, threshold=threshold, for_s=for_s)
    at = -1.0
    for index, (since, until) in enumerate(found):
        assert since >= max(at, for_s)
        assert is_broken(comparison, values[int(since // 30)], threshold)
        assert until is not None or index == len(found) - 1
        at = until or math.inf
