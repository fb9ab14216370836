"""How the scheduling pages write reasons, spans of the week, and the figures of a what-if."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.scheduling.addresses import work_page
from apps.scheduling.models import Workload
from apps.scheduling.models.entitlements import Weekly
from apps.scheduling.queue_config.time_windows import weekly_text
from apps.scheduling.selectors.workloads import workload_reason

register = template.Library()
register.filter("work_page", work_page)
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
    "lost_money": gettext_noop("Lost by preemption, made good"),
    "resizes": gettext_noop("Elastic work resized (times)"),
    "moves": gettext_noop("Sessions moved (times)"),
}


@register.filter
def work_reason(row: Workload) -> str:
    """Why it waits or how it ended, in the reader's language."""
    return workload_reason(row)


@register.filter
def command_text(row: Workload) -> str:
    """The command that it runs, as one would type it; empty for a session."""
    return shlex.join(str(part) for part in row.work.get("argv") or ())


@register.filter
def waited(since: datetime) -> int:
    """Seconds from an instant until now."""
    return max(0, int((timezone.now() - since).total_seconds()))


@register.filter
def lasted(begin: datetime, end: datetime) -> int:
    """Seconds from one instant to another."""
    return max(0, int((end - begin).total_seconds()))


@register.filter
def size(figure: int) -> int:
    """A figure without its sign."""
    return abs(figure)


@register.filter
def device_called(uid: str, names: Mapping[str, str]) -> str:
    """A device by node and index where it is known, else by its number."""
    return names.get(uid, uid)


@register.filter
def weekly(row: Weekly) -> str:
    """A span of the week: `Mon 08:00-18:00`."""
    return weekly_text([(row.weekday, row.from_minute, row.to_minute)])


@register.filter
def figure_name(name: str) -> str:
    return _(_FIGURES[name]) if name in _FIGURES else name


_BETTER_MORE = ("use_percent", "jain_permille", "money")
_NEUTRAL = ("resizes", "moves")


@register.filter
def figure_turn(figure: Mapping[str, Any]) -> str:
    """Whether a figure would be "better" or "worse"; "" where it stays."""
    more = figure["after"] - figure["before"]
    if not more or figure["name"] in _NEUTRAL:
        return ""
    return "better" if (more > 0) == (figure["name"] in _BETTER_MORE) else "worse"


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
    if name in ("money", "lost_money"):
        return f"¥{number_format(value, decimal_pos=2, force_grouping=True)}"
    return str(value)
