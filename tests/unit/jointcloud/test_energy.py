"""Formula 1 by trapezoids, against closed forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.jointcloud.engine.energy import JOULES_PER_KWH, Sample, energy_joules, steady_joules
from apps.jointcloud.engine.reasons import BadInput, Fault

STATIC, EXECUTING = [Sample(0, 50)], [Sample(0, 300)]


@pytest.mark.req("JC-6.6.1f")
def test_steady_powers_are_power_times_time():
    assert energy_joules(STATIC, EXECUTING, t0=100, ts=160, te=3760) == 50 * 60 + 300 * 3600
    assert steady_joules(50, 60, 300, 3600) == 50 * 60 + 300 * 3600
    assert energy_joules([], [Sample(0, 1000)], t0=0, ts=0, te=3600) == JOULES_PER_KWH


@pytest.mark.req("JC-6.6.1f")
def test_a_straight_line_is_exact_wherever_it_is_cut():
    """P(t) = 100 + 2t: the integral from 5 to 35 is 100·30 + 35² − 5² = 4,200."""
    line = [Sample(0, 100), Sample(7, 114), Sample(40, 180)]
    assert energy_joules(line, line, t0=5, ts=20, te=35) == 4200


@pytest.mark.req("JC-6.6.1f")
def test_a_parabola_is_near_its_closed_form():
    """P(t) = t² from 0 to 600: 600³ / 3 = 72,000,000; trapezoids of 10 s are too large by 10²·600 / 6 = 10,000."""
    samples = [Sample(t, t * t) for t in range(0, 601, 10)]
    assert energy_joules([], samples, t0=0, ts=0, te=600) == 72_010_000
    fine = [Sample(t, t * t) for t in range(601)]
    assert energy_joules([], fine, t0=0, ts=0, te=600) == 72_000_100


def test_half_a_joule_is_rounded_up():
    rising = [Sample(0, 0), Sample(1, 1)]
    assert energy_joules([], rising, t0=0, ts=0, te=1) == 1
    assert energy_joules(rising, [], t0=0, ts=1, te=1) == 1


def test_outside_of_its_samples_the_power_stays():
    assert energy_joules([], [Sample(10, 7), Sample(20, 9)], t0=0, ts=0, te=30) == 70 + 80 + 90


@given(
    st.lists(st.builds(Sample, st.integers(0, 100), st.integers(0, 1000)), min_size=1, max_size=6),
    st.lists(st.integers(-10, 110), min_size=3, max_size=3).map(sorted),
)
def test_parts_sum_to_the_whole(samples, times):
    t0, ts, te = times
    whole = energy_joules([], samples, t0=t0, ts=t0, te=te)
    parts = energy_joules(samples, samples, t0=t0, ts=ts, te=te)
    assert whole == parts
    assert energy_joules([], list(reversed(samples)), t0=t0, ts=t0, te=te) >= 0


def test_what_cannot_be_meant_is_refused():
    for times, code in (((5, 4, 6), Fault.TIMES), ((1, 5, 4), Fault.TIMES), ((0, 1, 2), Fault.NO_POWER)):
        with pytest.raises(BadInput) as refused:
            energy_joules([], EXECUTING, t0=times[0], ts=times[1], te=times[2])
        assert refused.value.reason.code is code
