"""Reading alarms and samples."""

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput, NotFound
from apps.telemetry.models import Alarm, Sample
from apps.telemetry.states import AlarmLevel, AlarmState
from apps.telemetry.types import Point

POINTS_MAX = 2000


def alarm_list(*, state: str = "", level: str = "") -> QuerySet[Alarm]:
    """The alarms, newest first: all, of one state, or `open` for those not resolved; of one level if given."""
    if level and level not in AlarmLevel.values:
        raise InvalidInput(fields={"level": _("critical, major, minor or notice.")})
    rows = Alarm.objects.select_related("acknowledged_by").order_by("-created_at", "-pk")
    rows = rows.filter(level=level) if level else rows
    if state == "open":
        return rows.exclude(state=AlarmState.RESOLVED)
    if state and state not in AlarmState.values:
        raise InvalidInput(fields={"state": _("firing, acknowledged, resolved or open.")})
    return rows.filter(state=state) if state else rows


def alarm_get(uid: UUID | str) -> Alarm:
    found = alarm_list().filter(uid=uid).first()
    if found is None:
        raise NotFound(_("There is no such alarm."))
    return found


def series_get(*, series: str, subject: str, since: datetime, limit: int = POINTS_MAX) -> list[Point]:
    """A subject's series from an instant on, oldest first; the newest `limit` points."""
    rows = Sample.objects.filter(series=series, subject=subject, at__gte=since).order_by("-at")
    newest = rows.values_list("at", "value")[: min(limit, POINTS_MAX)]
    return [Point(at, value) for at, value in reversed(newest)]
