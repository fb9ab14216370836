"""What is asked for: work, environments, other amounts; and quotas."""

from rest_framework import serializers

from apps.fleet.states import SliceKind
from apps.scheduling.models import Environment

_YEAR_S = 366 * 24 * 3600


def _word(most: int) -> serializers.CharField:
    return serializers.CharField(max_length=most, required=False, default="", allow_blank=True)


def _count(least: int, most: int) -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=least, max_value=most, required=False, default=None, allow_null=True
    )


class WorkloadIn(serializers.Serializer):
    """What is asked for; amounts are per share. A fixed environment decides them, else a specification does.

    Each `shares_per_replica` shares are a replica, on one node: how many is said in `replicas` and `min_replicas`, or
    in `shares` and `min_shares`, which count them all.
    """

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
    replicas = _count(-(2**31), 2**31)
    shares_per_replica = serializers.IntegerField(min_value=-(2**31), max_value=2**31 - 1, default=1)
    whole_cards = serializers.BooleanField(default=False)
    distinct_devices = serializers.BooleanField(default=False)
    single_node = serializers.BooleanField(default=False)
    queue = _word(48)
    priority = _count(-(2**31), 2**31 - 1)
    urgent = serializers.BooleanField(default=False)
    preemptible = serializers.BooleanField(default=False)
    oversubscribe = serializers.BooleanField(default=False)
    checkpoint_signal = _word(8)
    checkpoint_command = serializers.ListField(
        child=serializers.CharField(max_length=32_768, allow_blank=True, trim_whitespace=False),
        max_length=256,
        default=list,
    )
    min_shares = _count(-(2**31), 2**31)
    min_replicas = _count(-(2**31), 2**31)
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


class BulkIn(serializers.Serializer):
    """Many at once, all taken in or none."""

    jobs = serializers.ListField(child=WorkloadIn(), min_length=1, max_length=10_000)


class BulkRowOut(serializers.Serializer):
    uid = serializers.UUIDField()
    no = serializers.CharField()


class BulkOut(serializers.Serializer):
    count = serializers.IntegerField()
    workloads = BulkRowOut(many=True)


class ScaleIn(serializers.Serializer):
    """Another most number, in shares or in replicas."""

    shares = _count(1, 512)
    replicas = _count(1, 512)


class QuotaOut(serializers.Serializer):
    """With a `model` of what lies on devices of that model alone; there `in_process` waits for just that model."""

    item = serializers.CharField()
    model = serializers.CharField(allow_blank=True)
    total = serializers.IntegerField()
    allocated = serializers.IntegerField()
    allocatable = serializers.IntegerField()
    used = serializers.IntegerField()
    in_process = serializers.IntegerField()
    left = serializers.IntegerField()


class QuotaIn(serializers.Serializer):
    item = serializers.CharField(max_length=24)
    model = _word(200)
    total = serializers.IntegerField(min_value=0, max_value=10**12)
