"""Lengths of time and amounts of memory as people read them."""

from datetime import datetime
from typing import Any

from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from apps.kernel.translatable import message, message_text

_GIB = 1024
_SPANS = (
    (86400, gettext_noop("d")),
    (3600, gettext_noop("h")),
    (60, gettext_noop("min")),
    (1, gettext_noop("s")),
)


def span_text(seconds: float) -> str:
    """A length of time in its two largest units."""
    return message_text(span_message(seconds))


def span_message(seconds: float) -> dict[str, Any]:
    """A length of time in seconds as a message in its two largest units, to be kept as a parameter of another."""
    left = int(seconds)
    parts = []
    for size, name in _SPANS:
        figure, left = divmod(left, size)
        if figure:
            parts.append((figure, name))
    said = parts[:2] or [(0, "s")]
    msgid = " ".join(f"{figure} %({name})s" for figure, name in said)
    return message(msgid, {name: message(name) for _figure, name in said})


def ago_text(at: datetime, now: datetime) -> str:
    """How long before `now` an instant was, or how long after it comes, in its largest unit; beyond a month, where a
    count of days says little, its date in the zone that is set."""
    seconds = round((now - at).total_seconds())
    left = abs(seconds)
    if left < 45:
        return _("just now")
    is_past = seconds > 0
    if left < 45 * 60:
        return _minutes(max(1, round(left / 60)), is_past=is_past)
    if left < 22 * 3600:
        return _hours(max(1, round(left / 3600)), is_past=is_past)
    if left < 30 * 86400:
        return _days(max(1, round(left / 86400)), is_past=is_past)
    return localtime(at).date().isoformat()


def _minutes(count: int, *, is_past: bool) -> str:
    said = (
        ngettext("%(count)s minute ago", "%(count)s minutes ago", count)
        if is_past
        else ngettext("in %(count)s minute", "in %(count)s minutes", count)
    )
    return said % {"count": count}


def _hours(count: int, *, is_past: bool) -> str:
    said = (
        ngettext("%(count)s hour ago", "%(count)s hours ago", count)
        if is_past
        else ngettext("in %(count)s hour", "in %(count)s hours", count)
    )
    return said % {"count": count}


def _days(count: int, *, is_past: bool) -> str:
    said = (
        ngettext("%(count)s day ago", "%(count)s days ago", count)
        if is_past
        else ngettext("in %(count)s day", "in %(count)s days", count)
    )
    return said % {"count": count}


def mib_text(mib: int) -> str:
    """Memory in whole GiB where it is whole, else in MiB."""
    return f"{mib // _GIB} GiB" if mib and mib % _GIB == 0 else f"{mib} MiB"


def cores_text(milli: int) -> str:
    """Thousandths of processor cores as cores: 1 core, 2.5 cores."""
    number = ngettext("%(count)s core", "%(count)s cores", 1 if milli == 1000 else 2)
    return number % {"count": f"{milli / 1000:g}"}
