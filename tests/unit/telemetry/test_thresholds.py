"""A rule is broken at its threshold and settled only clear of it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.telemetry.thresholds import is_broken, is_settled

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
