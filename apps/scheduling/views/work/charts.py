"""What ECharts draws: a resource's measured use, how start estimates came true, what would have been."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from apps.billing.models import UsageRecord
from apps.scheduling.selectors.timeline import Calibration

TARGET_PERCENT = 90
_UNITS = ((4 * 3600, 3600, gettext_noop("h")), (240, 60, gettext_noop("min")), (0, 1, gettext_noop("s")))
"""From so many seconds on waits are drawn in units of so many."""
_FRAME: dict[str, Any] = {
    "aria": {"enabled": True},
    "legend": {"top": 0},
    "grid": {"left": 8, "right": 16, "top": 40, "bottom": 24, "containLabel": True},
}


def use_option(records: Sequence[UsageRecord]) -> dict[str, Any]:
    """CPU cores kept busy and the memory peak of all its slices together, by interval; `records` in time's order."""
    # Nodes begin their intervals when they like: what ends within one interval belongs together.
    step = max((record.seconds for record in records), default=0) or 1
    points: dict[int, dict[UUID, list[UsageRecord]]] = {}
    for record in records:
        at = int(record.end_at.timestamp()) // step
        points.setdefault(at, {}).setdefault(record.slice_uid, []).append(record)
    times = [
        _clock(max(each.end_at for rows in of_slice.values() for each in rows))
        for of_slice in points.values()
    ]
    cores = [round(sum(map(_cores, of_slice.values())), 2) for of_slice in points.values()]
    memory = [
        sum(max(each.memory_peak_mib for each in rows) for rows in of_slice.values())
        for of_slice in points.values()
    ]
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0},
        "grid": {"left": 8, "right": 8, "top": 40, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "category", "data": times},
        "yAxis": [
            {"type": "value", "name": _("cores")},
            {"type": "value", "name": "MiB", "splitLine": {"show": False}},
        ],
        "series": [
            {"name": _("CPU in use"), "type": "line", "showSymbol": len(cores) < 2, "data": cores},
            {
                "name": _("Memory peak"),
                "type": "line",
                "yAxisIndex": 1,
                "showSymbol": len(cores) < 2,
                "data": memory,
            },
        ],
    }


def metric_option(lines: Sequence[tuple[str, Sequence[int], Sequence[float]]]) -> dict[str, Any]:
    """One metric: a line for each of whom it is, over its steps."""
    return {
        "aria": {"enabled": True},
        # It is drawn anew as it grows.
        "animation": False,
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0, "type": "scroll", "show": len(lines) > 1},
        "grid": {
            "left": 8,
            "right": 24,
            "top": 40 if len(lines) > 1 else 16,
            "bottom": 8,
            "containLabel": True,
        },
        "xAxis": {
            "type": "value",
            "name": pgettext("of a metric", "step"),
            "nameGap": 4,
            "min": "dataMin",
            "max": "dataMax",
        },
        "yAxis": {"type": "value", "scale": True},
        "series": [
            {
                "name": label,
                "type": "line",
                "showSymbol": len(steps) < 2,
                "data": [list(point) for point in zip(steps, values, strict=True)],
            }
            for label, steps, values in lines
        ],
    }


def _clock(at: datetime) -> str:
    return timezone.localtime(at).strftime("%H:%M:%S")


def _cores(of_slice: Sequence[UsageRecord]) -> float:
    seconds = sum(each.seconds for each in of_slice)
    return float(sum(each.cpu_seconds for each in of_slice)) / seconds if seconds else 0


def calibration_options(found: Calibration) -> dict[str, Any]:
    """Estimated against real waits as points on and off a diagonal; and day by day the share inside the interval."""
    # On a scale of tens seconds and hours can both be told apart; it has no place for nothing at all.
    waits = [(max(1, estimated), max(1, real), is_kept) for estimated, real, is_kept in found.points]
    kept = [(estimated, real) for estimated, real, is_kept in waits if is_kept]
    missed = [(estimated, real) for estimated, real, is_kept in waits if not is_kept]
    most = max((max(estimated, real) for estimated, real, _kept in waits), default=10)
    points = {
        **_FRAME,
        "tooltip": {"trigger": "item"},
        "xAxis": {"type": "log", "name": _("estimated wait (s)"), "nameLocation": "middle", "nameGap": 28},
        "yAxis": {"type": "log", "name": _("real wait (s)")},
        "series": [
            {"name": _("inside"), "type": "scatter", "symbolSize": 7, "data": kept},
            {"name": _("outside"), "type": "scatter", "symbolSize": 7, "data": missed},
            {"name": _("as estimated"), "type": "line", "showSymbol": False, "data": [[1, 1], [most, most]]},
        ],
    }
    days = {
        **_FRAME,
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "category", "data": [day for day, _count, _inside in found.days]},
        "yAxis": {"type": "value", "name": "%", "min": 0, "max": 100},
        "series": [
            {
                "name": _("inside the interval"),
                "type": "bar",
                "barMaxWidth": 40,
                "data": [inside for _day, _count, inside in found.days],
                "markLine": {
                    "symbol": "none",
                    "label": {"formatter": "90 %", "position": "insideEndTop"},
                    "data": [{"yAxis": TARGET_PERCENT}],
                },
            }
        ],
    }
    return {"points": points, "days": days}


def what_if_options(result: dict[str, Any]) -> dict[str, Any]:
    """Waits by percentile, and the pool's use over time, before and after."""
    words = {"before": _("as it was"), "after": _("as it would be")}
    longest = max(seconds for name in words for _percent, seconds in result["waits"][name])
    unit_s, unit = next((unit_s, name) for least_s, unit_s, name in _UNITS if longest >= least_s)
    shift_s = _zone_offset_s()
    waits = {
        **_FRAME,
        "tooltip": {"trigger": "axis"},
        "xAxis": {
            "type": "category",
            "name": _("of a hundred"),
            "nameLocation": "middle",
            "nameGap": 28,
            "data": [str(percent) for percent, _s in result["waits"]["before"]],
        },
        "yAxis": {"type": "value", "name": _("wait (%(unit)s)") % {"unit": _(unit)}},
        "series": [
            {
                "name": word,
                "type": "line",
                "showSymbol": False,
                "data": [round(seconds / unit_s, 2) for _percent, seconds in result["waits"][name]],
            }
            for name, word in words.items()
        ],
    }
    use = {
        **_FRAME,
        "useUTC": True,
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "time", "axisLabel": {"hideOverlap": True}},
        "yAxis": {"type": "value", "name": "%", "min": 0, "max": 100},
        "series": [
            {
                "name": word,
                "type": "line",
                "step": "end",
                "showSymbol": False,
                "data": [[(at + shift_s) * 1000, percent] for at, percent in result["use"][name]],
            }
            for name, word in words.items()
        ],
    }
    return {"waits": waits, "use": use}


def _zone_offset_s() -> int:
    """The reader's zone against UTC: the chart has no zones, and its times are to be those of the page."""
    offset = timezone.localtime().utcoffset()
    return int(offset.total_seconds()) if offset else 0
