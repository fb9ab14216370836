"""What is said of an alarm outside the portal, in the language that is on."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.telemetry.models import Alarm

OVER = gettext_noop("It is over: %(alarm)s")


def lines_of(alarm: Alarm | None, *, is_over: bool) -> list[str]:
    """Lines of text; the first is a title. No alarm: a message that says it is a test."""
    if alarm is None:
        return [_("This is a test: alarms of this centre will be told here.")]
    rule = alarm.rule.code if alarm.rule else "–"
    title = _(OVER) % {"alarm": alarm.title} if is_over else alarm.title
    ended = [_("Over since: %(at)s") % {"at": _clock(alarm.resolved_at)}] if alarm.resolved_at else []
    return [
        f"{alarm.get_level_display()}: {title}",
        _("Since: %(since)s") % {"since": _clock(alarm.fired_at)},
        *ended,
        _("Rule: %(rule)s") % {"rule": rule},
        _("Subject: %(kind)s %(subject)s") % {"kind": alarm.subject_kind, "subject": alarm.subject_id},
        _("Number: %(uid)s") % {"uid": alarm.uid},
    ]


def _clock(at: datetime) -> str:
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S %z")
