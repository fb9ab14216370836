"""What ECharts draws of money: plain options, their words in the reader's language."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from apps.billing.types import CostRow
from apps.kernel.money import bill_round


def trend_option(days: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A line of CNY by day out of `[{day, exact}]`."""
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "grid": {"left": 8, "right": 16, "top": 24, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "category", "data": [day["day"].isoformat() for day in days]},
        "yAxis": {"type": "value", "name": "CNY"},
        "series": [
            {
                "name": _("Cost"),
                "type": "line" if len(days) > 1 else "bar",
                "areaStyle": {"opacity": 0.15},
                "barMaxWidth": 48,
                "data": [float(bill_round(day["exact"])) for day in days],
            }
        ],
    }


def bars_option(rows: Sequence[CostRow]) -> dict[str, Any]:
    """Bars of CNY, the highest on top."""
    is_zh = (get_language() or "").startswith("zh")
    names = [(row.label_zh if is_zh else row.label_en) or "–" for row in rows]
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "item"},
        "grid": {"left": 8, "right": 40, "top": 8, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "value", "name": "CNY"},
        "yAxis": {"type": "category", "inverse": True, "data": names},
        "series": [
            {"type": "bar", "barMaxWidth": 28, "data": [float(bill_round(row.exact)) for row in rows]}
        ],
    }
