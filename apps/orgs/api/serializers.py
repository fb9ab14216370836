from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from apps.identity.api.serializers import ROLE_FIELDS, RoleIn
from apps.identity.api.sound import SoundSerializer
from apps.identity.rules.role_functions import RoleDraft, scopes_of
from apps.kernel.reach import DataPermission, Records, Scope
from apps.orgs.models import BusinessSystem, Member, Organization, ProgressReport, TenantRole
from apps.orgs.states import Stage
from apps.scheduling.states import QuotaItem

_QUOTA_HELP = {
    "instances": "Shares that run or wait.",
    "compute_percent": "Percent of devices.",
    "gpu_memory_mib": "MiB of the devices.",
    "host_cpu_milli": "Thousandths of cores.",
    "host_memory_mib": "MiB of the nodes.",
    "storage_mib": "MiB of volumes.",
}


class OrganizationQuotaIn(SoundSerializer):
    """Totals by item, null for no quota of its own; what is not named stays as it is."""

    def get_fields(self) -> dict[str, Any]:
        return {
            item: serializers.IntegerField(min_value=0, required=False, allow_null=True, help_text=str(label))
            for item, label in _QUOTA_HELP.items()
        }

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        unknown = set(self.initial_data) - set(QuotaItem.values)
        if unknown:
            raise serializers.ValidationError(dict.fromkeys(sorted(unknown), _("There is no such item.")))
        return given


class OrganizationQuotaOut(serializers.Serializer[Any]):
    """What an organization and all below it may hold, hold and have in process of an item."""

    item = serializers.CharField()
    total = serializers.IntegerField(
        source="quota.total", default=None, allow_null=True, help_text="null: only what is above bounds it."
    )
    allocated = serializers.IntegerField(
        source="quota.allocated", default=None, allow_null=True, help_text="Given on to those right below."
    )
    allocatable = serializers.IntegerField(source="quota.allocatable", default=None, allow_null=True)
    used = serializers.IntegerField()
    in_process = serializers.IntegerField()
    left = serializers.IntegerField(source="quota.left", default=None, allow_null=True)
    most = serializers.IntegerField(help_text="The most that what is above could give it.")


class OrganizationOut(serializers.ModelSerializer):
    parent = serializers.UUIDField(source="parent.uid", default=None)

    class Meta:
        model = Organization
        fields = ["uid", "name", "parent", "description", "attributes", "is_enabled", "created_at"]


class OrganizationRowOut(serializers.Serializer):
    organization = OrganizationOut()
    depth = serializers.IntegerField()
    head_count = serializers.IntegerField()


class BusinessSystemIn(SoundSerializer):
    name = serializers.CharField(max_length=120)
    number = serializers.CharField(max_length=48)
    organization = serializers.UUIDField()
    parent = serializers.UUIDField(required=False, allow_null=True, default=None)


class BusinessSystemsIn(SoundSerializer):
    business_systems = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=500)


class BusinessSystemOut(serializers.ModelSerializer):
    organization = serializers.UUIDField(source="organization.uid")
    organization_name = serializers.CharField(source="organization.name")
    parent = serializers.UUIDField(source="parent.uid", default=None)

    class Meta:
        model = BusinessSystem
        fields = [
            "uid",
            "name",
            "number",
            "organization",
            "organization_name",
            "parent",
            "is_enabled",
            "stage",
            "done_percent",
            "created_at",
        ]


class ProgressReportIn(SoundSerializer):
    stage = serializers.ChoiceField(choices=Stage.choices)
    done_percent = serializers.IntegerField(
        min_value=0, max_value=100, help_text="How much is done, in percent."
    )
    note = serializers.CharField(max_length=1000, help_text="What was done.")


class ProgressReportOut(serializers.ModelSerializer[ProgressReport]):
    reported_by = serializers.CharField(source="reporter_name")

    class Meta:
        model = ProgressReport
        fields = [
            "uid", "no", "stage", "done_percent", "note", "state", "reported_by", "comment", "decided_at", "created_at",
        ]  # fmt: skip


class DefaultSystemIn(SoundSerializer):
    business_system = serializers.CharField(max_length=48, help_text="Its number or uid.")


class DefaultSystemOut(serializers.Serializer[Any]):
    """What your work and applications are for where they name no business system."""

    business_system = BusinessSystemOut(allow_null=True)
    is_usable = serializers.BooleanField(
        help_text="False where you take part in it no longer, or it is disabled: what names none is refused then."
    )


class MemberIn(SoundSerializer):
    username = serializers.CharField(max_length=64)
    organization = serializers.UUIDField()


class MemberOut(serializers.ModelSerializer):
    username = serializers.CharField(source="user.username")
    display_name = serializers.CharField(source="user.display_name")
    organization = serializers.UUIDField(source="organization.uid")
    organization_name = serializers.CharField(source="organization.name")
    post = serializers.CharField(source="post.name", default="")

    class Meta:
        model = Member
        fields = [
            "uid",
            "username",
            "display_name",
            "organization",
            "organization_name",
            "post",
            "created_at",
        ]


class UsernameIn(SoundSerializer):
    username = serializers.CharField(max_length=64)


def _scope_choices(records: Records) -> list[tuple[str, str]]:
    return [(scope.value, scope.name) for scope in scopes_of(records)]


# Of records that are of no business system.
PLACE_SCOPES = _scope_choices(Records.PEOPLE)


class DataPermissionOut(serializers.Serializer[Any]):
    """How far a role reaches; one's own records, and the business systems one takes part in, are always within."""

    orders = serializers.ChoiceField(
        choices=_scope_choices(Records.ORDERS),
        default=Scope.OWN.value,
        help_text="Applications, orders and tickets.",
    )
    resources = serializers.ChoiceField(
        choices=_scope_choices(Records.RESOURCES),
        default=Scope.OWN.value,
        help_text="Jobs, sessions and environments; volumes and assets for who manages storage.",
    )
    systems = serializers.ChoiceField(
        choices=_scope_choices(Records.SYSTEMS),
        default=Scope.OWN.value,
        help_text="Business systems.",
    )
    costs = serializers.ChoiceField(
        choices=_scope_choices(Records.COSTS),
        default=Scope.OWN.value,
        help_text="What use has cost; bills and the account are for who reaches all.",
    )
    people = serializers.ChoiceField(
        choices=_scope_choices(Records.PEOPLE),
        default=Scope.OWN.value,
        help_text="Who belongs to the tenant, and who is invited.",
    )


class TenantRoleIn(RoleIn):
    data_permission = DataPermissionOut(required=False, help_text="One's own where it is left out.")

    def draft(self) -> RoleDraft:
        given = dict(self.validated_data)
        data = DataPermission(**given.pop("data_permission", {}))
        return RoleDraft(**given, data=data)


class TenantRoleOut(serializers.ModelSerializer):
    data_permission = DataPermissionOut()

    class Meta:
        model = TenantRole
        fields = [*ROLE_FIELDS, "data_permission"]
