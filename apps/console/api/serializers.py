from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from apps.console.centre.checklist import LACKS
from apps.console.tenants.types import BusinessSystemGiven, FirstAdministrator, TenantBeginning
from apps.identity.api.sound import SoundSerializer
from apps.kernel.money import ZERO
from apps.orgs.services.invitation_mails import MailPortal
from apps.scheduling.states import QuotaItem
from apps.tenancy.models import Tenant


class AdministratorIn(SoundSerializer):
    """With a `username` he gets that account and a first password, without one an invitation link: shown once, or by
    mail."""

    display_name = serializers.CharField(max_length=120)
    email = serializers.EmailField(default="", allow_blank=True)
    username = serializers.CharField(max_length=64, default="", allow_blank=True)
    by_mail = serializers.BooleanField(
        default=False, help_text="Send the link to his e-mail, instead of showing it."
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["by_mail"] and given["username"]:
            reason = _("Who gets an account with a first password is sent no link: leave out one of the two.")
            raise serializers.ValidationError({"by_mail": reason})
        return given


class BusinessSystemGivenIn(SoundSerializer):
    name = serializers.CharField(max_length=120)
    number = serializers.CharField(max_length=48)


class TenantIn(SoundSerializer):
    schema = serializers.CharField(max_length=31, help_text="2 to 31 lower-case letters and digits.")
    name = serializers.CharField(max_length=120)
    timezone = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text="The centre's when left out."
    )
    administrator = AdministratorIn()
    quota = serializers.DictField(
        child=serializers.IntegerField(min_value=0),
        default=dict,
        help_text="Totals by item: instances, compute_percent, gpu_memory_mib, host_cpu_milli, host_memory_mib,"
        " storage_mib; the defaults where none is named.",
    )
    has_account = serializers.BooleanField(
        default=False, help_text="Open its money account; takes billing.manage."
    )
    credit_limit = serializers.DecimalField(
        max_digits=18,
        decimal_places=2,
        min_value=ZERO,
        default=ZERO,
        help_text="What it may owe beyond its balance, in CNY; takes the account.",
    )
    has_queue = serializers.BooleanField(default=False, help_text="Make a queue that admits it alone.")
    business_system = BusinessSystemGivenIn(required=False, allow_null=True, default=None)

    def opening(self, mail_portal: Callable[[Tenant], MailPortal]) -> dict[str, Any]:
        """What `tenant_open` takes; `mail_portal` is asked where the link goes by mail."""
        given = dict(self.validated_data)
        administrator = dict(given.pop("administrator"))
        by_mail = mail_portal if administrator.pop("by_mail") else None
        system = given.pop("business_system")
        beginning = TenantBeginning(
            quota=given.pop("quota"),
            has_account=given.pop("has_account"),
            credit_limit=given.pop("credit_limit"),
            has_queue=given.pop("has_queue"),
            business_system=BusinessSystemGiven(**system) if system else None,
        )
        return {
            **given,
            "administrator": FirstAdministrator(**administrator, mail_portal=by_mail),
            "beginning": beginning,
        }


class WayInOut(serializers.Serializer[Any]):
    """How the administrator comes in: an account with its first password, or an invitation."""

    username = serializers.CharField(help_text="Empty for who is invited.")
    password = serializers.CharField(help_text="Shown once; it must be changed at the first sign-in.")
    secret = serializers.CharField(
        help_text="Shown once; the link is the tenant's address and /join/ and this, for who is invited."
    )
    mailed_to = serializers.CharField(help_text="Where the link was sent to instead, by mail.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When the invitation ends.")


class TenantRowOut(serializers.ModelSerializer):
    schema = serializers.CharField(source="schema_name")

    class Meta:
        model = Tenant
        fields = ["schema", "name", "state", "timezone", "created_at"]


class TenantDetailOut(TenantRowOut):
    lasting = serializers.SerializerMethodField(
        help_text="What must be at an end before it can be closed, a sentence each."
    )

    class Meta(TenantRowOut.Meta):
        fields = [*TenantRowOut.Meta.fields, "lasting"]

    def get_lasting(self, row: Tenant) -> list[str]:
        found: list[str] = self.context["lasting"]
        return found


class TenantNameIn(SoundSerializer):
    name = serializers.CharField(max_length=120, required=False)
    timezone = serializers.CharField(max_length=64, required=False)


class TenantMadeOut(TenantRowOut):
    host = serializers.CharField(help_text="Where its portal is.")
    administrator = WayInOut()

    class Meta(TenantRowOut.Meta):
        fields = [*TenantRowOut.Meta.fields, "host", "administrator"]


class ReasonIn(SoundSerializer):
    reason = serializers.CharField(max_length=200, required=False, default="")


class TenantQuotaIn(SoundSerializer):
    """Totals by item; what is not named stays as it is."""

    instances = serializers.IntegerField(min_value=0, required=False)
    compute_percent = serializers.IntegerField(min_value=0, required=False)
    gpu_memory_mib = serializers.IntegerField(min_value=0, required=False)
    host_cpu_milli = serializers.IntegerField(min_value=0, required=False, help_text="Thousandths of cores.")
    host_memory_mib = serializers.IntegerField(min_value=0, required=False)
    storage_mib = serializers.IntegerField(min_value=0, required=False)

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
