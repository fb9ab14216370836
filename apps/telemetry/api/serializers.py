from rest_framework import serializers

from apps.telemetry.models import Alarm


class AlarmOut(serializers.ModelSerializer):
    title = serializers.CharField(read_only=True)
    acknowledged_by = serializers.CharField(source="acknowledged_by.display_name", default="", read_only=True)

    class Meta:
        model = Alarm
        fields = [
            "uid",
            "key",
            "level",
            "state",
            "source",
            "subject_kind",
            "subject_id",
            "title",
            "count",
            "fired_at",
            "raised_at",
            "acknowledged_at",
            "acknowledged_by",
            "resolved_at",
            "created_at",
        ]
