"""Raise, acknowledge and resolve alarms; keep samples for a bounded time."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from apps.kernel.acts import Actor, act_subject
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.telemetry.events import AlarmAcknowledged, AlarmFired, AlarmResolved
from apps.telemetry.models import Alarm, Sample
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.states import ALARM, AlarmState

SAMPLES_KEPT = timedelta(days=7)


@service(recorded=False)
def alarm_raise(
    *,
    actor: Actor,
    key: str,
    level: str,
    msgid: str,
    params: Mapping[str, object] | None = None,
    source: str = "platform",
    subject_kind: str = "",
    subject_id: str = "",
) -> Alarm:
    """Fire the alarm of `key`, or count it once more while it is open (PLAT-OBS-6).

    `msgid` is its English sentence and `params` its figures: the reader's language is chosen at reading.
    """
    act_subject("alarm", key)
    now = timezone.now()
    if found := _again(key, now):
        return found
    try:
        with transaction.atomic():
            row = Alarm.objects.create(
                key=key,
                level=level,
                msgid=msgid,
                params=dict(params or {}),
                source=source,
                subject_kind=subject_kind,
                subject_id=subject_id,
                fired_at=now,
                raised_at=now,
            )
    except IntegrityError:
        # Somebody raised it at this moment: there is one for each key.
        return _again(key, now) or Alarm.objects.filter(key=key).latest("pk")
    emit(AlarmFired(str(row.uid), key, level), actor=actor)
    return row


def _again(key: str, now: datetime) -> Alarm | None:
    open_rows = Alarm.objects.filter(key=key).exclude(state=AlarmState.RESOLVED)
    open_rows.update(count=F("count") + 1, raised_at=now)
    return open_rows.first()


@service(P.MANAGE)
def alarm_acknowledge(*, actor: Actor, alarm: Alarm) -> Alarm:
    """Somebody looks after it; it stays open until its cause is gone."""
    act_subject("alarm", alarm.uid, key=alarm.key)
    ALARM.move(
        alarm,
        AlarmState.ACKNOWLEDGED,
        actor=actor,
        acknowledged_at=timezone.now(),
        acknowledged_by_id=actor.user_id,
    )
    emit(AlarmAcknowledged(str(alarm.uid), alarm.key), actor=actor)
    return alarm


@service(recorded=False)
def alarm_resolve(*, actor: Actor, key: str) -> None:
    """The cause of `key` is gone; nothing happens when no such alarm is open."""
    row = Alarm.objects.select_for_update().filter(key=key).exclude(state=AlarmState.RESOLVED).first()
    if row is None:
        return
    act_subject("alarm", row.uid, key=key)
    ALARM.move(row, AlarmState.RESOLVED, actor=actor, resolved_at=timezone.now())
    emit(AlarmResolved(str(row.uid), key), actor=actor)


@service(recorded=False)
def sample_put(*, actor: Actor, series: str, subject: str, at: datetime, value: float) -> None:
    """Keep one measured value; the same instant again changes nothing."""
    Sample.objects.bulk_create(
        [Sample(series=series, subject=subject, at=at, value=value)], ignore_conflicts=True
    )


@service(recorded=False)
def samples_prune(*, actor: Actor) -> int:
    """Forget samples older than SAMPLES_KEPT; how many."""
    return Sample.objects.filter(at__lt=timezone.now() - SAMPLES_KEPT).delete()[0]
