"""When a figure breaks a rule and when it keeps it again: pure arithmetic."""

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

_HOLDS = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}
# An alarm ends only when the figure is back by this part of the threshold: one that swings about it rings once.
HYSTERESIS = 0.05


def is_broken(comparison: str, value: float, threshold: float) -> bool:
    """Whether `value` breaks a rule; a value that is no number breaks none."""
    return math.isfinite(value) and _HOLDS[comparison](value, threshold)


def is_settled(comparison: str, value: float, threshold: float) -> bool:
    """Whether an alarm on `value` may end: it is clear of the threshold, not merely below it."""
    if not math.isfinite(value):
        return True
    margin = abs(threshold) * HYSTERESIS
    line = threshold - margin if comparison in ("gt", "ge") else threshold + margin
    return not _HOLDS[comparison](value, line)


@dataclass(frozen=True, slots=True)
class Firing:
    """A time in which an alarm would have been open; `until` is None where it still were."""

    since: datetime
    until: datetime | None


def firings(
    points: Iterable[tuple[datetime, float]], *, comparison: str, threshold: float, for_s: float, gap_s: float
) -> list[Firing]:
    """When a rule would have fired on a subject whose figure was `points`, oldest first, as the rules are held against
    what is measured: broken for `for_s` seconds it fires, settled it ends. Where nothing was measured for longer than
    `gap_s` seconds it ends too, and what breaks it begins anew."""
    found: list[Firing] = []
    broken_since: datetime | None = None
    open_since: datetime | None = None
    last: datetime | None = None
    for at, value in points:
        if last is not None and (at - last).total_seconds() > gap_s:
            if open_since is not None:
                found.append(Firing(open_since, last))
            broken_since = open_since = None
        if is_broken(comparison, value, threshold):
            broken_since = broken_since or at
            if open_since is None and (at - broken_since).total_seconds() >= for_s:
                open_since = at
        else:
            broken_since = None
            if open_since is not None and is_settled(comparison, value, threshold):
                found.append(Firing(open_since, at))
                open_since = None
        last = at
    return found if open_since is None else [*found, Firing(open_since, None)]
