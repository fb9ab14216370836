"""What runs or waits, where it stands and what it printed and used, on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet.models import Slice
from apps.scheduling.api.serializers.arrays import ArrayOfTaskOut, ProgressOut, progress_among
from apps.scheduling.models import Workload, WorkloadDependency, WorkloadSize
from apps.scheduling.selectors.workloads import workload_reason


class WorkloadSliceOut(serializers.Serializer):
    """A share of a resource on one device, as sold and as measured."""

    uid = serializers.CharField()
    node = serializers.CharField(source="device.node.name")
    device = serializers.CharField(source="device.uid")
    device_model = serializers.CharField(source="device.model")
    vendor = serializers.CharField(source="device.vendor")
    is_simulated = serializers.BooleanField(source="device.is_simulated")
    state = serializers.CharField()
    exit_code = serializers.IntegerField(allow_null=True)
    compute_percent = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    delivered_percent = serializers.FloatField(allow_null=True)
    memory_used_mib = serializers.IntegerField(allow_null=True)
    host_cpu_used_milli = serializers.IntegerField(
        allow_null=True, help_text="Of the processor that it asked for of its node beside its share."
    )
    host_memory_used_mib = serializers.IntegerField(
        allow_null=True, help_text="Of the main memory that it asked for of its node beside its share."
    )
    disk_used_mib = serializers.IntegerField(allow_null=True, help_text="Of its node's scratch disk.")
    disk_limit_mib = serializers.IntegerField(
        allow_null=True, help_text="What it may keep there; it ends with more."
    )
    compute_enforced_by = serializers.CharField()
    memory_enforced_by = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class WorkloadWebOut(serializers.Serializer[Any]):
    """Where a browser opens the web pages of work; `seconds` is how long the address waits for it."""

    url = serializers.CharField()
    seconds = serializers.IntegerField()


class WorkloadExecOut(serializers.Serializer[Any]):
    """What is brought to the WebSocket at `path`, and how long it waits for that."""

    ticket = serializers.CharField()
    seconds = serializers.IntegerField()
    path = serializers.CharField()


class WorkloadGrantOut(serializers.Serializer):
    """A share that the resource holds now: where, how much, by which driver, and what is really given.

    `mounted` is false until the work has really begun to use the device. `moving`: the session is on its way here.
    """

    slice = serializers.CharField(source="uid")
    node = serializers.CharField(source="device.node.name")
    node_uid = serializers.CharField(source="device.node.uid")
    device = serializers.IntegerField(source="device.index")
    device_uid = serializers.CharField(source="device.uid")
    model = serializers.CharField(source="device.model")
    vendor = serializers.CharField(source="device.vendor")
    is_simulated = serializers.BooleanField(source="device.is_simulated")
    compute_percent = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    delivered_percent = serializers.FloatField(allow_null=True)
    memory_used_mib = serializers.IntegerField(allow_null=True)
    host_cpu_used_milli = serializers.IntegerField(
        allow_null=True, help_text="Of the processor that it asked for of its node beside its share."
    )
    host_memory_used_mib = serializers.IntegerField(
        allow_null=True, help_text="Of the main memory that it asked for of its node beside its share."
    )
    disk_used_mib = serializers.IntegerField(allow_null=True, help_text="Of its node's scratch disk.")
    disk_limit_mib = serializers.IntegerField(
        allow_null=True, help_text="What it may keep there; it ends with more."
    )
    driver = serializers.SerializerMethodField()
    memory_enforced_by = serializers.CharField()
    compute_enforced_by = serializers.CharField()
    mounted = serializers.BooleanField(source="is_mounted")
    moving = serializers.BooleanField(source="is_moving")
    state = serializers.CharField()

    def get_driver(self, row: Slice) -> str:
        return row.driver_enforced or row.driver


class WorkloadRowOut(serializers.ModelSerializer):
    name = serializers.SerializerMethodField()
    reason = serializers.SerializerMethodField()
    queue = serializers.CharField(source="queue.code")
    tenant = serializers.CharField(source="tenant.schema_name")
    node = serializers.SerializerMethodField()
    device = serializers.SerializerMethodField()
    environment = serializers.CharField(source="environment.name", default="")
    environment_uid = serializers.UUIDField(source="environment.uid", default=None, allow_null=True)
    submitted_by = serializers.CharField(source="submitted_by.username", default="")
    array = ArrayOfTaskOut(allow_null=True)
    array_progress = serializers.SerializerMethodField()

    class Meta:
        model = Workload
        fields = [
            "uid",
            "no",
            "name",
            "kind",
            "tenant",
            "order_uid",
            "submitted_by",
            "state",
            "reason_code",
            "reason",
            "position",
            "queue",
            "priority",
            "environment",
            "environment_uid",
            "spec",
            "shares",
            "shares_per_replica",
            "replicas",
            "min_replicas",
            "current_replicas",
            "compute_percent",
            "memory_mib",
            "whole_cards",
            "distinct_devices",
            "single_node",
            "placing",
            "local_node",
            "resource_group",
            "affinity",
            "anti_affinity",
            "driver",
            "pins",
            "run_timeout_s",
            "idle_timeout_s",
            "requeue_on_loss",
            "attempt",
            "array",
            "array_index",
            "array_progress",
            "min_shares",
            "active_shares",
            "urgent",
            "preemptible",
            "preemptions",
            "checkpoint_at",
            "host_cpu_milli",
            "host_memory_mib",
            "scratch_disk_mib",
            "mig_profile",
            "earliest_start_at",
            "deadline_at",
            "purpose",
            "client_key",
            "folder",
            "outputs",
            "labels",
            "node",
            "device",
            "created_at",
            "placed_at",
            "started_at",
            "ended_at",
        ]

    @extend_schema_field(ProgressOut(allow_null=True))
    def get_array_progress(self, row: Workload) -> dict[str, int] | None:
        return None if row.array_id is None else progress_among(self, row.array_id, "array_id")

    def get_name(self, row: Workload) -> str:
        return row.name

    def get_reason(self, row: Workload) -> str:
        return workload_reason(row)

    def get_node(self, row: Workload) -> str:
        return ", ".join(sorted({part.device.node.name for part in row.allocations.all()}))

    def get_device(self, row: Workload) -> str:
        return ", ".join(sorted({part.device.model for part in row.allocations.all()}))


class WaitsForOut(serializers.ModelSerializer[WorkloadDependency]):
    """Other work that it waits for, or waited for: until when, and whether it still does."""

    uid = serializers.UUIDField(source="on.uid")
    no = serializers.CharField(source="on.no")
    name = serializers.CharField(source="on.name")

    class Meta:
        model = WorkloadDependency
        fields = ["kind", "uid", "no", "name", "is_open"]


class SizeOut(serializers.ModelSerializer):
    """What elastic work was told of its size last: `shares` at `step`; `confirmed` is what it goes by (ELA-906)."""

    class Meta:
        model = WorkloadSize
        fields = ["shares", "confirmed", "step", "is_open", "due_at"]


class WorkloadOut(WorkloadRowOut):
    """`expected_start` is None unless it waits and somebody can say; `slices` are all it ever had; `wanted_shares` is
    what its scaling rules ask for, `size` what it was told, both of elastic work alone."""

    size = serializers.SerializerMethodField()
    secrets = serializers.SerializerMethodField()
    requirements = serializers.SerializerMethodField()
    waits_for = WaitsForOut(source="dependencies", many=True)
    expected_start = serializers.SerializerMethodField()
    grants = serializers.SerializerMethodField()
    slices = serializers.SerializerMethodField()

    class Meta(WorkloadRowOut.Meta):
        fields = [
            *WorkloadRowOut.Meta.fields,
            "wanted_shares",
            "size",
            "waits_for",
            "secrets",
            "requirements",
            "expected_start",
            "grants",
            "slices",
        ]

    def get_secrets(self, row: Workload) -> list[str]:
        """Their names."""
        return sorted(row.secrets)

    def get_requirements(self, row: Workload) -> list[str]:
        """The packages that are installed before it starts, as pip reads them."""
        return list(row.work.get("packages", {}).get("requirements", ()))

    @extend_schema_field(SizeOut(allow_null=True))
    def get_size(self, row: Workload) -> Any:
        size = WorkloadSize.objects.filter(workload=row).first() if row.min_shares else None
        return SizeOut(size).data if size else None

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_expected_start(self, row: Workload) -> Any:
        start = self.context["expected_start"]
        return start.isoformat() if start else None

    @extend_schema_field(WorkloadGrantOut(many=True))
    def get_grants(self, row: Workload) -> Any:
        held = [each for each in self.context["slices"] if not each.is_final]
        return WorkloadGrantOut(held, many=True).data

    @extend_schema_field(WorkloadSliceOut(many=True))
    def get_slices(self, row: Workload) -> Any:
        return WorkloadSliceOut(self.context["slices"], many=True).data


class ConnectionOut(serializers.Serializer):
    index = serializers.IntegerField()
    slice = serializers.CharField(source="slice_uid")
    state = serializers.CharField()
    host = serializers.CharField(allow_blank=True)
    port = serializers.IntegerField(allow_null=True)
    fingerprint = serializers.CharField(allow_blank=True)
    token = serializers.CharField()
    node = serializers.CharField()
    device = serializers.CharField()
    model = serializers.CharField()
    compute_percent = serializers.IntegerField()
    memory_mib = serializers.IntegerField()


class WorkloadSessionOut(serializers.Serializer):
    """`shares` lists those that a worker serves or is about to; empty host or port: its worker does not listen yet."""

    state = serializers.CharField()
    reason_code = serializers.CharField()
    reason = serializers.CharField()
    shares = ConnectionOut(many=True)


class WorkloadLogOut(serializers.Serializer):
    """A piece of what the work printed, and of which share and attempt it is; treat `next_offset` as a ticket."""

    share = serializers.IntegerField()
    attempt = serializers.IntegerField()
    text = serializers.CharField()
    next_offset = serializers.IntegerField()
    ended = serializers.BooleanField()


class WorkloadMetricOut(serializers.Serializer[Any]):
    """A metric that a share of the work has written: at each step its value, and when, in seconds since 1970. Of a
    long one points are left out evenly."""

    name = serializers.CharField()
    share = serializers.IntegerField()
    steps = serializers.ListField(child=serializers.IntegerField())
    values = serializers.ListField(child=serializers.FloatField())
    times = serializers.ListField(child=serializers.FloatField())
    updated_at = serializers.DateTimeField()


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
