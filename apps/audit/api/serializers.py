from rest_framework import serializers

from apps.audit.models import Record
from apps.identity.api.sound import MomentField, SoundSerializer


class RecordFilter(SoundSerializer):
    search = serializers.CharField(required=False, default="", allow_blank=True, max_length=80)
    schema = serializers.CharField(required=False, default="", allow_blank=True, max_length=63)
    subject_kind = serializers.CharField(required=False, default="", allow_blank=True, max_length=40)
    subject_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=64)
    from_at = MomentField(required=False, default=None, allow_null=True)
    until_at = MomentField(required=False, default=None, allow_null=True)


class RecordOut(serializers.ModelSerializer):
    class Meta:
        model = Record
        fields = [
            "uid",
            "name",
            "actor_kind",
            "actor_name",
            "role",
            "schema",
            "request_id",
            "subject_kind",
            "subject_id",
            "detail",
            "at",
        ]
