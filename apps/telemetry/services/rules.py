"""When alarms are raised: rules made, edited, enabled and disabled by operators (POOL-12.19)."""

import math
import re
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.telemetry.alarm_metrics import METRICS
from apps.telemetry.events import RuleNarrowed, RulesChanged
from apps.telemetry.models import Alarm, AlarmBreach, AlarmRule
from apps.telemetry.permissions import AlarmPermission as P
from apps.telemetry.services.alarms import alarms_end
from apps.telemetry.states import AlarmLevel, AlarmState, Comparison

FOR_MAX_S = 86_400
EDITABLE = ("comparison", "threshold", "for_s", "severity", "subject", "ends_after_s", "is_enabled")
_CODE = re.compile(r"[a-z0-9][a-z0-9-]{0,47}")


@service(P.MANAGE)
def rule_make(
    *,
    actor: Actor,
    code: str,
    metric: str,
    threshold: float,
    comparison: str = Comparison.GE,
    for_s: int = 0,
    severity: str = AlarmLevel.MAJOR,
    subject: str = "",
    is_enabled: bool = True,
) -> AlarmRule:
    """Watch a metric from now on. InvalidInput names what is wrong; Conflict when the code is taken."""
    if not _CODE.fullmatch(code):
        raise InvalidInput(fields={"code": _("Lower-case letters, digits and hyphens, at most 48.")})
    if metric not in METRICS or METRICS[metric].is_event:
        known = ", ".join(name for name, found in METRICS.items() if not found.is_event)
        raise InvalidInput(fields={"metric": _("One of %(metrics)s.") % {"metrics": known}})
    row = AlarmRule(
        code=code,
        metric=metric,
        comparison=comparison,
        threshold=threshold,
        for_s=for_s,
        severity=severity,
        subject=subject,
        is_enabled=is_enabled,
    )
    _check(row)
    _subject_check(row, actor)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise Conflict(_("There is already a rule %(code)s.") % {"code": code}) from error
    _changed(row, actor)
    return row


@service(P.MANAGE)
def rule_edit(*, actor: Actor, code: str, changes: Mapping[str, Any]) -> AlarmRule:
    """Change what is named of a rule; it holds at once.

    A disabled rule is silent: its open alarms end. What lasted under the old figures counts anew under new ones.
    """
    row = AlarmRule.objects.select_for_update().filter(code=code).first()
    if row is None:
        raise NotFound(_("There is no such alarm rule."))
    unknown = set(changes) - set(EDITABLE)
    if unknown:
        raise InvalidInput(fields=dict.fromkeys(sorted(unknown), _("This cannot be changed.")))
    is_narrowed = changes.get("subject", row.subject) != row.subject
    for name, value in changes.items():
        setattr(row, name, value)
    _check(row)
    if is_narrowed:
        _subject_check(row, actor)
    row.save()
    AlarmBreach.objects.filter(rule=row).delete()
    if not row.is_enabled:
        alarms_end(Alarm.objects.filter(rule=row), actor=actor)
    elif "severity" in changes:
        Alarm.objects.filter(rule=row).exclude(state=AlarmState.RESOLVED).update(level=row.severity)
    _changed(row, actor, **changes)
    return row


@service(P.MANAGE)
def rule_delete(*, actor: Actor, code: str) -> None:
    """Take a rule away: its open alarms end, those that were stay without it.

    Raises:
        NotFound: there is no such rule.
        Conflict: it grades what happens, which is part of the product: disable it.
    """
    row = AlarmRule.objects.select_for_update().filter(code=code).first()
    if row is None:
        raise NotFound(_("There is no such alarm rule."))
    if row.is_event:
        raise Conflict(
            _("The rule %(code)s grades what happens and stays.") % {"code": code},
            cure=_("Disable it: it is silent then."),
        )
    alarms_end(Alarm.objects.filter(rule=row), actor=actor)
    Alarm.objects.filter(rule=row).update(rule=None)
    _changed(row, actor, metric=row.metric, threshold=row.threshold, subject=row.subject)
    row.delete()


def _subject_check(row: AlarmRule, actor: Actor) -> None:
    if row.subject:
        emit(RuleNarrowed(METRICS[row.metric].subject_kind, row.subject), actor=actor)


def _changed(row: AlarmRule, actor: Actor, **detail: object) -> None:
    act_subject("alarm_rule", row.code, **detail)
    emit(RulesChanged(code=row.code), actor=actor)


def _check(row: AlarmRule) -> None:
    wrong: dict[str, object] = {}
    if row.comparison not in Comparison.values:
        wrong["comparison"] = _("gt, ge, lt or le.")
    if row.severity not in AlarmLevel.values:
        wrong["severity"] = _("critical, major, minor or notice.")
    if not math.isfinite(row.threshold) or abs(row.threshold) > 1e12:
        wrong["threshold"] = _("A finite number.")
    if not 0 <= row.for_s <= FOR_MAX_S:
        wrong["for_s"] = _("0 to %(most)s seconds.") % {"most": FOR_MAX_S}
    if row.ends_after_s is not None and not 1 <= row.ends_after_s <= 30 * FOR_MAX_S:
        wrong["ends_after_s"] = _("1 to %(most)s seconds.") % {"most": 30 * FOR_MAX_S}
    if wrong:
        raise InvalidInput(fields=wrong)
