from typing import Any

from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer
from apps.storage.labels import output_sentence
from apps.storage.models import AccessKey, Upload, Volume, WorkOutput
from apps.storage.paths import PATH_MAX
from apps.storage.services.access_keys import DAYS_MOST, DAYS_SHOWN
from apps.storage.services.uploads import piece_bytes
from apps.storage.states import Owner
from weir_wire.bundle import FILES_MOST


class VolumeOut(serializers.ModelSerializer[Volume]):
    """`piece_bytes`: how much one request of an upload may bring."""

    person = serializers.CharField(source="person.username", default="", help_text="The login account.")
    organization = serializers.CharField(source="organization.name", default="")
    storage_class = serializers.CharField(
        source="storage_class.code",
        default="",
        help_text="Where it is kept; empty: in the centre's own folder.",
    )
    free_bytes = serializers.IntegerField(help_text="What may still be uploaded.")
    piece_bytes = serializers.SerializerMethodField()
    may_open = serializers.SerializerMethodField()
    may_keep = serializers.SerializerMethodField(help_text="Rename, resize and delete.")

    class Meta:
        model = Volume
        fields = [
            "uid", "name", "owner", "person", "organization", "storage_class",
            "size_mib", "used_bytes", "free_bytes", "piece_bytes",
            "measured_at", "may_open", "may_keep", "order_no", "kept_until", "created_at",
        ]  # fmt: skip

    def get_piece_bytes(self, row: Volume) -> int:
        return piece_bytes()

    def get_may_open(self, row: Volume) -> bool:
        return row.uid in self.context["view"].opened

    def get_may_keep(self, row: Volume) -> bool:
        return row.uid in self.context["view"].kept


class VolumeIn(SoundSerializer):
    name = serializers.CharField(max_length=48)
    size_mib = serializers.IntegerField(min_value=1)
    owner = serializers.ChoiceField(choices=Owner.choices, default=Owner.PERSON.value)
    organization = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The owner, where it is an organization."
    )
    storage_class = serializers.CharField(
        max_length=48,
        required=False,
        allow_blank=True,
        default="",
        help_text="Where it is to be kept, by a class's code; empty: where the centre says.",
    )


class VolumeChangeIn(SoundSerializer):
    name = serializers.CharField(max_length=48, required=False)
    size_mib = serializers.IntegerField(min_value=1, required=False)


class EntryOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["folder", "file", "link", "other"])
    size_bytes = serializers.IntegerField()
    modified_at = serializers.DateTimeField()


class ListingOut(serializers.Serializer[Any]):
    """A part of a folder, folders first; `next_name`, given as `after`, leads to the next part; "" after the last."""

    path = serializers.CharField()
    entries = EntryOut(many=True)
    next_name = serializers.CharField()


class FolderIn(SoundSerializer):
    path = serializers.CharField(max_length=PATH_MAX)


class FileMoveIn(SoundSerializer):
    path = serializers.CharField(max_length=PATH_MAX)
    to = serializers.CharField(max_length=PATH_MAX)


class FileRefusedOut(serializers.Serializer[Any]):
    path = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class BundleTakenOut(serializers.Serializer[Any]):
    """How many files were taken, and which were refused."""

    taken = serializers.IntegerField()
    refused = FileRefusedOut(many=True)


class BundleReadIn(SoundSerializer):
    paths = serializers.ListField(
        child=serializers.CharField(max_length=PATH_MAX), min_length=1, max_length=FILES_MOST
    )


class UploadOut(serializers.ModelSerializer[Upload]):
    class Meta:
        model = Upload
        fields = [
            "uid", "path", "size_bytes", "received_bytes", "fingerprint", "created_at", "moved_at", "finished_at",
        ]  # fmt: skip


class OutputOut(serializers.ModelSerializer[WorkOutput]):
    """What a share of work left: its files lie below `path` of the volume (`volumes/{uid}/files`)."""

    volume = serializers.UUIDField(source="volume.uid", default=None, allow_null=True)
    volume_name = serializers.CharField(source="volume.name", default="")
    may_open = serializers.SerializerMethodField()
    sentence = serializers.SerializerMethodField(help_text="How far they are, in words.")

    class Meta:
        model = WorkOutput
        fields = [
            "share", "state", "sentence", "volume", "volume_name", "path", "may_open", "files", "size_bytes",
            "left_out", "settled_at",
        ]  # fmt: skip

    def get_may_open(self, row: WorkOutput) -> bool:
        return row.volume is not None and row.volume.uid in self.context["view"].opened

    def get_sentence(self, row: WorkOutput) -> str:
        return output_sentence(row)


class AccessKeyIn(SoundSerializer):
    name = serializers.CharField(max_length=80)
    days = serializers.IntegerField(
        min_value=1, max_value=DAYS_MOST, default=DAYS_SHOWN, help_text="How long it is valid."
    )
    is_read_only = serializers.BooleanField(default=False, help_text="It reads and changes nothing.")


class AccessKeyOut(serializers.ModelSerializer[AccessKey]):
    """An access key, by its id; its secret is shown once, when it is made."""

    is_usable = serializers.BooleanField(help_text="It has not expired.")

    class Meta:
        model = AccessKey
        fields = ["uid", "key_id", "name", "is_read_only", "is_usable", "created_at", "expires_at", "used_at"]


class AccessKeyMadeOut(AccessKeyOut):
    """A new key with its secret; no other answer shows it."""

    secret = serializers.SerializerMethodField(help_text="Shown once.")
    address = serializers.SerializerMethodField(help_text="What a client of S3 calls its endpoint.")

    class Meta(AccessKeyOut.Meta):
        fields = [*AccessKeyOut.Meta.fields, "secret", "address"]

    def get_secret(self, row: AccessKey) -> str:
        return str(self.context["secret"])

    def get_address(self, row: AccessKey) -> str:
        return str(self.context["address"])
