from typing import Any

from rest_framework import serializers

from apps.assets.labels import problem_sentence
from apps.assets.models import Asset, AssetVersion
from apps.assets.states import AssetKind, Reach
from apps.identity.api.sound import SoundSerializer, TextField
from apps.storage.paths import PATH_MAX


class AssetOut(serializers.ModelSerializer[Asset]):
    owner = serializers.CharField(source="owner.username", help_text="The login account.")
    organization = serializers.CharField(source="organization.name", default="")
    tags = serializers.ListField(child=serializers.CharField())
    newest = serializers.IntegerField(allow_null=True, help_text="The newest version that is ready.")

    class Meta:
        model = Asset
        fields = [
            "uid", "kind", "name", "introduction", "tags", "owner", "reach", "organization", "newest", "created_at",
            "updated_at",
        ]  # fmt: skip


class AssetChangeIn(SoundSerializer):
    introduction = TextField(max_length=4000, allow_blank=True, required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=32), max_length=16, required=False)
    reach = serializers.ChoiceField(choices=Reach.choices, required=False)


class AssetIn(AssetChangeIn):
    kind = serializers.ChoiceField(choices=AssetKind.choices)
    name = serializers.CharField(max_length=48)


class AssetVersionIn(SoundSerializer):
    """A folder of a volume, "" for all of it; it is copied, and later changes there change nothing here."""

    volume = serializers.UUIDField()
    path = serializers.CharField(max_length=PATH_MAX, allow_blank=True, default="")
    note = TextField(max_length=500, allow_blank=True, default="")


class AssetVersionOut(serializers.ModelSerializer[AssetVersion]):
    """`sha256`: of the lines that `sha256sum` prints of its files, in the order of their paths."""

    made_by = serializers.CharField(source="made_by.username")
    problem = serializers.SerializerMethodField()

    class Meta:
        model = AssetVersion
        fields = [
            "number",
            "note",
            "state",
            "problem",
            "files",
            "size_bytes",
            "sha256",
            "made_by",
            "created_at",
        ]

    def get_problem(self, row: AssetVersion) -> str:
        return problem_sentence(row)


class AssetFileOut(serializers.Serializer[Any]):
    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
