"""Reading alarms and what tells of them, samples and their hourly sums, and the log. All of it is the operators'."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Prefetch, Q, QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput, NotFound
from apps.telemetry.models import (
    Alarm,
    AlarmDelivery,
    AlarmRoute,
    AlarmRule,
    LogEntry,
    PastShare,
    Rollup,
    Sample,
)
from apps.telemetry.states import AlarmLevel, AlarmState, LogLevel
from apps.telemetry.types import Point

POINTS_MAX = 2000
LOG_COLUMNS = ("id", "at", "level", "component", "node", "task", "tenant", "priority", "text")
_CHUNK = 2000


# --- alarms ----------------------------------------------------------------------------------------------------


def alarm_list(
    *,
    state: str = "",
    level: str = "",
    rule: str = "",
    source: str = "",
    subject: str = "",
    search: str = "",
    from_at: datetime | None = None,
    to_at: datetime | None = None,
) -> QuerySet[Alarm]:
    """The alarms, newest first, by all conditions given (POOL-12.19).

    `state` is one state, or `open` for those not resolved; `subject` what it is about; the time is when it began.
    """
    if level and level not in AlarmLevel.values:
        raise InvalidInput(fields={"level": _("critical, major, minor or notice.")})
    rows = Alarm.objects.select_related("acknowledged_by", "rule").order_by("-created_at", "-pk")
    exact = {"level": level, "rule__code": rule, "source": source, "subject_id": subject}
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    rows = rows.filter(alarm_words(search)) if search else rows
    rows = rows.filter(fired_at__gte=from_at) if from_at else rows
    rows = rows.filter(fired_at__lt=to_at) if to_at else rows
    if state == "open":
        return rows.exclude(state=AlarmState.RESOLVED)
    if state and state not in AlarmState.values:
        raise InvalidInput(fields={"state": _("firing, acknowledged, resolved or open.")})
    return rows.filter(state=state) if state else rows


def alarm_words(search: str) -> Q:
    """Alarms in which each word of `search` stands: in the sentence as the reader's language has it, in what it
    names, or in what it is about."""
    msgids = Alarm.objects.order_by().values_list("msgid", flat=True).distinct()
    sentences = {msgid: gettext(msgid).casefold() for msgid in msgids if msgid}
    found = Q()
    for word in search.split():
        said = [msgid for msgid, text in sentences.items() if word.casefold() in text]
        named = Q(key__icontains=word) | Q(subject_id__icontains=word) | Q(params__icontains=word)
        found &= Q(msgid__in=said) | named
    return found


def alarm_get(uid: UUID | str) -> Alarm:
    """One alarm with its rule and whom it was told."""
    told = Prefetch("deliveries", AlarmDelivery.objects.select_related("route").order_by("pk"))
    found = alarm_list().prefetch_related(told).filter(uid=uid).first()
    if found is None:
        raise NotFound(_("There is no such alarm."))
    return found


def rule_list() -> QuerySet[AlarmRule]:
    """All rules, in the order of their metric."""
    return AlarmRule.objects.order_by("metric", "threshold", "code")


def rule_get(code: str) -> AlarmRule:
    found = AlarmRule.objects.filter(code=code).first()
    if found is None:
        raise NotFound(_("There is no such alarm rule."))
    return found


def route_list() -> QuerySet[AlarmRoute]:
    """The routes that were not removed."""
    return AlarmRoute.objects.filter(removed_at=None)


def route_get(uid: UUID | str) -> AlarmRoute:
    found = route_list().filter(uid=uid).first()
    if found is None:
        raise NotFound(_("There is no such alarm route."))
    return found


def delivery_list(*, alarm: UUID | str | None = None, state: str = "") -> QuerySet[AlarmDelivery]:
    """Who was told of which alarm, newest first; of one alarm, in one state, if given."""
    rows = AlarmDelivery.objects.select_related("alarm", "route").order_by("-created_at", "-pk")
    rows = rows.filter(alarm__uid=alarm) if alarm else rows
    return rows.filter(state=state) if state else rows


# --- measured --------------------------------------------------------------------------------------------------


def series_get(*, series: str, subject: str, since: datetime, limit: int = POINTS_MAX) -> list[Point]:
    """A subject's series from an instant on, oldest first; the newest `limit` points."""
    rows = Sample.objects.filter(series=series, subject=subject, at__gte=since).order_by("-at")
    newest = rows.values_list("at", "value")[: min(limit, POINTS_MAX)]
    return [Point(at, value) for at, value in reversed(newest)]


def sample_list(*, series: str, subjects: Sequence[str], since: datetime) -> QuerySet[Sample]:
    """What was measured of some subjects' series from an instant on."""
    return Sample.objects.filter(series=series, subject__in=subjects, at__gte=since)


def rollup_list(*, series: str, kind: str, from_at: datetime, to_at: datetime) -> QuerySet[Rollup]:
    """The hourly sums of a series whose hour begins in [from_at, to_at), the hour of `from_at` with it."""
    first = from_at.replace(minute=0, second=0, microsecond=0)
    return Rollup.objects.filter(series=series, kind=kind, hour__gte=first, hour__lt=to_at)


def past_share_list(*, since: datetime) -> QuerySet[PastShare]:
    """What shares held before they were resized, of those that were resized after an instant."""
    return PastShare.objects.filter(until_at__gt=since)


# --- the log ---------------------------------------------------------------------------------------------------


def log_list(
    *,
    level: str = "",
    component: str = "",
    node: str = "",
    task: str = "",
    tenant: str = "",
    priority: int | None = None,
    search: str = "",
    from_at: datetime | None = None,
    to_at: datetime | None = None,
) -> QuerySet[LogEntry]:
    """The log, newest first, by all conditions given (POOL-12.18).

    `level` is how grave, one or several with commas between; `priority` is that of the task a line is about. The
    time is [from_at, to_at).
    """
    levels = [word for word in level.split(",") if word]
    if set(levels) - set(LogLevel.values):
        raise InvalidInput(fields={"level": _("debug, info, warning, error or critical.")})
    rows = LogEntry.objects.order_by("-at", "-pk")
    rows = rows.filter(level__in=levels) if levels else rows
    exact = {"component": component, "node": node, "task": task, "tenant": tenant}
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    rows = rows if priority is None else rows.filter(priority=priority)
    rows = rows.filter(text__icontains=search) if search else rows
    rows = rows.filter(at__gte=from_at) if from_at else rows
    return rows.filter(at__lt=to_at) if to_at else rows


def log_get(pk: int) -> LogEntry:
    found = LogEntry.objects.filter(pk=pk).first()
    if found is None:
        raise NotFound(_("There is no such log entry."))
    return found


def log_rows(rows: QuerySet[LogEntry]) -> Iterator[dict[str, object]]:
    """Exactly `rows`, one after another, as they are exported."""
    for values in rows.values_list(*LOG_COLUMNS).iterator(chunk_size=_CHUNK):
        row = dict(zip(LOG_COLUMNS, values, strict=True))
        yield row | {"at": row["at"].isoformat()}


def log_components() -> list[str]:
    """Who has written to the log."""
    rows = LogEntry.objects.exclude(component="").order_by("component")
    return list(rows.values_list("component", flat=True).distinct())
