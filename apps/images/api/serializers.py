from typing import Any

from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer, TextField
from apps.images.forms import PATH_MAX
from apps.images.models import NAME_MAX, TAG_MAX, Image, ImageVersion
from apps.images.services.images import INTRODUCTION_MAX
from apps.images.states import Owner


class ImageFileOut(serializers.Serializer[Any]):
    digest = serializers.CharField()
    size_bytes = serializers.IntegerField()


class ImageVersionOut(serializers.ModelSerializer[ImageVersion]):
    """One image under a tag; `problem` says why it was refused, `layers` which files it is made of."""

    image = serializers.UUIDField(source="image.uid")
    name = serializers.CharField(source="image.name")
    entry_point = serializers.ListField(child=serializers.CharField())
    layers = ImageFileOut(many=True)
    workload = serializers.UUIDField(
        source="workload_uid", allow_null=True, help_text="The work that was saved as it."
    )
    base = serializers.UUIDField(
        source="base.uid", default=None, allow_null=True, help_text="The version that the saved work ran in."
    )
    left_out = serializers.IntegerField(help_text="Sockets, pipes and the like, which no image holds.")
    made_by = serializers.CharField(source="made_by.username", default="", help_text="The login account.")

    class Meta:
        model = ImageVersion
        fields = [
            "uid", "image", "name", "tag", "state", "problem", "digest", "architecture", "size_bytes", "unpacked_bytes",
            "entry_point", "layers", "source", "workload", "base", "left_out", "made_by", "created_at",
        ]  # fmt: skip


class ImageOut(serializers.ModelSerializer[Image]):
    tenant = serializers.CharField(source="tenant.schema_name", default="", help_text="None: the centre's.")
    person = serializers.CharField(source="person.username", default="", help_text="The login account.")
    organization = serializers.CharField(source="organization.name", default="")
    versions = ImageVersionOut(many=True)
    may_keep = serializers.SerializerMethodField(help_text="Describe, add versions, delete.")

    class Meta:
        model = Image
        fields = [
            "uid", "name", "introduction", "owner", "tenant", "person", "organization", "versions", "may_keep",
            "created_at",
        ]  # fmt: skip

    def get_may_keep(self, row: Image) -> bool:
        return row.uid in self.context["view"].kept


class ImageSaveIn(SoundSerializer):
    """What a version is to be called, and whose it is to be."""

    name = serializers.CharField(max_length=NAME_MAX)
    tag = serializers.CharField(max_length=TAG_MAX, default="latest")
    introduction = TextField(max_length=INTRODUCTION_MAX, default="", allow_blank=True)
    owner = serializers.ChoiceField(
        choices=[choice for choice in Owner.choices if choice[0] != Owner.CENTRE], default=Owner.PERSON.value
    )
    organization = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The owner, where it is an organization."
    )


class ImageImportIn(ImageSaveIn):
    """An archive, as `docker save` or `skopeo` write it, at a path of a volume."""

    volume = serializers.UUIDField()
    path = serializers.CharField(max_length=PATH_MAX, trim_whitespace=False)


class ImageChangeIn(SoundSerializer):
    name = serializers.CharField(max_length=NAME_MAX, required=False)
    introduction = TextField(max_length=INTRODUCTION_MAX, required=False, allow_blank=True)
