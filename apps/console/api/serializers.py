from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from apps.console.checklist import LACKS
from apps.scheduling.states import QuotaItem
from apps.tenancy.models import Tenant


class TenantIn(serializers.Serializer):
    schema = serializers.CharField(max_length=31, help_text="2 to 31 lower-case letters and digits.")
    name = serializers.CharField(max_length=120)
    timezone = serializers.CharField(max_length=64, default="", help_text="The centre's when left out.")


class TenantRowOut(serializers.ModelSerializer):
    schema = serializers.CharField(source="schema_name")

    class Meta:
        model = Tenant
        fields = ["schema", "name", "state", "timezone", "created_at"]


class ReasonIn(serializers.Serializer):
    reason = serializers.CharField(max_length=200, required=False, default="")


class TenantQuotaIn(serializers.Serializer):
    """Totals by item; what is not named stays as it is."""

    instances = serializers.IntegerField(min_value=0, required=False)
    compute_percent = serializers.IntegerField(min_value=0, required=False)
    gpu_memory_mib = serializers.IntegerField(min_value=0, required=False)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        unknown = set(self.initial_data) - set(QuotaItem.values)
        if unknown:
            raise serializers.ValidationError(dict.fromkeys(sorted(unknown), _("There is no such item.")))
        return given


class NodeCountOut(serializers.Serializer):
    state = serializers.CharField()
    count = serializers.IntegerField()


class StateCountOut(serializers.Serializer):
    kind = serializers.CharField()
    state = serializers.CharField()
    count = serializers.IntegerField()


class LevelCountOut(serializers.Serializer):
    level = serializers.CharField()
    count = serializers.IntegerField()


class LackOut(serializers.Serializer[Any]):
    code = serializers.ChoiceField(choices=LACKS)
    sentence = serializers.CharField()
    link = serializers.CharField(help_text="The page where it is made.")


class OverviewOut(serializers.Serializer):
    """What the operator pages show; a part that the active role may not see is null."""

    tenants = serializers.IntegerField()
    lacks = LackOut(many=True, help_text="What keeps the centre from selling; empty where nothing does.")
    alarms = LevelCountOut(many=True, allow_null=True)
    nodes = NodeCountOut(many=True, allow_null=True)
    held_percent = serializers.IntegerField(allow_null=True)
    limit_percent = serializers.IntegerField(allow_null=True)
    held_mib = serializers.IntegerField(allow_null=True)
    limit_mib = serializers.IntegerField(allow_null=True)
    waiting_workloads = serializers.IntegerField(allow_null=True)
    my_approvals = serializers.IntegerField(allow_null=True)
    cases = StateCountOut(many=True, allow_null=True)
    revenue_month = serializers.DecimalField(
        max_digits=28, decimal_places=10, allow_null=True, help_text="Exact CNY of use rated this month."
    )
