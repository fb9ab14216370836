from rest_framework import serializers

from apps.identity.api.sound import TextField
from apps.images.api.serializers import ImageSaveIn
from apps.images.containerfile.reading import TEXT_MAX_BYTES
from apps.images.forms import PATH_MAX
from apps.images.models import ImageBuild
from apps.images.states import BuildState


class ImageBuildIn(ImageSaveIn):
    """A Containerfile, where the files that it copies are, and what its work may have. `folder`: the digest of a folder
    sent before (folder-uploads); `volume` and `path`: a folder in a volume; one of them at most."""

    containerfile = TextField(max_length=TEXT_MAX_BYTES, help_text="Its text; FROM names an image of yours.")
    folder = serializers.CharField(max_length=64, default="", allow_blank=True)
    volume = serializers.CharField(max_length=120, default="", allow_blank=True, help_text="Name or uid.")
    path = serializers.CharField(max_length=PATH_MAX, default="", allow_blank=True, trim_whitespace=False)
    args = serializers.DictField(child=serializers.CharField(allow_blank=True), default=dict)
    compute_percent = serializers.IntegerField(min_value=1, max_value=100, default=10)
    memory_mib = serializers.IntegerField(min_value=1, max_value=2**31 - 1, default=512)
    host_cpu_milli = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    host_memory_mib = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    queue = serializers.CharField(max_length=48, default="", allow_blank=True)
    business_system = serializers.CharField(max_length=48, default="", allow_blank=True)
    run_timeout_s = serializers.IntegerField(
        min_value=1, max_value=7 * 24 * 3600, default=None, allow_null=True, help_text="Left out: an hour."
    )
    is_fresh = serializers.BooleanField(
        default=False, help_text="Run steps that an image of before has already."
    )


class ImageBuildOut(serializers.ModelSerializer[ImageBuild]):
    """A build: `state` says how far it is, `problem` why it failed, with the line and the last output of its step."""

    state = serializers.ChoiceField(source="shown_state", choices=BuildState.choices)
    version = serializers.UUIDField(source="version_uid")
    workload = serializers.UUIDField(
        source="workload_uid", help_text="The work that carries it out: its log is there."
    )
    made_by = serializers.CharField(source="made_by.username", help_text="The login account.")
    args = serializers.DictField(child=serializers.CharField(allow_blank=True))
    may_cancel = serializers.BooleanField()

    class Meta:
        model = ImageBuild
        fields = [
            "uid", "name", "state", "problem", "failed_line", "output", "version", "workload", "workload_no", "base",
            "containerfile", "args", "steps", "steps_before", "made_by", "may_cancel", "created_at", "ended_at",
        ]  # fmt: skip
