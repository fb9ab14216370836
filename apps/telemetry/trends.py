"""How a daily figure goes on: two plain models, the one taken that would have been right more often (ELA-102).

Pure arithmetic. Both look at the last weeks only: a *trend* is a straight line with a weekly pattern (least squares),
*weeks* says each weekday will be as it was on the mean of the last four. Which is better is found by looking back:
each of the last days is forecast from what was known before it. What came out of that also gives the band: nine of
ten such forecasts were off by no more.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Model = Callable[[Numbers, Numbers, Numbers], Numbers]

DAYS_LEAST = 42
"""Four weeks to learn from and two to be judged by."""
DAYS_MOST = 112
"""What lies further back says little of what comes."""
TREND_DAYS = 56
WEEKS_DAYS = 28
CHECKED_DAYS = 56
SURE = 0.9
_BESIDE = 3


@dataclass(frozen=True, slots=True)
class Ahead:
    """A day to come: what is expected, and the band in which nine of ten such days were."""

    day: date
    mid: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Trend:
    """How a figure goes on. `off_by` is the mean error of the last days' forecasts, in the figure's unit."""

    model: str
    off_by: float
    days: tuple[Ahead, ...]

    def reaches(self, limit: float) -> tuple[date | None, date | None, date | None]:
        """The days on which the figure passes `limit`: expected, at the earliest, at the latest; None: not within."""
        return (
            next((each.day for each in self.days if each.mid > limit), None),
            next((each.day for each in self.days if each.high > limit), None),
            next((each.day for each in self.days if each.low > limit), None),
        )


def _line(known: Numbers, values: Numbers, wanted: Numbers) -> Numbers:
    near = known > known[-1] - TREND_DAYS
    origin = known[-1]
    found, *_rest = np.linalg.lstsq(_columns(known[near], origin), values[near], rcond=None)
    return _columns(wanted, origin) @ found


def _columns(days: Numbers, origin: float) -> Numbers:
    """A column for the slope, one for each weekday: the weekdays carry the level."""
    weekdays = (days[:, None] % 7) == np.arange(7)[None, :]
    return np.column_stack([days - origin, weekdays.astype(np.float64)])


def _weeks(known: Numbers, values: Numbers, wanted: Numbers) -> Numbers:
    near = known > known[-1] - WEEKS_DAYS
    days, seen = known[near] % 7, values[near]
    means = [seen[days == each].mean() if (days == each).any() else seen.mean() for each in range(7)]
    return np.array(means)[(wanted % 7).astype(int)]


MODELS: Mapping[str, Model] = {"weeks": _weeks, "trend": _line}


def trend_of(history: Mapping[date, float], ahead: int) -> Trend | None:
    """How a figure goes on for `ahead` days after the last known one; None for fewer than DAYS_LEAST known days.

    `history`: one figure, not below 0, for each whole day that was seen; days may be missing.
    """
    days = sorted(history)[-DAYS_MOST:]
    if len(days) < DAYS_LEAST:
        return None
    known = np.array([day.toordinal() for day in days], dtype=np.float64)
    values = np.array([history[day] for day in days], dtype=np.float64)
    checked = {name: _look_back(model, known, values) for name, model in MODELS.items()}
    off = {name: _mean_of(errors) for name, errors in checked.items()}
    name = min(off, key=lambda each: off[each])
    wanted = known[-1] + np.arange(1, ahead + 1, dtype=np.float64)
    mids = np.maximum(MODELS[name](known, values, wanted), 0.0)
    return Trend(name, off[name], tuple(_banded(days[-1], mids, checked[name])))


def _look_back(model: Model, known: Numbers, values: Numbers) -> list[list[float]]:
    """By how many days ahead: the errors of what would have been forecast on each of the last days."""
    first = max(WEEKS_DAYS, len(known) - CHECKED_DAYS)
    errors: list[list[float]] = [[] for _ in range(CHECKED_DAYS)]
    for until in range(first, len(known)):
        told = np.maximum(model(known[:until], values[:until], known[until:]), 0.0)
        for day, was, is_told in zip(known[until:], values[until:], told, strict=True):
            distance = int(day - known[until - 1]) - 1
            if distance < CHECKED_DAYS:
                errors[distance].append(abs(float(was - is_told)))
    return errors


def _mean_of(errors: Sequence[Sequence[float]]) -> float:
    """Of all forecasts up to two weeks ahead, which all origins but the last have."""
    flat = [error for each in errors[:14] for error in each]
    return math.fsum(flat) / len(flat)


def _banded(last: date, mids: Numbers, errors: Sequence[Sequence[float]]) -> list[Ahead]:
    """With a band that never narrows, and beyond what was looked back at widens as a random walk does."""
    reach = max(index for index, each in enumerate(errors) if each) + 1
    widths: list[float] = []
    for distance in range(len(mids)):
        if distance < reach:
            near = [e for each in errors[max(distance - _BESIDE, 0) : distance + _BESIDE + 1] for e in each]
            width = max(float(np.quantile(near, SURE)) if near else 0.0, widths[-1] if widths else 0.0)
        else:
            width = widths[reach - 1] * math.sqrt((distance + 1) / reach)
        widths.append(width)
    return [
        Ahead(last + timedelta(days=n + 1), float(mid), max(float(mid) - width, 0.0), float(mid) + width)
        for n, (mid, width) in enumerate(zip(mids, widths, strict=True))
    ]
