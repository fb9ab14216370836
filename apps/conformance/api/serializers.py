from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.conformance.catalogue.entries import Entry, own, standard
from apps.conformance.models import ConformanceResult, ConformanceRun
from apps.conformance.report.forms import FORMS
from apps.identity.api.sound import SoundSerializer


class RunIn(SoundSerializer):
    """All 27 tests where nothing is named."""

    level = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=5)
    tests = serializers.ListField(
        child=serializers.ChoiceField([*standard(), *own()]), required=False, default=list, max_length=60
    )
    clauses = serializers.BooleanField(required=False, default=False)


class ReportFilter(SoundSerializer):
    format = serializers.ChoiceField(sorted(FORMS), default="json")


class VerdictOut(serializers.Serializer):
    """What can be said of a report."""

    is_sound = serializers.BooleanField(help_text="It is as it was signed.")
    is_own = serializers.BooleanField(help_text="It is sound, and this portal signed it.")
    public_key = serializers.CharField(help_text="What it was signed with; empty where it is not sound.")


class TextOut(serializers.Serializer):
    en = serializers.CharField()
    zh = serializers.CharField()


class TestOut(serializers.Serializer):
    """A test of the catalogue; level 0 is one of our own."""

    number = serializers.CharField()
    level = serializers.IntegerField()
    title = TextOut()
    clauses = serializers.ListField(child=serializers.CharField())
    steps = serializers.SerializerMethodField()
    expectations = serializers.SerializerMethodField()

    @extend_schema_field(serializers.DictField(child=TextOut()))
    def get_steps(self, test: Entry) -> Any:
        return {name: TextOut(text).data for name, text in test.steps.items()}

    @extend_schema_field(serializers.DictField(child=TextOut()))
    def get_expectations(self, test: Entry) -> Any:
        return {name: TextOut(text).data for name, text in test.expectations.items()}


class RunRowOut(serializers.ModelSerializer):
    tests = serializers.ListField(source="numbers", child=serializers.CharField())

    class Meta:
        model = ConformanceRun
        fields = [
            "uid", "state", "tests", "started_by", "level_reached", "note", "created_at", "started_at", "ended_at",
        ]  # fmt: skip


class HardwareOut(serializers.Serializer[Any]):
    """A kind of device that a test ran on."""

    vendor = serializers.CharField()
    model = serializers.CharField()
    is_simulated = serializers.BooleanField()


class ResultOut(serializers.ModelSerializer):
    hardware = HardwareOut(many=True)
    is_simulated = serializers.BooleanField(help_text="One of the devices that it ran on is simulated.")

    class Meta:
        model = ConformanceResult
        fields = [
            "number", "outcome", "reason", "hardware", "is_simulated", "steps", "expectations", "started_at",
            "ended_at",
        ]  # fmt: skip


class RunOut(RunRowOut):
    results = ResultOut(many=True)

    class Meta(RunRowOut.Meta):
        fields = [*RunRowOut.Meta.fields, "inventory", "results"]
