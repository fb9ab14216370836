from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer
from apps.notices.models import Message


class MessageFilter(SoundSerializer):
    search = serializers.CharField(required=False, default="", allow_blank=True, max_length=80)
    is_read = serializers.BooleanField(required=False, default=None, allow_null=True)


class MessageOut(serializers.ModelSerializer):
    title = serializers.CharField(help_text="In the language the request asks for.")

    class Meta:
        model = Message
        fields = ["uid", "title", "link", "read_at", "created_at"]


class CountOut(serializers.Serializer):
    count = serializers.IntegerField()
