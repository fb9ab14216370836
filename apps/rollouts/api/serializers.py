from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer, TextField
from apps.rollouts.models import Release, ReleaseKey, Rollout, RolloutStep


class ComponentOut(serializers.Serializer):
    component = serializers.CharField(
        help_text="web, worker, beat, database, queue, agent, session_server, or another part a node names"
    )
    host = serializers.CharField()
    name = serializers.CharField(help_text="the node's name, or the server process's")
    node_uid = serializers.CharField(help_text="empty for the server's own")
    version = serializers.CharField()
    wanted_version = serializers.CharField(help_text="empty where none is wanted")
    state = serializers.CharField()
    is_upgrading = serializers.BooleanField()
    config_generation = serializers.IntegerField(help_text="what it runs with")
    wanted_generation = serializers.IntegerField(help_text="what was asked of it")
    config = serializers.DictField(help_text="the values asked for")
    problem = serializers.CharField(help_text="why what was asked of it was not done")
    seen_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)


class ReleaseOut(serializers.ModelSerializer):
    signed_by = serializers.CharField(source="key.name")
    public_key = serializers.CharField(source="key.public_key")

    class Meta:
        model = Release
        fields = [
            "version",
            "size",
            "file_count",
            "sha256",
            "signature",
            "signed_by",
            "public_key",
            "notes",
            "created_by",
            "created_at",
        ]


class ReleaseIn(SoundSerializer):
    file = serializers.FileField(help_text="the archive that `manage.py release_build` made")
    signature = serializers.CharField(
        help_text="128 hexadecimal digits: the content of the .sig file beside it"
    )
    notes = TextField(required=False, allow_blank=True, default="", max_length=500)


class ReleaseKeyOut(serializers.ModelSerializer):
    class Meta:
        model = ReleaseKey
        fields = ["public_key", "name", "created_at", "revoked_at"]


class ReleaseKeyIn(SoundSerializer):
    public_key = serializers.CharField(max_length=64)
    name = serializers.CharField(max_length=80)


class RolloutIn(SoundSerializer):
    release = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="a release's version"
    )
    config = serializers.DictField(
        required=False,
        allow_null=True,
        default=None,
        help_text="meter_s, log_level, log_limit_mib, labels: what is left out is the agent's own",
    )
    nodes = serializers.ListField(
        child=serializers.CharField(max_length=64), default=list, max_length=2000, help_text="uids of nodes"
    )
    server = serializers.BooleanField(default=False, help_text="restart the server's processes in turn, too")
    batch = serializers.IntegerField(default=1, min_value=1, max_value=2000)
    gate_s = serializers.IntegerField(default=60, min_value=1, max_value=3600)


class RolloutStepOut(serializers.ModelSerializer):
    reason = serializers.CharField(read_only=True)

    class Meta:
        model = RolloutStep
        fields = [
            "batch_no",
            "kind",
            "node_uid",
            "name",
            "state",
            "from_version",
            "to_version",
            "reason",
            "started_at",
            "finished_at",
        ]


class RolloutOut(serializers.ModelSerializer):
    release = serializers.CharField(source="release.version", default="", read_only=True)
    reason = serializers.CharField(read_only=True)
    steps = RolloutStepOut(many=True, read_only=True)

    class Meta:
        model = Rollout
        fields = [
            "uid",
            "release",
            "config",
            "batch",
            "gate_s",
            "state",
            "reason",
            "created_by",
            "created_at",
            "finished_at",
            "steps",
        ]
