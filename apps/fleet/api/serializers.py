from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet.models import OVERSUBSCRIBE_MAX_PERMILLE, Device, GroupGrant, Node, ResourceGroup, Slice, Spec
from apps.fleet.selectors import slice_open_list
from apps.identity.api.sound import SoundSerializer


class DeviceOut(serializers.ModelSerializer):
    node = serializers.CharField(source="node.name", read_only=True)
    node_uid = serializers.CharField(source="node.uid", read_only=True)
    group = serializers.CharField(source="group.code", default=None, read_only=True)
    free_percent = serializers.IntegerField(read_only=True)
    free_mib = serializers.IntegerField(read_only=True)

    class Meta:
        model = Device
        fields = [
            "uid",
            "node",
            "node_uid",
            "index",
            "vendor",
            "model",
            "memory_mib",
            "reported_mib",
            "cores",
            "driver_version",
            "is_enabled",
            "is_sliced",
            "is_leaving",
            "is_simulated",
            "is_verified",
            "group",
            "apis",
            "numa_node",
            "slice_drivers",
            "slice_sizes",
            "health",
            "health_reason",
            "oversubscribe_permille",
            "memory_oversubscribe_permille",
            "held_percent",
            "held_mib",
            "whole_held",
            "free_percent",
            "free_mib",
            "measured",
            "measured_at",
            "created_at",
        ]


class NodeOut(serializers.ModelSerializer):
    hostname = serializers.CharField(source="info.hostname", default="", read_only=True)
    os = serializers.CharField(source="info.os", default="", read_only=True)
    cpu_count = serializers.IntegerField(source="info.cpu_count", default=0, read_only=True)
    memory_mib = serializers.IntegerField(source="info.memory_mib", default=0, read_only=True)
    is_upgrading = serializers.BooleanField(read_only=True)
    components = serializers.DictField(child=serializers.CharField(), read_only=True)
    labels = serializers.DictField(
        source="info.labels", child=serializers.CharField(), default=dict, read_only=True
    )

    class Meta:
        model = Node
        fields = [
            "uid",
            "name",
            "state",
            "is_drained",
            "is_leaving",
            "is_upgrading",
            "address",
            "components",
            "power_w",
            "power_source",
            "last_seen_at",
            "lost_at",
            "agent_version",
            "clock_offset_s",
            "hostname",
            "os",
            "cpu_count",
            "memory_mib",
            "labels",
            "created_at",
        ]


class SliceOut(serializers.ModelSerializer):
    """A slice as operators see it: whose, where, what was sold and what is delivered."""

    workload = serializers.UUIDField(source="workload_uid", read_only=True)
    tenant = serializers.CharField(source="tenant.schema_name", read_only=True)
    node = serializers.CharField(source="node.name", read_only=True)
    node_uid = serializers.CharField(source="node.uid", read_only=True)
    device = serializers.CharField(source="device.uid", read_only=True)
    model = serializers.CharField(source="device.model", read_only=True)
    resource_group = serializers.CharField(source="group_code", read_only=True)
    mounted = serializers.BooleanField(source="is_mounted", read_only=True)
    is_vouched = serializers.BooleanField(read_only=True)

    class Meta:
        model = Slice
        fields = [
            "uid", "workload", "tenant", "kind", "node", "node_uid", "device", "model", "compute_percent",
            "memory_mib", "is_exclusive", "resource_group", "desired", "state", "is_vouched", "reason_code", "reason",
            "driver", "driver_enforced", "compute_enforced_by", "memory_enforced_by", "mounted", "delivered_percent",
            "memory_used_mib", "host_cpu_milli", "host_memory_mib", "host_cpu_used_milli", "host_memory_used_mib",
            "host_enforced_by", "disk_used_mib", "disk_limit_mib", "measured_at", "moves_from", "move_state",
            "move_reason", "started_at", "created_at",
        ]  # fmt: skip


class SessionOut(SliceOut):
    """A session: its slice, and what its worker reports of the connection."""

    attached = serializers.BooleanField(source="session.attached", default=False, read_only=True)
    transport = serializers.CharField(source="session.transport", default="", read_only=True)
    bandwidth_mib_s = serializers.FloatField(source="session.bandwidth_mib_s", default=None, read_only=True)
    latency_us = serializers.FloatField(source="session.latency_us", default=None, read_only=True)
    operators = serializers.IntegerField(source="session.operators", default=0, read_only=True)
    idle_s = serializers.FloatField(source="session.idle_s", default=0, read_only=True)
    pause_ms = serializers.FloatField(source="session.pause_ms", default=None, read_only=True)

    class Meta(SliceOut.Meta):
        fields = [
            *SliceOut.Meta.fields, "attached", "transport", "bandwidth_mib_s", "latency_us", "operators", "idle_s",
            "pause_ms",
        ]  # fmt: skip


class NodeDetailOut(NodeOut):
    devices = DeviceOut(many=True, read_only=True)
    tasks = serializers.SerializerMethodField()

    class Meta(NodeOut.Meta):
        fields = [*NodeOut.Meta.fields, "devices", "tasks"]

    @extend_schema_field(SliceOut(many=True))
    def get_tasks(self, node: Node) -> list[dict[str, object]]:
        """The slices that hold a share of it now."""
        return list(SliceOut(slice_open_list(node_uid=node.uid), many=True).data)


class OversubscribeIn(SoundSerializer):
    compute_permille = serializers.IntegerField(min_value=1000, max_value=OVERSUBSCRIBE_MAX_PERMILLE)
    memory_permille = serializers.IntegerField(
        min_value=1000, max_value=OVERSUBSCRIBE_MAX_PERMILLE, default=1000
    )


class MoveIn(SoundSerializer):
    device = serializers.CharField(max_length=100)


class NameIn(SoundSerializer):
    code = serializers.CharField(max_length=48)
    name_en = serializers.CharField(max_length=80)
    name_zh = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)


class SpecIn(NameIn):
    compute_percent = serializers.IntegerField(required=False, allow_null=True, default=None)
    memory_mib = serializers.IntegerField(required=False, allow_null=True, default=None)
    mig_profile = serializers.CharField(
        max_length=32,
        required=False,
        allow_blank=True,
        default="",
        help_text="A MIG profile by its name, 1g.10gb, instead of share and memory.",
    )


class DevicesIn(SoundSerializer):
    devices = serializers.ListField(child=serializers.CharField(max_length=100), max_length=10_000)


class GrantIn(SoundSerializer):
    tenant = serializers.CharField(max_length=63)
    members = serializers.ListField(
        child=serializers.CharField(max_length=64), max_length=1000, allow_null=True, default=None
    )


class SpecOut(serializers.ModelSerializer):
    class Meta:
        model = Spec
        fields = [
            "code",
            "name_en",
            "name_zh",
            "compute_percent",
            "memory_mib",
            "mig_profile",
            "is_enabled",
            "created_at",
        ]


class GrantOut(serializers.ModelSerializer):
    """`members` are login accounts; null: all members of the tenant."""

    tenant = serializers.CharField(source="tenant.schema_name", read_only=True)
    members = serializers.SerializerMethodField()

    class Meta:
        model = GroupGrant
        fields = ["tenant", "members", "created_at"]

    @extend_schema_field(serializers.ListField(child=serializers.CharField(), allow_null=True))
    def get_members(self, row: GroupGrant) -> list[str] | None:
        return None if row.is_open else sorted(user.username for user in row.clients.all())


class ResourceGroupOut(serializers.ModelSerializer):
    devices = serializers.SlugRelatedField(slug_field="uid", many=True, read_only=True)
    grants = GrantOut(many=True, read_only=True)

    class Meta:
        model = ResourceGroup
        fields = ["code", "name_en", "name_zh", "devices", "grants", "created_at"]
