"""How the scheduling pages write reasons, spans of the week, and the figures of a what-if."""

from typing import Any

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.scheduling.models import Workload
from apps.scheduling.rights import Weekly
from apps.scheduling.selectors import workload_reason
from apps.scheduling.weekly import weekly_text

register = template.Library()
_FIGURES = {
    "wait_p50_s": gettext_noop("Half wait no longer than"),
    "wait_p95_s": gettext_noop("95 of 100 wait no longer than"),
    "wait_mean_s": gettext_noop("Mean wait"),
    "unstarted": gettext_noop("Had not started"),
    "use_percent": gettext_noop("Use of the pool"),
    "jain_permille": gettext_noop("Fairness among tenants (Jain, 1 is even)"),
    "money": gettext_noop("Earned within the time"),
    "preemptions": gettext_noop("Preempted (times)"),
    "lost_card_hours": gettext_noop("Lost by preemption (card hours)"),
}


@register.filter
def work_reason(row: Workload) -> str:
    """Why it waits or how it ended, in the reader's language."""
    return workload_reason(row)


@register.filter
def weekly(row: Weekly) -> str:
    """A span of the week: `Mon 08:00-18:00`."""
    return weekly_text([(row.weekday, row.from_minute, row.to_minute)])


@register.filter
def figure_name(name: str) -> str:
    return _(_FIGURES[name]) if name in _FIGURES else name


@register.filter
def figure_value(value: Any, name: str) -> str:
    """A figure with its unit."""
    if name.startswith("wait_"):
        minutes, seconds = divmod(int(value), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}"
    if name == "use_percent":
        return f"{value} %"
    if name == "jain_permille":
        return f"{value / 1000:.3f}"
    if name == "money":
        return f"¥{number_format(value, decimal_pos=2, force_grouping=True)}"
    return str(value)
