"""Raising and settling alarms."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.kernel.translatable import is_message
from apps.telemetry.events import AlarmAcknowledged, AlarmFired, AlarmResolved
from apps.telemetry.models import Alarm, AlarmRule
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.services.deliveries import deliveries_make, deliveries_make_over
from apps.telemetry.states import ALARM, AlarmLevel, AlarmState


@service(recorded=False)
def alarm_raise(
    *,
    actor: Actor,
    key: str,
    level: str,
    msgid: str,
    params: Mapping[str, object] | None = None,
    source: str = "",
    subject_kind: str = "",
    subject_id: str = "",
    rule: str = "",
) -> Alarm | None:
    """Raise an alarm. While one with this `key` is open it is the same alarm, raised once more and told no more.

    `msgid` is the English source of its title with %(name)s places for `params`, marked with `gettext_noop`.
    `rule` is the code of its rule: its severity is the alarm's, and while it is disabled nothing is raised.
    """
    if level not in AlarmLevel.values or not key:
        raise InvalidInput(_("An alarm needs a key and a known level."))
    by = AlarmRule.objects.filter(code=rule).first() if rule else None
    if by is not None and not by.is_enabled:
        return None
    level = by.severity if by else level
    now = timezone.now()
    title: dict[str, object] = {"level": level, "msgid": msgid, "params": _plain(params or {}), "rule": by}
    known = _raise_again(key, title, now)
    if known is not None:
        return known
    try:
        with transaction.atomic():
            alarm = Alarm.objects.create(
                key=key,
                source=source,
                subject_kind=subject_kind,
                subject_id=subject_id,
                fired_at=now,
                raised_at=now,
                **title,
            )
    except IntegrityError:
        # Somebody raised it at the same time: theirs is the alarm.
        return _raise_again(key, title, now) or Alarm.objects.filter(key=key).latest("created_at")
    act_subject("alarm", alarm.uid, key=key)
    deliveries_make(alarm)
    emit(AlarmFired(alarm_uid=str(alarm.uid), key=key, level=level), actor=actor)
    return alarm


def _raise_again(key: str, title: dict[str, object], now: datetime) -> Alarm | None:
    rows = Alarm.objects.filter(key=key).exclude(state=AlarmState.RESOLVED)
    if not rows.update(count=F("count") + 1, raised_at=now, updated_at=now, **title):
        return None
    return rows.first()


def _plain(params: Mapping[str, object]) -> dict[str, object]:
    return {
        name: value
        if is_message(value) or isinstance(value, (str, int, float, bool, type(None)))
        else str(value)
        for name, value in params.items()
    }


@service(P.ACKNOWLEDGE)
def alarm_acknowledge(*, actor: Actor, alarm_uid: UUID | str) -> Alarm:
    """Say that somebody looks after it. It stays open until its cause is gone."""
    alarm = Alarm.objects.select_for_update(no_key=True).filter(uid=alarm_uid).first()
    if alarm is None:
        raise NotFound(_("There is no such alarm."))
    act_subject("alarm", alarm.uid, key=alarm.key)
    if alarm.state == AlarmState.ACKNOWLEDGED:
        raise Conflict(_("The alarm is already acknowledged."))
    now = timezone.now()
    ALARM.move(
        alarm, AlarmState.ACKNOWLEDGED, actor=actor, acknowledged_at=now, acknowledged_by_id=actor.user_id
    )
    emit(AlarmAcknowledged(alarm_uid=str(alarm.uid), key=alarm.key), actor=actor)
    return alarm


@service(recorded=False)
def alarm_resolve(*, actor: Actor, key: str) -> bool:
    """The cause is gone; whether an alarm of that key was open."""
    return alarms_end(Alarm.objects.filter(key=key), actor=actor) > 0


def alarms_end(rows: QuerySet[Alarm], *, actor: Actor) -> int:
    """Resolve the open ones of `rows` and have it told; how many there were. Internal to the app's services."""
    now, count = timezone.now(), 0
    for alarm in rows.exclude(state=AlarmState.RESOLVED).select_for_update(no_key=True).order_by("pk"):
        ALARM.move(alarm, AlarmState.RESOLVED, actor=actor, resolved_at=now)
        deliveries_make_over(alarm)
        emit(AlarmResolved(alarm_uid=str(alarm.uid), key=alarm.key), actor=actor)
        count += 1
    return count
