from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet.models import Slice
from apps.fleet.states import SliceKind
from apps.scheduling.engine.types import QueueState
from apps.scheduling.models import ORDERINGS, PLACINGS, Environment, Queue, SchedulingPolicy, Workload
from apps.scheduling.selectors import workload_reason

_YEAR_S = 366 * 24 * 3600


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


class GrantOut(serializers.Serializer):
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
    driver = serializers.SerializerMethodField()
    memory_enforced_by = serializers.CharField()
    compute_enforced_by = serializers.CharField()
    mounted = serializers.BooleanField(source="is_mounted")
    moving = serializers.BooleanField(source="is_moving")
    state = serializers.CharField()

    def get_driver(self, row: Slice) -> str:
        return row.driver_enforced or row.driver


class ResourceRowOut(serializers.ModelSerializer):
    name = serializers.SerializerMethodField()
    reason = serializers.SerializerMethodField()
    queue = serializers.CharField(source="queue.code")
    tenant = serializers.CharField(source="tenant.schema_name")
    node = serializers.SerializerMethodField()
    device = serializers.SerializerMethodField()
    environment = serializers.CharField(source="environment.name", default="")
    environment_uid = serializers.UUIDField(source="environment.uid", default=None, allow_null=True)
    submitted_by = serializers.CharField(source="submitted_by.username", default="")

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
    """`expected_start` is None unless it waits and somebody can say; `slices` are all it ever had."""

    expected_start = serializers.SerializerMethodField()
    grants = serializers.SerializerMethodField()
    slices = serializers.SerializerMethodField()

    class Meta(ResourceRowOut.Meta):
        fields = [*ResourceRowOut.Meta.fields, "expected_start", "grants", "slices"]

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_expected_start(self, row: Workload) -> Any:
        start = self.context["expected_start"]
        return start.isoformat() if start else None

    @extend_schema_field(GrantOut(many=True))
    def get_grants(self, row: Workload) -> Any:
        held = [each for each in self.context["slices"] if not each.is_final]
        return GrantOut(held, many=True).data

    @extend_schema_field(SliceOut(many=True))
    def get_slices(self, row: Workload) -> Any:
        return SliceOut(self.context["slices"], many=True).data


def _word(most: int) -> serializers.CharField:
    return serializers.CharField(max_length=most, required=False, default="", allow_blank=True)


def _count(least: int, most: int) -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=least, max_value=most, required=False, default=None, allow_null=True
    )


class WorkloadIn(serializers.Serializer):
    """What is asked for; amounts are per share. A fixed environment decides them, else a specification does."""

    name = serializers.CharField(max_length=120)
    kind = serializers.ChoiceField(choices=SliceKind.values, default=SliceKind.PROGRAM)
    argv = serializers.ListField(
        child=serializers.CharField(max_length=32_768, allow_blank=True, trim_whitespace=False),
        max_length=256,
        default=list,
    )
    env = serializers.DictField(
        child=serializers.CharField(max_length=32_768, allow_blank=True, trim_whitespace=False), default=dict
    )
    spec = _word(48)
    environment = _word(80)
    compute_percent = _count(-(2**31), 2**31)
    memory_mib = _count(-(2**31), 2**40)
    shares = _count(-(2**31), 2**31)
    whole_cards = serializers.BooleanField(default=False)
    distinct_devices = serializers.BooleanField(default=False)
    single_node = serializers.BooleanField(default=False)
    queue = serializers.CharField(max_length=48, default="default")
    priority = serializers.IntegerField(min_value=-(2**31), max_value=2**31 - 1, default=0)
    vendor = _word(64)
    model = _word(200)
    node = _word(200)
    device = _word(100)
    resource_group = _word(48)
    affinity = _word(64)
    anti_affinity = _word(64)
    placing = _word(16)
    local_node = _word(200)
    run_timeout_s = _count(1, _YEAR_S)
    idle_timeout_s = _count(1, _YEAR_S)
    requeue_on_loss = serializers.BooleanField(default=False)
    driver = _word(64)
    wait_for_quota = serializers.BooleanField(default=False)


class StopIn(serializers.Serializer):
    reason = serializers.CharField(max_length=200, default="", allow_blank=True)


class ResizeIn(serializers.Serializer):
    compute_percent = _count(-(2**31), 2**31)
    memory_mib = _count(-(2**31), 2**40)


class MigrateIn(serializers.Serializer):
    """Where to; with neither the best other device of the same model."""

    node = _word(200)
    device = _word(100)
    share = serializers.IntegerField(min_value=0, max_value=511, default=0)


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


class SessionOut(serializers.Serializer):
    """`shares` lists those that a worker serves or is about to; empty host or port: its worker does not listen yet."""

    state = serializers.CharField()
    reason_code = serializers.CharField()
    reason = serializers.CharField()
    shares = ConnectionOut(many=True)


class EnvironmentIn(serializers.Serializer):
    name = serializers.CharField(max_length=80)
    is_fixed = serializers.BooleanField(default=True)
    spec = _word(48)
    compute_percent = _count(-(2**31), 2**31)
    memory_mib = _count(-(2**31), 2**40)
    shares = serializers.IntegerField(min_value=1, max_value=512, default=1)


class EnvironmentOut(serializers.ModelSerializer):
    made_by = serializers.CharField(source="made_by.username", default="")

    class Meta:
        model = Environment
        fields = [
            "uid",
            "name",
            "is_fixed",
            "spec",
            "shares",
            "compute_percent",
            "memory_mib",
            "made_by",
            "created_at",
        ]


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


class QuotaIn(serializers.Serializer):
    item = serializers.CharField(max_length=24)
    total = serializers.IntegerField(min_value=0, max_value=10**12)


class QueueOut(serializers.ModelSerializer):
    tenants = serializers.SerializerMethodField()

    class Meta:
        model = Queue
        fields = [
            "code",
            "name_en",
            "name_zh",
            "state",
            "priority",
            "ordering",
            "placing",
            "resource_group",
            "max_compute_percent",
            "max_memory_mib",
            "tenants",
        ]

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_tenants(self, row: Queue) -> list[str]:
        return sorted(each.tenant.schema_name for each in row.admitted.all())


class QueueChangeIn(serializers.Serializer):
    """What is not sent stays; null takes a limit away; an empty list of tenants admits all."""

    state = serializers.ChoiceField(choices=[state.value for state in QueueState], required=False)
    priority = serializers.IntegerField(min_value=-1000, max_value=1000, required=False)
    ordering = serializers.ChoiceField(choices=ORDERINGS, required=False, allow_blank=True)
    placing = serializers.ChoiceField(choices=PLACINGS, required=False, allow_blank=True)
    resource_group = serializers.CharField(max_length=48, required=False, allow_blank=True)
    max_compute_percent = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, allow_null=True
    )
    max_memory_mib = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, allow_null=True
    )
    tenants = serializers.ListField(
        child=serializers.CharField(max_length=63), required=False, max_length=1000
    )


class QueueIn(QueueChangeIn):
    code = serializers.SlugField(max_length=48)
    name_en = serializers.CharField(max_length=80)
    name_zh = serializers.CharField(max_length=80)


class PolicyOut(serializers.ModelSerializer):
    direct_commodity = serializers.CharField(source="direct_commodity.number", default="")

    class Meta:
        model = SchedulingPolicy
        fields = ["placing", "ordering", "has_backfill", "patience_s", "aging_s", "direct_commodity"]


class PolicyIn(serializers.Serializer):
    """What is not sent stays; null: a head waits for ever, no aging."""

    placing = serializers.ChoiceField(choices=PLACINGS, required=False)
    ordering = serializers.ChoiceField(choices=ORDERINGS, required=False)
    has_backfill = serializers.BooleanField(required=False)
    patience_s = serializers.IntegerField(min_value=0, max_value=_YEAR_S, required=False, allow_null=True)
    aging_s = serializers.IntegerField(min_value=1, max_value=_YEAR_S, required=False, allow_null=True)
