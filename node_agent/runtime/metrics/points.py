"""A figure that work has written of itself, and fewer of them where they are too many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from node_agent.protocol.metric_bounds import NAME_CHARACTERS, STEP_MAX


class Point(NamedTuple):
    """`step` None: it said none. `at`: seconds since 1970; 0: it said nothing of that."""

    name: str
    step: int | None
    value: float
    at: float


def point_make(name: object, step: object, value: object, at: object) -> Point | None:
    """A point of what was written, or None where that is no name with a number, which may be no finite one."""
    number = _number(value)
    if not isinstance(name, str) or number is None:
        return None
    name = name.strip()
    if not 0 < len(name) <= NAME_CHARACTERS or not name.isprintable():
        return None
    count = _number(step)
    is_step = count is not None and 0 <= count <= STEP_MAX
    instant = _number(at)
    known_at = instant if instant is not None and 0 <= instant < 1e11 else 0.0
    return Point(name, int(count) if is_step and count is not None else None, number, known_at)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


class EvenPoints:
    """Points of one name as they come, of which at most twice as many are held as are wanted in the end."""

    def __init__(self, first: Point, most: int) -> None:
        self._most = most
        self._held, self._last = [first], first
        self._stride, self._count = 1, 1

    def add(self, point: Point) -> None:
        """Hold a point that was written after all that are held, or count it only."""
        if self._count % self._stride == 0:
            self._held.append(point)
        self._count += 1
        self._last = point
        if len(self._held) > 2 * self._most:
            self._held, self._stride = self._held[::2], self._stride * 2

    def taken(self, most: int) -> list[Point]:
        """At most so many of them, evenly, the first and the last among them."""
        is_held = self._held[-1] is self._last
        return thinned(self._held if is_held else [*self._held, self._last], most)


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many of them, evenly taken, the first and the last among them; `most` is 2 or more."""
    if len(points) <= most:
        return list(points)
    return [points[place * (len(points) - 1) // (most - 1)] for place in range(most)]
