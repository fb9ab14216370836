"""What ECharts draws on the operators' desk: plain options, their words in the reader's language."""

from collections.abc import Mapping
from typing import Any

from apps.telemetry.states import AlarmLevel

LEVEL_COLOURS = {"critical": "#d63939", "major": "#f76707", "minor": "#f59f00", "notice": "#4299e1"}


def alarm_option(days: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Bars of alarms by day, stacked by level, each level in its colour (PLAT-OBS-11, PLAT-OBS-13)."""
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "legend": {"bottom": 0},
        "grid": {"left": 8, "right": 16, "top": 16, "bottom": 32, "containLabel": True},
        "xAxis": {"type": "category", "data": list(days)},
        "yAxis": {"type": "value", "minInterval": 1},
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
