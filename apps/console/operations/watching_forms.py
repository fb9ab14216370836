"""The input of the operators' watching pages: filters of the log and the reports, rules and routes of alarms."""

import math
import re
from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.console.reports.table import REPORTS
from apps.identity.models import OperatorRole
from apps.kernel.forms import SoundForm
from apps.kernel.unit_fields import SECONDS, UnitField
from apps.telemetry.alarm_metrics import METRIC_CHOICES, METRICS
from apps.telemetry.services.webhooks import ADDRESS_LENGTH, SECRET_LENGTH
from apps.telemetry.states import AlarmLevel, Channel, Comparison, HookKind, LogLevel

# The page of questions, beside the reports.
QUESTIONS = "questions"
SPANS = [("1", _("Last 24 hours")), ("7", _("7 days")), ("30", _("30 days")), ("own", _("Other"))]


class LogsForm(SoundForm):
    """How grave, whose, of which task and priority, when, and what it says: each alone and all together."""

    level = forms.ChoiceField(
        label=_("Severity"), choices=[("", _("Every severity")), *LogLevel.choices], required=False
    )
    priority = forms.IntegerField(
        label=_("Task priority"), required=False, min_value=-(2**31), max_value=2**31 - 1
    )
    component = forms.CharField(label=_("Component"), max_length=64, required=False)
    node = forms.CharField(label=_("Node"), max_length=200, required=False)
    task = forms.CharField(label=_("Task"), max_length=64, required=False)
    tenant = forms.CharField(label=_("Tenant"), max_length=63, required=False)
    search = forms.CharField(label=_("Keyword"), max_length=200, required=False)
    from_at = forms.DateTimeField(label=_("From"), required=False)
    to_at = forms.DateTimeField(label=_("Until"), required=False)


class StatisticsForm(SoundForm):
    """Which report, over which time."""

    report = forms.ChoiceField(choices=[(name, name) for name in (QUESTIONS, *REPORTS)], required=False)
    span = forms.ChoiceField(choices=SPANS, required=False)
    from_at = forms.DateTimeField(label=_("From"), required=False)
    to_at = forms.DateTimeField(label=_("Until"), required=False)

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        found["report"] = found.get("report") or QUESTIONS
        found["span"] = found.get("span") or "7"
        if found["span"] != "own":
            found["to_at"] = timezone.now()
            found["from_at"] = found["to_at"] - timedelta(days=int(found["span"]))
        return found


class RuleEditForm(SoundForm):
    comparison = forms.ChoiceField(label=_("Comparison"), choices=Comparison.choices, required=False)
    threshold = forms.FloatField(label=_("Threshold"), required=False)
    for_s = UnitField(SECONDS, most=86400, label=_("Lasts for"), required=False)
    severity = forms.ChoiceField(label=_("Severity"), choices=AlarmLevel.choices)
    subject = forms.CharField(label=_("Only this subject"), max_length=128, required=False)
    ends_after_s = UnitField(
        SECONDS, least=1, most=366 * 86400, label=_("Ends after a quiet time of"), required=False
    )

    def changes(self, given: dict[str, Any], *, is_event: bool) -> dict[str, Any]:
        """What the form changes of a rule: a rule of what happens has no figure."""
        if is_event:
            return {"severity": given["severity"], "ends_after_s": given["ends_after_s"]}
        names = ("comparison", "threshold", "for_s", "severity", "subject")
        return {name: given[name] for name in names if given[name] is not None}


class RuleForm(RuleEditForm):
    code = forms.CharField(label=_("Code"), max_length=48)
    metric = forms.ChoiceField(
        label=_("Metric"), choices=[row for row in METRIC_CHOICES if not METRICS[row[0]].is_event]
    )
    threshold = forms.FloatField(label=_("Threshold"))


class RulePreviewForm(SoundForm):
    """A rule as its form has it, and how far to look back."""

    metric = forms.ChoiceField(label=_("Metric"), choices=METRIC_CHOICES)
    comparison = forms.ChoiceField(label=_("Comparison"), choices=Comparison.choices)
    threshold = forms.FloatField(label=_("Threshold"))
    for_s = UnitField(SECONDS, most=86400, label=_("Lasts for"), required=False)
    subject = forms.CharField(label=_("Only this subject"), max_length=128, required=False)
    days = forms.ChoiceField(choices=[("1", _("Last 24 hours")), ("7", _("7 days"))], required=False)

    def clean_days(self) -> int:
        return int(self.cleaned_data["days"] or 1)

    def clean_threshold(self) -> float:
        value: float = self.cleaned_data["threshold"]
        if not math.isfinite(value):
            raise forms.ValidationError(_("A number is wanted."))
        return value


class RouteForm(SoundForm):
    """A route of one channel: addresses with blanks, commas or lines between them, roles, or a webhook."""

    channel = forms.ChoiceField(label=_("Channel"), choices=Channel.choices)
    name = forms.CharField(label=_("Name"), max_length=80, required=False)
    severities = forms.MultipleChoiceField(label=_("Severities"), choices=AlarmLevel.choices, required=False)
    addresses = forms.CharField(label=_("Addresses"), max_length=8000, required=False, widget=forms.Textarea)
    roles = forms.MultipleChoiceField(label=_("Roles"), choices=(), required=False)
    hook_kind = forms.ChoiceField(
        label=_("What takes it"), choices=[("", ""), *HookKind.choices], required=False
    )
    hook_url = forms.CharField(label=_("Address"), max_length=ADDRESS_LENGTH, required=False)
    hook_secret = forms.CharField(label=_("Secret"), max_length=SECRET_LENGTH, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["roles"].choices = [(row.code, str(row)) for row in OperatorRole.objects.all()]

    def clean_addresses(self) -> list[str]:
        return [word for word in re.split(r"[\s,;]+", self.cleaned_data["addresses"]) if word]
