"""The rules held against what is measured now: alarms begin and end by themselves (POOL-12.19)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.telemetry.alarm_metrics import METRICS
from apps.telemetry.locks import turn_take
from apps.telemetry.models import Alarm, AlarmBreach, AlarmRule
from apps.telemetry.services.alarms import alarm_raise, alarms_end
from apps.telemetry.states import AlarmState
from apps.telemetry.thresholds import is_broken, is_settled
from apps.telemetry.types import Checked, Reading


@dataclass(slots=True)
class _Look:
    """One look at the pool: what was read, what is open, what is being broken."""

    taken_at: datetime
    readings: Mapping[str, Sequence[Reading]]
    open: dict[str, Alarm]
    ended: set[str]
    breaches: dict[tuple[int, str], AlarmBreach]


@service(recorded=False)
def rules_check(*, actor: Actor, readings: Iterable[Reading], taken_at: datetime) -> Checked:
    """Raise what has broken its rule long enough, end what keeps it again or is measured no more.

    One process at a time: a parallel twin does nothing. An alarm that began or ended since `taken_at` is left to
    the next look, which has seen why.
    """
    if turn_take("rules") is None:
        return Checked()
    rules = list(AlarmRule.objects.filter(is_enabled=True))
    look = _look(readings, taken_at)
    fired = sum(_rule_check(rule, look, actor) for rule in rules if not rule.is_event)
    return Checked(fired=fired, resolved=_over_end(rules, look, actor) + _quiet_end(actor))


def _look(readings: Iterable[Reading], taken_at: datetime) -> _Look:
    by_metric: dict[str, list[Reading]] = {}
    for reading in readings:
        by_metric.setdefault(reading.metric, []).append(reading)
    alarms = Alarm.objects.filter(rule__isnull=False).select_related("rule")
    ended = alarms.filter(resolved_at__gte=taken_at).values_list("key", flat=True)
    return _Look(
        taken_at=taken_at,
        readings=by_metric,
        open={row.key: row for row in alarms.exclude(state=AlarmState.RESOLVED)},
        ended=set(ended),
        breaches={(row.rule_id, row.subject): row for row in AlarmBreach.objects.all()},
    )


def _rule_check(rule: AlarmRule, look: _Look, actor: Actor) -> int:
    """Bring the rule's breaches up to date and raise those that lasted; how many alarms are new."""
    fired = 0
    broken: dict[str, AlarmBreach] = {}
    for reading in _of(rule, look):
        if not is_broken(rule.comparison, reading.value, rule.threshold):
            continue
        known = look.breaches.get((rule.pk, reading.subject))
        since = known.since_at if known else look.taken_at
        broken[reading.subject] = AlarmBreach(rule=rule, subject=reading.subject, since_at=since)
        key = alarm_key(rule.code, reading.subject)
        lasted = look.taken_at - since >= timedelta(seconds=rule.for_s)
        if lasted and key not in look.open and key not in look.ended:
            fired += _raise(rule, reading, key, actor)
    _breaches_keep(rule, broken, look)
    return fired


def _of(rule: AlarmRule, look: _Look) -> list[Reading]:
    found = look.readings.get(rule.metric, ())
    return [reading for reading in found if rule.subject in ("", reading.subject, reading.name)]


def _breaches_keep(rule: AlarmRule, broken: dict[str, AlarmBreach], look: _Look) -> None:
    """Keep since when each subject breaks the rule; most rules are kept most of the time, and cost nothing."""
    over = [row.pk for (pk, subject), row in look.breaches.items() if pk == rule.pk and subject not in broken]
    if over:
        AlarmBreach.objects.filter(pk__in=over).delete()
    new = [row for subject, row in broken.items() if (rule.pk, subject) not in look.breaches]
    AlarmBreach.objects.bulk_create(new, ignore_conflicts=True)


def alarm_key(code: str, subject: str) -> str:
    """What names the alarm of a rule about a subject."""
    return f"{code}:{subject}"


def _raise(rule: AlarmRule, reading: Reading, key: str, actor: Actor) -> bool:
    metric = METRICS[rule.metric]
    params = {"name": reading.name, "value": _figure(reading.value), "threshold": _figure(rule.threshold)}
    alarm = alarm_raise(
        actor=actor,
        key=key,
        level=rule.severity,
        msgid=metric.title,
        params=params | dict(reading.params),
        source="rules",
        subject_kind=metric.subject_kind,
        subject_id=reading.subject,
        rule=rule.code,
    )
    return alarm is not None


def _figure(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _over_end(rules: Sequence[AlarmRule], look: _Look, actor: Actor) -> int:
    """End the alarms whose subject is clear of the threshold again, or is measured no more."""
    watched = {rule.pk: rule for rule in rules if not rule.is_event}
    over = []
    for alarm in look.open.values():
        rule = watched.get(alarm.rule_id)
        if rule is None or alarm.fired_at >= look.taken_at:
            continue
        values = [found.value for found in _of(rule, look) if found.subject == alarm.subject_id]
        if not values or is_settled(rule.comparison, values[0], rule.threshold):
            over.append(alarm.pk)
    return alarms_end(Alarm.objects.filter(pk__in=over), actor=actor) if over else 0


def _quiet_end(actor: Actor) -> int:
    """End the alarms of what happens once it has not happened for their rule's time."""
    now = timezone.now()
    events = [metric.code for metric in METRICS.values() if metric.is_event]
    rows = Alarm.objects.exclude(state=AlarmState.RESOLVED)
    rows = rows.filter(rule__ends_after_s__isnull=False, rule__metric__in=events)
    over = [
        pk
        for pk, raised_at, quiet_s in rows.values_list("pk", "raised_at", "rule__ends_after_s")
        if now - raised_at >= timedelta(seconds=quiet_s)
    ]
    return alarms_end(Alarm.objects.filter(pk__in=over), actor=actor) if over else 0
