from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.scheduling.models import Queue, Workload
from apps.scheduling.selectors import workload_reason


class SliceOut(serializers.Serializer):
    """A share of a resource on one device, as sold and as measured."""

    uid = serializers.CharField()
    node = serializers.CharField(source="device.node.name")
    device = serializers.CharField(source="device.uid")
    device_model = serializers.CharField(source="device.model")
    vendor = serializers.CharField(source="device.vendor")
    is_simulated = serializers.BooleanField(source="device.is_simulated")
    state = serializers.CharField()
    compute_percent = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    delivered_percent = serializers.FloatField(allow_null=True)
    memory_used_mib = serializers.IntegerField(allow_null=True)
    compute_enforced_by = serializers.CharField()
    memory_enforced_by = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class ResourceRowOut(serializers.ModelSerializer):
    name = serializers.SerializerMethodField()
    reason = serializers.SerializerMethodField()
    queue = serializers.CharField(source="queue.code")
    tenant = serializers.CharField(source="tenant.schema_name")
    node = serializers.SerializerMethodField()
    device = serializers.SerializerMethodField()

    class Meta:
        model = Workload
        fields = [
            "uid",
            "no",
            "name",
            "tenant",
            "order_uid",
            "state",
            "reason_code",
            "reason",
            "position",
            "queue",
            "priority",
            "shares",
            "compute_percent",
            "memory_mib",
            "run_timeout_s",
            "labels",
            "node",
            "device",
            "created_at",
            "placed_at",
            "started_at",
            "ended_at",
        ]

    def get_name(self, row: Workload) -> str:
        return row.name

    def get_reason(self, row: Workload) -> str:
        return workload_reason(row)

    def get_node(self, row: Workload) -> str:
        return ", ".join(sorted({part.device.node.name for part in row.allocations.all()}))

    def get_device(self, row: Workload) -> str:
        return ", ".join(sorted({part.device.model for part in row.allocations.all()}))


class ResourceOut(ResourceRowOut):
    slices = serializers.SerializerMethodField()

    class Meta(ResourceRowOut.Meta):
        fields = [*ResourceRowOut.Meta.fields, "slices"]

    @extend_schema_field(SliceOut(many=True))
    def get_slices(self, row: Workload) -> Any:
        return SliceOut(self.context["slices"], many=True).data


class LogOut(serializers.Serializer):
    text = serializers.CharField()
    next_offset = serializers.IntegerField()
    ended = serializers.BooleanField()


class UsageOut(serializers.Serializer):
    slice_uid = serializers.CharField()
    seq = serializers.IntegerField()
    start_at = serializers.DateTimeField()
    end_at = serializers.DateTimeField()
    seconds = serializers.IntegerField()
    compute_percent = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    cpu_seconds = serializers.FloatField()
    memory_peak_mib = serializers.IntegerField()


class QuotaOut(serializers.Serializer):
    item = serializers.CharField()
    total = serializers.IntegerField()
    allocated = serializers.IntegerField()
    allocatable = serializers.IntegerField()
    used = serializers.IntegerField()
    in_process = serializers.IntegerField()
    left = serializers.IntegerField()


class QueueOut(serializers.ModelSerializer):
    class Meta:
        model = Queue
        fields = ["code", "name_en", "name_zh", "state", "priority", "max_compute_percent", "max_memory_mib"]
