from typing import Any

from rest_framework import serializers

from apps.identity.api.sound import MomentField, SoundSerializer
from apps.telemetry.alarm_metrics import METRIC_CHOICES, METRICS
from apps.telemetry.models import Alarm, AlarmDelivery, AlarmRoute, AlarmRule, LogEntry
from apps.telemetry.services.webhooks import ADDRESS_LENGTH, SECRET_LENGTH
from apps.telemetry.states import AlarmLevel, Channel, Comparison, DeliveryState, HookKind


class PeriodIn(SoundSerializer):
    """From an instant up to another, which is not in it."""

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            "from": MomentField(required=False, source="from_at"),
            "to": MomentField(required=False, source="to_at"),
        }


class AlarmFilter(PeriodIn):
    state = serializers.CharField(required=False, help_text="firing, acknowledged, resolved, or open.")
    level = serializers.CharField(required=False, help_text="critical, major, minor or notice.")
    rule = serializers.CharField(required=False, max_length=48)
    source = serializers.CharField(required=False, max_length=64)
    subject = serializers.CharField(required=False, max_length=128)
    search = serializers.CharField(required=False, max_length=80)


class DeliveryFilter(SoundSerializer):
    alarm = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(DeliveryState.choices, required=False)


class LogFilter(PeriodIn):
    level = serializers.CharField(
        required=False, max_length=60, help_text="debug, info, warning, error, critical; several with commas."
    )
    component = serializers.CharField(required=False, max_length=64)
    node = serializers.CharField(required=False, max_length=200, help_text="A node's name.")
    task = serializers.CharField(required=False, max_length=64, help_text="A workload's uid.")
    tenant = serializers.CharField(required=False, max_length=63)
    priority = serializers.IntegerField(
        required=False, min_value=-(2**31), max_value=2**31 - 1, help_text="The task's priority."
    )
    search = serializers.CharField(required=False, max_length=200)


class ExportFilter(LogFilter):
    format = serializers.ChoiceField(["csv", "jsonl"], required=False, default="csv")


class LogOut(serializers.ModelSerializer):
    class Meta:
        model = LogEntry
        fields = ["id", "at", "level", "component", "node", "task", "tenant", "priority", "text"]


class AlarmOut(serializers.ModelSerializer):
    title = serializers.CharField(read_only=True)
    rule = serializers.CharField(source="rule.code", default="", read_only=True)
    acknowledged_by = serializers.CharField(source="acknowledged_by.display_name", default="", read_only=True)

    class Meta:
        model = Alarm
        fields = [
            "uid",
            "key",
            "level",
            "state",
            "source",
            "rule",
            "subject_kind",
            "subject_id",
            "title",
            "params",
            "count",
            "fired_at",
            "raised_at",
            "acknowledged_at",
            "acknowledged_by",
            "resolved_at",
            "created_at",
        ]


class DeliveryOut(serializers.ModelSerializer):
    alarm = serializers.UUIDField(source="alarm.uid")
    route = serializers.UUIDField(source="route.uid")
    addresses = serializers.ListField(source="route.addresses", child=serializers.CharField())
    roles = serializers.ListField(source="route.roles", child=serializers.CharField())

    class Meta:
        model = AlarmDelivery
        fields = [
            "uid", "alarm", "route", "is_over", "channel", "addresses", "roles", "state", "error", "tries",
            "next_try_at", "sent_at", "created_at",
        ]  # fmt: skip


class AlarmDetailOut(AlarmOut):
    deliveries = DeliveryOut(many=True)

    class Meta(AlarmOut.Meta):
        fields = [*AlarmOut.Meta.fields, "deliveries"]


class RuleOut(serializers.ModelSerializer):
    label = serializers.CharField(source="get_metric_display", help_text="The metric in the asked language.")
    unit = serializers.CharField()
    is_event = serializers.BooleanField(help_text="Raised by what happens: it has no threshold.")

    class Meta:
        model = AlarmRule
        fields = [
            "code", "metric", "label", "unit", "is_event", "comparison", "threshold", "for_s", "severity", "subject",
            "ends_after_s", "is_enabled", "created_at", "updated_at",
        ]  # fmt: skip


class RuleEditIn(SoundSerializer):
    """What is named changes; the rest stays."""

    comparison = serializers.ChoiceField(Comparison.choices, required=False)
    threshold = serializers.FloatField(required=False, min_value=-1e12, max_value=1e12)
    for_s = serializers.IntegerField(required=False, min_value=0, max_value=86_400)
    severity = serializers.ChoiceField(AlarmLevel.choices, required=False)
    subject = serializers.CharField(required=False, max_length=128, allow_blank=True)
    ends_after_s = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=30 * 86_400
    )
    is_enabled = serializers.BooleanField(required=False)


class RuleIn(SoundSerializer):
    code = serializers.CharField(max_length=48)
    metric = serializers.ChoiceField([row for row in METRIC_CHOICES if not METRICS[row[0]].is_event])
    comparison = serializers.ChoiceField(Comparison.choices, default=Comparison.GE)
    threshold = serializers.FloatField(min_value=-1e12, max_value=1e12)
    for_s = serializers.IntegerField(default=0, min_value=0, max_value=86_400)
    severity = serializers.ChoiceField(AlarmLevel.choices, default=AlarmLevel.MAJOR)
    subject = serializers.CharField(default="", max_length=128, allow_blank=True)
    is_enabled = serializers.BooleanField(default=True)


class RouteOut(serializers.ModelSerializer):
    class Meta:
        model = AlarmRoute
        fields = [
            "uid", "name", "channel", "severities", "addresses", "roles", "hook_kind", "hook_host", "is_enabled",
            "created_at", "updated_at",
        ]  # fmt: skip


class RouteEditIn(SoundSerializer):
    """What is named changes; the rest stays."""

    name = serializers.CharField(required=False, max_length=80, allow_blank=True)
    severities = serializers.ListField(
        child=serializers.ChoiceField(AlarmLevel.choices), required=False, max_length=8
    )
    addresses = serializers.ListField(
        child=serializers.EmailField(max_length=254), required=False, max_length=50
    )
    roles = serializers.ListField(child=serializers.SlugField(max_length=48), required=False, max_length=50)
    hook_kind = serializers.ChoiceField(
        HookKind.choices, required=False, help_text="What a webhook's server understands."
    )
    hook_url = serializers.CharField(
        required=False, max_length=ADDRESS_LENGTH, help_text="A webhook's address. It is never shown again."
    )
    hook_secret = serializers.CharField(
        required=False,
        max_length=SECRET_LENGTH,
        allow_blank=True,
        help_text="Signs what a webhook sends. It is never shown again.",
    )
    is_enabled = serializers.BooleanField(required=False)


class RouteIn(RouteEditIn):
    channel = serializers.ChoiceField(Channel.choices)
