"""Templates of development environments, on the wire."""

from rest_framework import serializers

from apps.identity.api.sound import TextField
from apps.scheduling.api.serializers.workloads import KnownFields
from apps.scheduling.models import EnvironmentTemplate
from apps.scheduling.states import GpuKind, Software


class EnvironmentTemplateIn(KnownFields):
    """What a template says. Of a whole card `compute_percent` is 100. Empty vendor and model: any.

    `host_cpu_milli` is in thousandths of a core; 0 there and in `host_memory_mib` says nothing of the host.
    """

    name = serializers.CharField(max_length=36)
    description = TextField(max_length=500, default="", allow_blank=True)
    software = serializers.ChoiceField(choices=Software.choices, default=Software.JUPYTERLAB)
    image = serializers.CharField(
        max_length=36,
        default="",
        allow_blank=True,
        help_text="The version of an image that the centre offers, instead of the software.",
    )
    gpu_kind = serializers.ChoiceField(choices=GpuKind.choices, default=GpuKind.SHARE)
    compute_percent = serializers.IntegerField(min_value=1, max_value=100, default=100)
    memory_mib = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    vendor = serializers.CharField(max_length=64, default="", allow_blank=True)
    model = serializers.CharField(max_length=200, default="", allow_blank=True)
    host_cpu_milli = serializers.IntegerField(min_value=0, max_value=10_000_000, default=0)
    host_memory_mib = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    idle_timeout_s = serializers.IntegerField(
        min_value=1, max_value=366 * 86_400, default=None, allow_null=True
    )


class EnvironmentTemplateOut(serializers.ModelSerializer[EnvironmentTemplate]):
    class Meta:
        model = EnvironmentTemplate
        fields = [
            "uid",
            "name",
            "description",
            "software",
            "image",
            "image_name",
            "gpu_kind",
            "compute_percent",
            "memory_mib",
            "vendor",
            "model",
            "host_cpu_milli",
            "host_memory_mib",
            "idle_timeout_s",
            "created_at",
            "updated_at",
        ]


class EnvironmentStartIn(KnownFields):
    """What the environment is called; empty: as its template. Asked twice with one `client_key` it is one."""

    name = serializers.CharField(max_length=120, default="", allow_blank=True)
    client_key = serializers.CharField(max_length=64, default="", allow_blank=True)
    volumes = serializers.ListField(
        child=serializers.CharField(max_length=400),
        max_length=16,
        default=list,
        help_text="As work asks for them.",
    )
