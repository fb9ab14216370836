"""When a figure breaks a rule and when it keeps it again: pure arithmetic."""

import math
import operator

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
