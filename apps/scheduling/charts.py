"""What ECharts draws of a resource's measured use."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.models import UsageRecord


def use_option(records: Sequence[UsageRecord]) -> dict[str, Any]:
    """CPU cores kept busy and the memory peak, by interval; `records` in time's order."""
    times = [timezone.localtime(record.end_at).strftime("%H:%M:%S") for record in records]
    cores = [
        round(float(record.cpu_seconds) / record.seconds, 2) if record.seconds else 0 for record in records
    ]
    memory = [record.memory_peak_mib for record in records]
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
