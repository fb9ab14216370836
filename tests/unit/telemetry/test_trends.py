"""A forecast of days: it follows a line and a week, says how sure it is, and keeps its word."""

import random
from datetime import date, timedelta

import pytest

from apps.telemetry.trends import DAYS_LEAST, trend_of

pytestmark = pytest.mark.req("ELA-102")
FIRST = date(2026, 1, 5)  # a Monday


def history(days, figure):
    return {FIRST + timedelta(days=n): figure(n) for n in range(days)}


def growing(n):
    """A hundred more each day, and nothing but half of it at weekends."""
    return (1000 + 100 * n) - (500 if n % 7 >= 5 else 0)


def test_growth_with_a_week_in_it_goes_on_and_reaches_a_limit_on_its_day():
    found = trend_of(history(84, growing), ahead=28)
    assert found.model == "trend"
    assert [each.day for each in found.days] == [FIRST + timedelta(days=n) for n in range(84, 112)]
    assert [each.mid for each in found.days] == pytest.approx([growing(n) for n in range(84, 112)])
    first = next(n for n in range(84, 112) if growing(n) > 10_950)
    assert found.reaches(10_950.0) == (FIRST + timedelta(days=first),) * 3, "without noise there is no doubt"
    assert found.reaches(1e9) == (None, None, None)


def test_a_step_is_believed_once_it_has_lasted():
    found = trend_of(history(112, lambda n: 100.0 if n < 60 else 300.0), ahead=7)
    assert [each.mid for each in found.days] == pytest.approx([300.0] * 7, rel=0.2)
    assert all(each.high - each.mid > 50 for each in found.days), "steps of the past are doubt of tomorrow"


def test_too_few_days_are_no_forecast_and_missing_ones_are_no_zero():
    assert trend_of(history(DAYS_LEAST - 1, growing), ahead=7) is None
    holes = {day: value for n, (day, value) in enumerate(history(84, growing).items()) if n % 10}
    assert [each.mid for each in trend_of(holes, ahead=14).days] == pytest.approx(
        [growing(n) for n in range(84, 98)]
    )


def test_a_figure_is_never_below_nothing():
    found = trend_of(history(70, lambda n: max(0.0, 700.0 - 10 * n)), ahead=28)
    assert all(0.0 <= each.low <= each.mid <= each.high for each in found.days)


@pytest.mark.parametrize("growth", [0.0, 3.0])
def test_nine_of_ten_days_fall_into_the_band(growth):
    rng = random.Random(42)
    inside = total = 0
    for _series in range(20):
        noise = [rng.gauss(0, 40) for _ in range(126)]
        figures = [1000 + growth * n + 80 * (n % 7 < 5) + noise[n] for n in range(126)]
        found = trend_of({FIRST + timedelta(days=n): figures[n] for n in range(98)}, ahead=28)
        for n, each in enumerate(found.days, start=98):
            inside += each.low <= figures[n] <= each.high
            total += 1
    assert 0.85 <= inside / total <= 0.97, f"{inside} of {total}"
