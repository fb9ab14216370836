"""What is asked for: work, environments, other amounts; and quotas."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, assert_never

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from apps.identity.api.sound import MomentField, ProgramField, SoundSerializer
from apps.scheduling.models import Environment
from node_agent.protocol.fields import RUN_TIMEOUT_MAX_S
from weir_wire.asks import Ask
from weir_wire.workload_request import WorkloadRequest

AnyField = serializers.Field[Any, Any, Any, Any]


def _word(most: int) -> serializers.CharField:
    return serializers.CharField(max_length=most, required=False, default="", allow_blank=True)


def _count(least: int | None, most: int) -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=least, max_value=most, required=False, default=None, allow_null=True
    )


class KnownFields(SoundSerializer):
    """Refuses a field it does not know by its name: a misspelt field is not silently dropped."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = set(data) - set(self.fields) if isinstance(data, Mapping) else set()
        if unknown:
            raise serializers.ValidationError(
                {str(name)[:100]: [_("There is no such field.")] for name in sorted(unknown, key=str)}
            )
        return super().to_internal_value(data)


def _field_of(ask: Ask, default: Any) -> AnyField:
    """How the API reads a field; what is declared without a default has to be given."""
    line: dict[str, Any] = {"max_length": ask.most, "allow_blank": True, "trim_whitespace": False}
    lists: dict[str, Any] = {"max_length": ask.parts, "default": list}
    match ask.kind:
        case "text" if default is MISSING:
            return serializers.CharField(max_length=ask.most)
        case "text":
            return _word(ask.most)
        case "lines":
            return ProgramField(**line, required=False, default="")
        case "choice":
            return serializers.ChoiceField(choices=ask.choices, default=default)
        case "count" if default is None:
            return _count(ask.least, ask.most)
        case "count":
            return serializers.IntegerField(min_value=ask.least, max_value=ask.most, default=default)
        case "flag":
            return serializers.BooleanField(default=default)
        case "instant":
            return MomentField(required=False, default=None, allow_null=True)
        case "words":
            return serializers.ListField(child=ProgramField(**line), **lists)
        case "names":
            return serializers.ListField(child=serializers.CharField(max_length=ask.most), **lists)
        case "variables":
            return serializers.DictField(child=ProgramField(**line), default=dict)
    assert_never(ask.kind)


def fields_of(declared: type[Any] = WorkloadRequest) -> dict[str, AnyField]:
    """The fields of a body, as they are declared."""
    return {each.name: _field_of(each.metadata["ask"], each.default) for each in fields(declared)}


class WorkloadIn(KnownFields):
    """What is asked for; amounts are per share. A fixed environment decides them, else a specification does.

    Each `shares_per_replica` shares are a replica, on one node: how many is said in `replicas` and `min_replicas`, or
    in `shares` and `min_shares`, which count them all.
    """

    def get_fields(self) -> dict[str, AnyField]:
        return fields_of()


class StopIn(SoundSerializer):
    reason = serializers.CharField(max_length=200, default="", allow_blank=True)


class ResizeIn(KnownFields):
    """Other amounts for each share; what is left out stays."""

    compute_percent = _count(-(2**31), 2**31)
    memory_mib = _count(-(2**31), 2**40)


class MigrateIn(KnownFields):
    """Where to; with neither the best other device of the same model."""

    node = _word(200)
    device = _word(100)
    share = serializers.IntegerField(min_value=0, max_value=511, default=0)


class WorkloadExecIn(KnownFields):
    """The words of a command, none for a shell; `tty`: with a terminal; `share` counts from 0."""

    argv = serializers.ListField(
        child=ProgramField(max_length=16 * 1024, allow_blank=True, trim_whitespace=False),
        max_length=1024,
        default=list,
    )
    tty = serializers.BooleanField(default=False)
    share = serializers.IntegerField(min_value=0, max_value=511, default=0)


class WorkloadPortIn(KnownFields):
    """A port on which the work listens on its own machine; `share` counts from 0."""

    port = serializers.IntegerField(min_value=1, max_value=65_535)
    share = serializers.IntegerField(min_value=0, max_value=511, default=0)


class EnvironmentIn(KnownFields):
    """Amounts under a name."""

    name = serializers.CharField(max_length=80)
    is_fixed = serializers.BooleanField(default=True)
    spec = _word(48)
    compute_percent = _count(-(2**31), 2**31)
    memory_mib = _count(-(2**31), 2**40)
    shares = serializers.IntegerField(min_value=1, max_value=512, default=1)


class EnvironmentOut(serializers.ModelSerializer):
    made_by = serializers.CharField(source="made_by.username", default="")

    class Meta:
        model = Environment
        fields = [
            "uid",
            "name",
            "is_fixed",
            "spec",
            "shares",
            "compute_percent",
            "memory_mib",
            "made_by",
            "created_at",
        ]


class BulkIn(SoundSerializer):
    """Many at once, all taken in or none."""

    jobs = serializers.ListField(child=WorkloadIn(), min_length=1, max_length=10_000)


class BulkRowOut(serializers.Serializer):
    uid = serializers.UUIDField()
    no = serializers.CharField()


class BulkOut(serializers.Serializer):
    count = serializers.IntegerField()
    workloads = BulkRowOut(many=True)


class ExtendIn(SoundSerializer):
    more_s = serializers.IntegerField(
        min_value=1, max_value=RUN_TIMEOUT_MAX_S, help_text="How much longer it may run, in seconds."
    )


class ScaleIn(SoundSerializer):
    """Another most number, in shares or in replicas."""

    shares = _count(1, 512)
    replicas = _count(1, 512)


class QuotaOut(serializers.Serializer):
    """With a `model` of what lies on devices of that model alone; there `in_process` waits for just that model."""

    item = serializers.CharField()
    model = serializers.CharField(allow_blank=True)
    total = serializers.IntegerField()
    allocated = serializers.IntegerField()
    allocatable = serializers.IntegerField()
    used = serializers.IntegerField()
    in_process = serializers.IntegerField()
    left = serializers.IntegerField()


class QuotaIn(SoundSerializer):
    item = serializers.CharField(max_length=24)
    model = _word(200)
    total = serializers.IntegerField(min_value=0, max_value=10**12)
