from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from apps.kernel.errors import NotFound
from apps.telemetry.models import Alarm, Sample


def alarm_list(*, state: str = "", level: str = "") -> QuerySet[Alarm]:
    """Alarms, newest first; `open` as state means all that are not resolved."""
    rows = Alarm.objects.select_related("acknowledged_by")
    if state == "open":
        rows = rows.exclude(state="resolved")
    elif state:
        rows = rows.filter(state=state)
    return rows.filter(level=level) if level else rows


def alarm_get(uid: UUID) -> Alarm:
    row = alarm_list().filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def series_get(*, series: str, subject: str, since: datetime) -> list[tuple[datetime, float]]:
    """A subject's measured values from `since` on, oldest first."""
    rows = Sample.objects.filter(series=series, subject=subject, at__gte=since).order_by("at")
    return list(rows.values_list("at", "value"))
