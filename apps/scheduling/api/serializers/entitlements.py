"""Who may hold what, and when, on the wire: validity rules, the default, special specs, resource tickets, limits."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.identity.api.sound import SoundSerializer, TextField
from apps.scheduling.api.serializers.queues import WindowSerializer
from apps.scheduling.models import ResourceTicket, SpecialSpec, ValidityRule
from apps.scheduling.models.entitlements import UserAmounts
from apps.scheduling.states import Purpose, ResourceTicketState, Tier

_MOST = 2**31 - 1
_AMOUNTS = UserAmounts.ITEMS


class PeriodSerializer(WindowSerializer):
    """A span of the week in which work of a purpose may start."""

    purpose = serializers.ChoiceField(choices=Purpose.choices)


class ValidityRuleOut(serializers.ModelSerializer):
    users = serializers.SerializerMethodField()
    periods = PeriodSerializer(many=True)

    class Meta:
        model = ValidityRule
        fields = ["id", "name", "users", "periods", "created_at", "updated_at"]

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_users(self, row: ValidityRule) -> list[str]:
        return [each.user.username for each in row.users.all()]


class ValidityRuleIn(SoundSerializer):
    """A purpose without a period is valid at all times."""

    name = serializers.CharField(max_length=80)
    users = serializers.ListField(child=serializers.CharField(max_length=150), min_length=1, max_length=1000)
    periods = PeriodSerializer(many=True, required=False)


class ValidityRemoveIn(SoundSerializer):
    ids = serializers.ListField(child=serializers.IntegerField(min_value=1), min_length=1, max_length=1000)


class RemovedOut(serializers.Serializer):
    count = serializers.IntegerField()


class AmountsSerializer(SoundSerializer):
    """The most of each; null says nothing of it."""

    instances = serializers.IntegerField(min_value=0, max_value=_MOST, default=None, allow_null=True)
    compute_percent = serializers.IntegerField(min_value=0, max_value=_MOST, default=None, allow_null=True)
    memory_mib = serializers.IntegerField(min_value=0, max_value=_MOST, default=None, allow_null=True)


class SpecialSpecOut(serializers.ModelSerializer):
    """`user` empty: it is for each user of the tenant. `phase`: coming, now or over."""

    tenant = serializers.CharField(source="tenant.schema_name")
    user = serializers.CharField(source="user.username", default="")
    phase = serializers.ChoiceField(choices=["coming", "now", "over"])

    class Meta:
        model = SpecialSpec
        fields = [
            "id", "name", "tenant", "user", *_AMOUNTS, "from_at", "until_at", "phase", "is_enabled", "created_at",
        ]  # fmt: skip


class SpecialSpecChangeIn(AmountsSerializer):
    name = serializers.CharField(max_length=80)
    from_at = serializers.DateTimeField()
    until_at = serializers.DateTimeField()


class SpecialSpecIn(SpecialSpecChangeIn):
    """No users: one rule for each user of the tenant."""

    tenant = serializers.CharField(max_length=63)
    users = serializers.ListField(child=serializers.CharField(max_length=150), default=list, max_length=1000)


class ResourceTicketOut(serializers.ModelSerializer):
    """`user` empty: it is for each user of the tenant. `phase`: whether its period is coming, now or over."""

    tenant = serializers.CharField(source="tenant.schema_name")
    applicant = serializers.CharField(source="applicant.username")
    user = serializers.CharField(source="user.username", default="")
    state = serializers.ChoiceField(choices=ResourceTicketState.choices)
    phase = serializers.ChoiceField(choices=["coming", "now", "over"])
    decided_by = serializers.CharField(source="decided_by.username", default="")

    class Meta:
        model = ResourceTicket
        fields = [
            "uid", "no", "tenant", "applicant", "user", *_AMOUNTS, "from_at", "until_at", "phase", "reason", "state",
            "decided_by", "decided_at", "comment", "created_at",
        ]  # fmt: skip


class ResourceTicketIn(AmountsSerializer):
    reason = TextField(max_length=500)
    from_at = serializers.DateTimeField()
    until_at = serializers.DateTimeField()
    for_all = serializers.BooleanField(default=False)


class LimitOut(serializers.Serializer):
    """What the user holds of an item and may hold; `most` null: nothing of the user's bounds it. `source` says which
    tier does, by its name, and until when."""

    item = serializers.ChoiceField(choices=_AMOUNTS)
    used = serializers.IntegerField()
    most = serializers.IntegerField(allow_null=True)
    tier = serializers.ChoiceField(choices=Tier.choices, source="limit.tier", default=None, allow_null=True)
    name = serializers.CharField(source="limit.name", default="")
    until_at = serializers.DateTimeField(source="limit.until_at", default=None, allow_null=True)
    source = serializers.CharField()


class GroupQueueOut(serializers.Serializer):
    """The queue of a resource group: what its usable devices can give, what the queue may use of it, what is used."""

    code = serializers.CharField()
    nodes = serializers.SerializerMethodField()
    devices = serializers.IntegerField()
    models = serializers.ListField(child=serializers.CharField())
    room_percent = serializers.IntegerField()
    room_mib = serializers.IntegerField()
    most_percent = serializers.IntegerField()
    most_mib = serializers.IntegerField()
    compute_percent = serializers.IntegerField(source="use.compute_percent")
    memory_mib = serializers.IntegerField(source="use.memory_mib")
    running = serializers.IntegerField(source="use.running")
    waiting = serializers.IntegerField(source="use.waiting")

    def get_nodes(self, line: Any) -> int:
        return len(line.nodes)
