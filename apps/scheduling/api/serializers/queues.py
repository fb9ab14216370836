"""Queues, policy, priorities and what-ifs on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer
from apps.scheduling.models import ORDERINGS, PLACINGS, Queue, SchedulingPolicy, WhatIf
from apps.scheduling.models.oversubscription import MOST_JOBS
from apps.scheduling.selectors.forecasts.what_if import MOST_DAYS
from apps.scheduling.states import MOST_QUEUE_PRIORITY, Oversubscribe
from apps.scheduling.types import MOST_MOVES, MOST_RESERVED_STARTS

_YEAR_S = 366 * 24 * 3600
_MOST = 2**31 - 1
_BOUNDS = [
    f"{bound}_{item}"
    for bound in ("max", "borrow", "guaranteed", "lend")
    for item in ("compute_percent", "memory_mib")
]


class WindowSerializer(SoundSerializer):
    """A span of a weekday (Monday is 0) in which work may start, in minutes of the centre's day."""

    weekday = serializers.IntegerField(min_value=0, max_value=6)
    from_minute = serializers.IntegerField(min_value=0, max_value=1440)
    to_minute = serializers.IntegerField(min_value=0, max_value=1440)


class QueueOut(serializers.ModelSerializer):
    parent = serializers.CharField(source="parent.code", default=None, allow_null=True)
    tenants = serializers.SerializerMethodField()
    windows = WindowSerializer(many=True)
    user_groups = serializers.SlugRelatedField(slug_field="code", many=True, read_only=True)

    class Meta:
        model = Queue
        fields = [
            "code", "name_en", "name_zh", "state", "parent", "priority", "weight", "ordering", "placing",
            "resource_group", *_BOUNDS, "preempts", "reclaims", "is_default", "max_run_s", "oversubscribe", "max_jobs",
            "tenants", "windows", "user_groups",
        ]  # fmt: skip

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_tenants(self, row: Queue) -> list[str]:
        return sorted(each.tenant.schema_name for each in row.admitted.all())


class BranchOut(serializers.Serializer):
    """A queue in the tree with what its whole branch uses (ELA-1101); depth counts from 0."""

    queue = QueueOut()
    depth = serializers.IntegerField()
    compute_percent = serializers.IntegerField(source="use.compute_percent")
    memory_mib = serializers.IntegerField(source="use.memory_mib")
    running = serializers.IntegerField(source="use.running")
    waiting = serializers.IntegerField(source="use.waiting")
    oldest_at = serializers.DateTimeField(source="use.oldest_at", allow_null=True)
    borrowed_percent = serializers.IntegerField()


def _amount(*, allow_null: bool = False) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=0, max_value=_MOST, required=False, allow_null=allow_null)


class QueueChangeIn(SoundSerializer):
    """What is not sent stays; null takes a limit away; an empty list of tenants admits all, of windows is always."""

    name_en = serializers.CharField(max_length=80, required=False)
    name_zh = serializers.CharField(max_length=80, required=False)
    state = serializers.ChoiceField(choices=Queue.STATES, required=False)
    parent = serializers.CharField(max_length=48, required=False, allow_null=True)
    priority = serializers.IntegerField(
        min_value=-MOST_QUEUE_PRIORITY, max_value=MOST_QUEUE_PRIORITY, required=False
    )
    weight = serializers.IntegerField(min_value=1, max_value=1000, required=False)
    ordering = serializers.ChoiceField(choices=ORDERINGS, required=False, allow_blank=True)
    placing = serializers.ChoiceField(choices=PLACINGS, required=False, allow_blank=True)
    resource_group = serializers.CharField(max_length=48, required=False, allow_blank=True)
    max_compute_percent = _amount(allow_null=True)
    max_memory_mib = _amount(allow_null=True)
    borrow_compute_percent = _amount()
    borrow_memory_mib = _amount()
    guaranteed_compute_percent = _amount()
    guaranteed_memory_mib = _amount()
    lend_compute_percent = _amount(allow_null=True)
    lend_memory_mib = _amount(allow_null=True)
    preempts = serializers.BooleanField(required=False)
    reclaims = serializers.BooleanField(required=False)
    is_default = serializers.BooleanField(required=False)
    max_run_s = serializers.IntegerField(min_value=1, max_value=_MOST, required=False, allow_null=True)
    oversubscribe = serializers.ChoiceField(choices=Oversubscribe.choices, required=False)
    max_jobs = serializers.IntegerField(min_value=1, max_value=MOST_JOBS, required=False, allow_null=True)
    tenants = serializers.ListField(
        child=serializers.CharField(max_length=63), required=False, max_length=1000
    )
    windows = WindowSerializer(many=True, required=False)
    user_groups = serializers.ListField(
        child=serializers.CharField(max_length=48), required=False, max_length=1000
    )


class QueueIn(QueueChangeIn):
    code = serializers.SlugField(max_length=48)
    name_en = serializers.CharField(max_length=80)
    name_zh = serializers.CharField(max_length=80)


class PolicyOut(serializers.ModelSerializer):
    direct_commodity = serializers.CharField(source="direct_commodity.number", default="")

    class Meta:
        model = SchedulingPolicy
        fields = [
            "placing", "ordering", "has_backfill", "reserved_starts", "patience_s", "aging_s", "half_life_s",
            "ahead_s", "has_preemption",
            "has_reclaim", "grace_s", "min_run_s", "max_preemptions", "fair_share_preempts",
            "consolidates", "max_moves", "grows_elastic", "hysteresis_s", "max_open_per_user", "max_open_per_tenant",
            "direct_commodity",
        ]  # fmt: skip


def _seconds(least: int = 0, *, allow_null: bool = False) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=least, max_value=_YEAR_S, required=False, allow_null=allow_null)


class PolicyIn(SoundSerializer):
    """What is not sent stays; null: a head waits for ever, no aging, no memory of past use."""

    placing = serializers.ChoiceField(choices=PLACINGS, required=False)
    ordering = serializers.ChoiceField(choices=ORDERINGS, required=False)
    has_backfill = serializers.BooleanField(required=False)
    reserved_starts = serializers.IntegerField(min_value=0, max_value=MOST_RESERVED_STARTS, required=False)
    patience_s = _seconds(allow_null=True)
    aging_s = _seconds(1, allow_null=True)
    half_life_s = _seconds(60, allow_null=True)
    ahead_s = _seconds()
    has_preemption = serializers.BooleanField(required=False)
    has_reclaim = serializers.BooleanField(required=False)
    grace_s = _seconds()
    min_run_s = _seconds()
    max_preemptions = serializers.IntegerField(min_value=0, max_value=1000, required=False)
    fair_share_preempts = serializers.BooleanField(required=False)
    consolidates = serializers.BooleanField(required=False)
    max_moves = serializers.IntegerField(min_value=0, max_value=MOST_MOVES, required=False)
    grows_elastic = serializers.BooleanField(required=False)
    hysteresis_s = _seconds()
    max_open_per_user = serializers.IntegerField(min_value=1, max_value=_MOST, required=False)
    max_open_per_tenant = serializers.IntegerField(min_value=1, max_value=_MOST, required=False)
    direct_commodity = serializers.CharField(
        max_length=32,
        required=False,
        allow_null=True,
        help_text="Number of the commodity that work without an order is charged as; null: such work is refused.",
    )


class PriorityOut(serializers.Serializer):
    user = serializers.CharField(source="user.username")
    name = serializers.CharField(source="user.display_name")
    groups = serializers.ListField(child=serializers.CharField())
    priority = serializers.IntegerField()
    most_priority = serializers.IntegerField()
    may_urgent = serializers.BooleanField()


class PriorityIn(SoundSerializer):
    priority = serializers.IntegerField(min_value=-1000, max_value=1000)
    most_priority = serializers.IntegerField(min_value=-1000, max_value=1000)
    may_urgent = serializers.BooleanField(default=False)


class CalibrationOut(serializers.Serializer):
    """How the start estimates of the last days came true: 90 percent are to start inside their interval."""

    scored = serializers.IntegerField()
    inside_percent = serializers.IntegerField(allow_null=True)
    median_error_s = serializers.IntegerField(allow_null=True)
    without_start = serializers.IntegerField()


class TriedQueueIn(QueueChangeIn):
    """A queue's settings but for whose it is, when, how long its work runs and with whom it shares devices: those stay
    as they are."""

    is_default = None
    max_run_s = None
    oversubscribe = None
    max_jobs = None
    tenants = None
    windows = None
    user_groups = None


class WhatIfIn(SoundSerializer):
    """Settings to try on the submissions of the last days. `policy`: as for the scheduling policy; `queues`: by code,
    as for a queue; `quotas`: by tenant, its totals by item."""

    name = serializers.CharField(max_length=80)
    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=7)
    policy = PolicyIn(required=False)
    queues = serializers.DictField(child=TriedQueueIn(), required=False)
    quotas = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField(min_value=0)), required=False
    )


class WhatIfOut(serializers.ModelSerializer):
    made_by = serializers.CharField(source="made_by.username", default="")
    changes = serializers.DictField(child=serializers.JSONField())
    result = serializers.DictField(child=serializers.JSONField())

    class Meta:
        model = WhatIf
        fields = [
            "uid",
            "name",
            "days",
            "state",
            "changes",
            "result",
            "error",
            "made_by",
            "created_at",
            "ended_at",
        ]


def as_dict(found: dict[str, Any]) -> dict[str, Any]:
    """Nested ordered dictionaries of a serializer as plain ones."""
    return {name: as_dict(value) if isinstance(value, dict) else value for name, value in found.items()}
