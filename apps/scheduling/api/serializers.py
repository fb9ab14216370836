from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet.models import Slice
from apps.fleet.states import SliceKind
from apps.scheduling.models import Environment, Workload
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
            "min_shares",
            "active_shares",
            "urgent",
            "preemptible",
            "preemptions",
            "host_cpu_milli",
            "host_memory_mib",
            "earliest_start_at",
            "deadline_at",
            "purpose",
            "client_key",
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
    priority = _count(-(2**31), 2**31 - 1)
    urgent = serializers.BooleanField(default=False)
    preemptible = serializers.BooleanField(default=False)
    min_shares = _count(-(2**31), 2**31)
    host_cpu_milli = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    host_memory_mib = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    earliest_start_at = serializers.DateTimeField(required=False, default=None, allow_null=True)
    deadline_at = serializers.DateTimeField(required=False, default=None, allow_null=True)
    purpose = _word(16)
    any_models = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=32, default=list
    )
    reservation = _word(80)
    client_key = _word(64)
    max_attempts = serializers.IntegerField(min_value=1, max_value=100, default=1)
    retry_delay_s = serializers.IntegerField(min_value=0, max_value=_YEAR_S, default=30)
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


class BulkIn(serializers.Serializer):
    """Many at once, all taken in or none."""

    jobs = serializers.ListField(child=WorkloadIn(), min_length=1, max_length=10_000)


class BulkRowOut(serializers.Serializer):
    uid = serializers.UUIDField()
    no = serializers.CharField()


class BulkOut(serializers.Serializer):
    count = serializers.IntegerField()
    workloads = BulkRowOut(many=True)


class NowOut(serializers.Serializer):
    """With how much the same work could start at once; 0 is none."""

    percent = serializers.IntegerField()
    shares = serializers.IntegerField()
    sentence = serializers.CharField()


class ExpectationOut(serializers.Serializer):
    """An expected start; nine of ten fall between `low_at` and `high_at`. All null: nobody can say."""

    start_at = serializers.DateTimeField(allow_null=True)
    low_at = serializers.DateTimeField(allow_null=True)
    high_at = serializers.DateTimeField(allow_null=True)
    basis = serializers.CharField()
    basis_text = serializers.CharField()
    sentence = serializers.CharField()
    why = serializers.CharField()


class DryRunOut(ExpectationOut):
    """Also what it would hold, and what could be had at once."""

    shares = serializers.IntegerField()
    compute_percent = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    now = NowOut(allow_null=True)


class TimelineOut(serializers.Serializer):
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    what = serializers.CharField()
    sentence = serializers.CharField()
    actor = serializers.CharField()


class PromiseOut(serializers.Serializer):
    made_at = serializers.DateTimeField()
    basis = serializers.CharField()
    start_at = serializers.DateTimeField(allow_null=True)
    low_at = serializers.DateTimeField(allow_null=True)
    high_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    is_kept = serializers.BooleanField(allow_null=True)


class ExplainOut(serializers.Serializer):
    """`expected` is null unless it waits; `ahead`: how many stand before it in its queue."""

    state = serializers.CharField()
    reason_code = serializers.CharField()
    reason = serializers.CharField()
    queue = serializers.CharField()
    position = serializers.IntegerField(allow_null=True)
    ahead = serializers.IntegerField(allow_null=True)
    expected = ExpectationOut(allow_null=True)
    promise = PromiseOut(allow_null=True)
    decisions = TimelineOut(many=True)


class ScaleIn(serializers.Serializer):
    shares = serializers.IntegerField(min_value=1, max_value=512)
