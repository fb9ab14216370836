"""The energy loss of a task (JC-6.6.1f), formula 1: E = ∫[t0→ts] P_static(t) dt + ∫[ts→te] P_exe(t) dt, in joules.

t0: the copy of its data begins; ts: it begins to execute; te: it ends. Power is told by samples.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from apps.jointcloud.engine.reasons import BadInput, Fault
from apps.jointcloud.engine.scores import Row

JOULES_PER_KWH = 3_600_000
Figure = TypeVar("Figure", int, Row)


class Sample(NamedTuple):
    """So many watts at this instant (seconds since 1970, or since any other moment that all share)."""

    at_s: int
    watts: int


def energy_joules(static: Sequence[Sample], executing: Sequence[Sample], *, t0: int, ts: int, te: int) -> int:
    """Formula 1 over measured power, whole joules rounded half up.

    Between samples the power is taken to change in a straight line (trapezoids), before the first and after the last to
    stay as it is. `BadInput` where the three instants are out of order, or a span that is not empty has no sample.
    """
    if not t0 <= ts <= te:
        raise BadInput(Fault.TIMES, t0=t0, ts=ts, te=te)
    return half_up(_area(static, t0, ts, "static") + _area(executing, ts, te, "executing"))


def steady_joules(static_w: Figure, copying_s: Figure, executing_w: Figure, running_s: int) -> Figure:
    """Formula 1 where both powers stay as they are: what a task is expected to take before it runs."""
    return static_w * copying_s + executing_w * running_s


def half_up(exact: Fraction) -> int:
    """The nearest whole number, the upper one of two equally near."""
    return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


def _area(samples: Sequence[Sample], from_s: int, to_s: int, curve: str) -> Fraction:
    if from_s == to_s:
        return Fraction(0)
    if not samples:
        raise BadInput(Fault.NO_POWER, curve=curve, from_s=from_s, to_s=to_s)
    # Of several samples of one instant the last counts.
    rows = sorted({sample.at_s: sample for sample in samples}.values())
    times = [from_s, *(row.at_s for row in rows if from_s < row.at_s < to_s), to_s]
    powers = [_power(rows, at) for at in times]
    spans = zip(times, times[1:], powers, powers[1:], strict=False)
    return sum(((p + q) * (end - start) / 2 for start, end, p, q in spans), Fraction(0))


def _power(rows: Sequence[Sample], at_s: int) -> Fraction:
    after = bisect_right(rows, at_s, key=lambda row: row.at_s)
    if after == 0:
        return Fraction(rows[0].watts)
    if after == len(rows):
        return Fraction(rows[-1].watts)
    one, other = rows[after - 1], rows[after]
    rise = Fraction(other.watts - one.watts, other.at_s - one.at_s)
    return one.watts + rise * (at_s - one.at_s)
