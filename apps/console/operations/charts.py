"""What ECharts draws on the operator pages: plain options, their words in the reader's language."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.console.operations.capacity import Outlook
from apps.telemetry.states import AlarmLevel

LEVEL_COLOURS = {"critical": "#d63939", "major": "#f76707", "minor": "#f59f00", "notice": "#4299e1"}


def alarm_option(days: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Bars of alarms by day, stacked by level, each level in its colour (PLAT-OBS-11, PLAT-OBS-13)."""
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "legend": {"bottom": 0},
        "grid": {"left": 8, "right": 16, "top": 32, "bottom": 32, "containLabel": True},
        "xAxis": {"type": "category", "data": list(days)},
        "yAxis": {"type": "value", "minInterval": 1, "name": _("Alarms")},
        "series": [
            {
                "name": str(label),
                "type": "bar",
                "stack": "alarms",
                "barMaxWidth": 32,
                "itemStyle": {"color": LEVEL_COLOURS[code]},
                "data": [counts.get(code, 0) for counts in days.values()],
            }
            for code, label in AlarmLevel.choices
        ],
    }


def outlook_option(pool: Outlook) -> dict[str, Any] | None:
    """Demand and capacity by day, then what is expected with its band; None where nothing is known."""
    ahead = pool.trend.days if pool.trend else ()
    days = sorted(pool.demand.keys() | pool.capacity.keys())
    if not days:
        return None
    names = [day.isoformat() for day in [*days, *(each.day for each in ahead)]]
    past, blank = [None] * len(ahead), [None] * len(days)

    def line(name: str, data: list[float | None], **more: Any) -> dict[str, Any]:
        shown = [None if value is None else round(value / _DEVICE_PERCENT, 2) for value in data]
        return {"name": name, "type": "line", "showSymbol": False, "data": shown} | more

    quiet = {"lineStyle": {"opacity": 0}, "stack": "band", "tooltip": {"show": False}, "silent": True}
    series = [
        line(_("Demand"), [pool.demand.get(day) for day in days] + past, color="#206bc4"),
        line(_("Capacity"), [pool.capacity.get(day) for day in days] + [pool.capacity_now] * len(ahead),
             step="end", color="#2fb344"),
    ]  # fmt: skip
    if ahead:
        dashed = {"lineStyle": {"type": "dashed"}, "color": "#206bc4"}
        series += [
            line(_("Forecast"), [*blank, *(each.mid for each in ahead)], **dashed),
            line(_("At least"), [*blank, *(each.low for each in ahead)], **quiet),
            line(_("Nine of ten"), [*blank, *(each.high - each.low for each in ahead)], **quiet, color="#206bc4",
                 areaStyle={"opacity": 0.15}),
        ]  # fmt: skip
    option = _option(names, series)
    shown = [each["name"] for each in series if each["name"] != _("At least")]
    option["legend"]["data"] = shown
    option["yAxis"]["name"] = _("devices")
    return option


_POINTS_MOST = 400


def threshold_option(
    points: Sequence[tuple[datetime, float]], *, name: str, threshold: float, is_above: bool, unit: str
) -> dict[str, Any]:
    """A figure over time with the threshold of a rule as a line. Of many points the worst of each stretch is drawn, so
    that what breaks the rule is never left out."""
    every = max(1, -(-len(points) // _POINTS_MOST))
    worst = max if is_above else min
    drawn = [
        worst(points[start : start + every], key=lambda point: point[1])
        for start in range(0, len(points), every)
    ]
    option = _option([timezone.localtime(at).strftime("%m-%d %H:%M") for at, _value in drawn], [])
    option["yAxis"] |= {"name": unit, "scale": True}
    line = {
        "name": name,
        "type": "line",
        "showSymbol": len(drawn) == 1,
        "data": [round(value, 2) for _at, value in drawn],
        "markLine": {
            "silent": True,
            "symbol": "none",
            "lineStyle": {"type": "dashed", "color": LEVEL_COLOURS["critical"], "width": 2},
            "label": {"formatter": "{c}", "position": "insideEndTop"},
            "data": [{"yAxis": threshold}],
        },
    }
    # The line is on the chart also where no figure comes near it.
    values = [*(value for _at, value in drawn), threshold]
    option["yAxis"] |= {"min": min(values), "max": max(values)}
    return option | {"series": [line], "legend": {"show": False}}


_NAMES_MAX = 12
_DEVICE_HOURS = 100.0
_DEVICE_PERCENT = 100.0


def line_option(points: Sequence[tuple[str, float]], unit: str) -> dict[str, Any] | None:
    """A line over time; None where there is nothing to draw."""
    if not points:
        return None
    option = _option([label for label, _value in points], [])
    option["yAxis"]["name"] = unit
    values = [round(value, 2) for _label, value in points]
    line = {"type": "line", "showSymbol": False, "areaStyle": {"opacity": 0.15}, "data": values}
    return option | {"series": [line], "legend": {"show": False}}


_RANKED_MOST = 8


def use_option(
    names: Sequence[str], had: Sequence[float], held: Sequence[float], used: Sequence[float]
) -> dict[str, Any]:
    """Device hours by stretch of time: what was there as a line, what was held and used of it as bars."""

    def points(values: Sequence[float]) -> list[float]:
        return [round(value, 2) for value in values]

    line = {
        "name": _("Had"),
        "type": "line",
        "step": "middle",
        "showSymbol": len(names) == 1,
        "data": points(had),
    }
    line |= {"lineStyle": {"type": "dashed"}}
    bars = [
        {"name": name, "type": "bar", "barMaxWidth": 32, "data": points(values)}
        for name, values in ((_("Held"), held), (_("Used"), used))
    ]
    return _option(names, [*bars, line])


def amounts_option(points: Sequence[tuple[str, float]], unit: str) -> dict[str, Any]:
    """Bars of an amount by stretch of time."""
    bars = {"type": "bar", "name": unit, "barMaxWidth": 32, "data": [amount for _name, amount in points]}
    option = _option([name for name, _amount in points], [bars])
    return option | {"legend": {"show": False}, "grid": option["grid"] | {"bottom": 8}}


def ranked_option(rows: Sequence[tuple[str, float]], *, is_whole: bool = False) -> dict[str, Any]:
    """Bars beside their names, the longest on top; beyond eight the rest is one bar."""
    shown = list(rows[:_RANKED_MOST])
    if rest := rows[_RANKED_MOST:]:
        shown.append((_("All others"), sum(value for _name, value in rest)))
    values = [value if is_whole else round(value, 2) for _name, value in shown]
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "item"},
        "grid": {"left": 8, "right": 48, "top": 8, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "value", "minInterval": 1 if is_whole else 0, "splitNumber": 3},
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": [name for name, _value in shown],
            "axisLabel": {"width": 150, "overflow": "break", "interval": 0},
        },
        "series": [
            {"type": "bar", "barMaxWidth": 24, "data": values, "label": {"show": True, "position": "right"}}
        ],
    }


def report_option(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """What shows a report at a glance; None where it holds no row."""
    return _DRAWN[report["report"]](report["sections"])


def _resources(sections: Mapping[str, Any]) -> dict[str, Any] | None:
    wanted = (
        ("capacity_percent_hours", _("Capacity")),
        ("held_percent_hours", _("Held")),
        ("delivered_percent_hours", _("Delivered")),
    )
    return _bars(sections["nodes"], wanted, unit=_("device hours"), scale=_DEVICE_HOURS)


def _tasks(sections: Mapping[str, Any]) -> dict[str, Any] | None:
    wanted = (("submitted", _("Submitted")), ("started", _("Started")), ("ended", _("Ended")))
    return _bars(sections["days"], wanted)


def _operations(sections: Mapping[str, Any]) -> dict[str, Any] | None:
    return _bars(sections["days"], (("alarms", _("Alarms")),))


def _energy(sections: Mapping[str, Any]) -> dict[str, Any] | None:
    wanted = (("measured_kwh", _("Measured")), ("modelled_kwh", _("Modelled")))
    return _bars(sections["days"], wanted, unit="kWh", is_stacked=True)


_DRAWN: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {
    "resources": _resources,
    "tasks": _tasks,
    "operations": _operations,
    "energy": _energy,
}


def _bars(
    rows: Sequence[Mapping[str, Any]],
    figures: Sequence[tuple[str, str]],
    *,
    unit: str = "",
    scale: float = 1.0,
    is_stacked: bool = False,
) -> dict[str, Any] | None:
    """Bars of some figures beside each other, or on top of each other, for each row."""
    if not rows:
        return None
    shown = rows[-_NAMES_MAX:] if len(rows) > _NAMES_MAX else rows
    series = [
        {
            "name": label,
            "type": "bar",
            "barMaxWidth": 32,
            **({"stack": "all"} if is_stacked else {}),
            "data": [round((row[code] or 0) / scale, 6) for row in shown],
        }
        for code, label in figures
    ]
    option = _option([row["name"] for row in shown], series)
    option["yAxis"]["name"] = unit
    return option


def _option(names: Sequence[str], series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "legend": {"bottom": 0},
        "grid": {"left": 8, "right": 16, "top": 32, "bottom": 36, "containLabel": True},
        "xAxis": {"type": "category", "data": list(names)},
        "yAxis": {"type": "value"},
        "series": list(series),
    }
