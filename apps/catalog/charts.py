"""What ECharts draws on the pages of prices: plain options, their words in the reader's language."""

from typing import Any

from django.utils.translation import gettext as _

from apps.catalog.models import CommodityComponent, PriceLine
from apps.catalog.selectors.price_versions import price_curve


def curve_option(line: PriceLine, part: CommodityComponent) -> dict[str, Any]:
    """The curve of a component's price over all that may be ordered, with a line where one of its tiers ends."""
    points = price_curve(line, part)
    last = points[-1][0]
    bounds = [float(upto) for upto, _price in line.tiers if upto is not None and float(upto) < last]
    series: dict[str, Any] = {
        "name": part.component.name,
        "type": "line",
        "showSymbol": False,
        "areaStyle": {"opacity": 0.15},
        "data": [[float(quantity), round(float(cost), 6)] for quantity, cost in points],
    }
    if bounds:
        series["markLine"] = {
            "silent": True,
            "symbol": "none",
            "lineStyle": {"type": "dashed"},
            "label": {"formatter": "{c}"},
            "data": [{"xAxis": bound} for bound in bounds],
        }
    return {
        "aria": {"enabled": True},
        "tooltip": {"trigger": "axis"},
        "grid": {"left": 8, "right": 24, "top": 32, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "value", "min": float(points[0][0]), "max": float(last)},
        "yAxis": {"type": "value", "name": _("CNY"), "min": 0},
        "series": [series],
    }
