"""Bodies and answers about centres and specifications, by the names that tables 1 to 4 print."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.centers.models import (
    GRADE_MOST,
    PRICE_MOST,
    SECONDS_MOST,
    Center,
    CenterTenant,
    RemoteTask,
    ResourceSpec,
    SpecOffer,
)
from apps.centers.states import Serves, ServiceType
from apps.centers.types import AMOUNTS
from apps.identity.api.sound import ProgramField, SoundSerializer


class KindFieldOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    help = serializers.CharField()
    is_secret = serializers.BooleanField()
    is_required = serializers.BooleanField()
    is_long = serializers.BooleanField()


class CenterKindOut(serializers.Serializer[Any]):
    """A kind of centre, and what is to be filled in for one of it. `keeps_apart`: whether it keeps tenants' work apart
    by itself; `sharing`: what tenants that share one can do to each other's work; `account_inputs`: what is filled in
    for the account there of a tenant's own."""

    code = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    inputs = KindFieldOut(many=True, source="fields")
    keeps_apart = serializers.BooleanField()
    sharing = serializers.CharField(allow_blank=True)
    account_inputs = KindFieldOut(many=True, source="account_fields")


class CenterTenantOut(serializers.ModelSerializer[CenterTenant]):
    """A tenant that a centre serves by name. `account`: the account there that its work runs under; empty: the
    centre's own."""

    tenant = serializers.CharField(source="tenant.schema_name", read_only=True)
    name = serializers.CharField(source="tenant.name", read_only=True)
    account = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = CenterTenant
        fields = ["tenant", "name", "account", "changed_at"]


class QuantitiesOut(serializers.Serializer[Any]):
    """Table 2: memory in MB, storage in GB."""

    cpu = serializers.IntegerField()
    gpu = serializers.IntegerField()
    npu = serializers.IntegerField()
    mlu = serializers.IntegerField()
    memory = serializers.IntegerField()
    storage = serializers.IntegerField()
    user_define = serializers.IntegerField()


class MonitoringOut(serializers.Serializer[Any]):
    """Table 4, in the units of table 2, and when it was so."""

    center_name = serializers.CharField()
    running_task_num = serializers.IntegerField()
    waiting_task_num = serializers.IntegerField()
    cpu_used = serializers.IntegerField()
    cpu_free = serializers.IntegerField()
    npu_used = serializers.IntegerField()
    npu_free = serializers.IntegerField()
    gpu_used = serializers.IntegerField()
    gpu_free = serializers.IntegerField()
    mlu_used = serializers.IntegerField()
    mlu_free = serializers.IntegerField()
    memory_used = serializers.IntegerField()
    memory_free = serializers.IntegerField()
    storage_used = serializers.IntegerField()
    storage_free = serializers.IntegerField()
    defineres_used = serializers.IntegerField()
    defineres_free = serializers.IntegerField()
    node_num = serializers.IntegerField()
    version = serializers.CharField(allow_blank=True)
    answered_at = serializers.DateTimeField()


class TroubleOut(serializers.Serializer[Any]):
    """Why the centre's last call came to nothing."""

    kind = serializers.CharField()
    message = serializers.CharField()
    at = serializers.DateTimeField()


class CenterOut(serializers.ModelSerializer[Center]):
    """Table 1, what is set of the centre beside it, and its last answer. `status`: 0 unavailable, 1 available,
    2 unknown. `geometry`: [longitude, latitude]. `disbelieved_count`: reports of its jobs that could not be true.
    `serves`: "all" tenants, or those "named" in `tenants` alone."""

    geometry = serializers.ListField(child=serializers.FloatField(), allow_null=True, read_only=True)
    settings = serializers.DictField(child=serializers.CharField(), read_only=True)
    resources = serializers.SerializerMethodField()
    monitoring = serializers.SerializerMethodField()
    trouble = serializers.SerializerMethodField()
    tenants = CenterTenantOut(many=True, read_only=True)

    class Meta:
        model = Center
        fields = [
            "ai_center_id", "name", "region", "status", "geometry", "created_at", "updated_at", "kind", "settings",
            "is_drained", "security_grade", "stale_after_s", "lost_after_s", "answered_at", "resources", "monitoring",
            "trouble", "disbelieved_count", "serves", "tenants",
        ]  # fmt: skip

    @extend_schema_field(QuantitiesOut(allow_null=True))
    def get_resources(self, row: Center) -> dict[str, int] | None:
        """What it holds, by its last answer."""
        sample = getattr(row, "sample", None)
        return QuantitiesOut(sample.total).data if sample else None

    @extend_schema_field(MonitoringOut(allow_null=True))
    def get_monitoring(self, row: Center) -> dict[str, Any] | None:
        """What of it is in use and free, by its last answer."""
        sample = getattr(row, "sample", None)
        if sample is None:
            return None
        found = {
            "center_name": row.name,
            "running_task_num": sample.running_tasks,
            "waiting_task_num": sample.waiting_tasks,
            "node_num": sample.nodes,
            "version": sample.version,
            "answered_at": sample.answered_at,
        }
        used, free = sample.used, sample.free
        for name in AMOUNTS:
            printed = "defineres" if name == "user_define" else name
            found[f"{printed}_used"] = getattr(used, name)
            found[f"{printed}_free"] = getattr(free, name)
        return dict(MonitoringOut(found).data)

    @extend_schema_field(TroubleOut(allow_null=True))
    def get_trouble(self, row: Center) -> dict[str, Any] | None:
        """Nothing where its last call went well."""
        if not row.trouble:
            return None
        return dict(TroubleOut({"kind": row.trouble, "message": row.error, "at": row.error_at}).data)


class RemoteTaskOut(serializers.ModelSerializer[RemoteTask]):
    """One attempt of one replica at a centre. `state`: new, sending, waiting, running, succeeded, failed, stopped,
    refused or lost, since `state_at`. `is_left`: it is over, and the centre may still have it until it is stopped."""

    class Meta:
        model = RemoteTask
        fields = [
            "key", "owner", "desired", "state", "state_at", "is_left", "native_id", "native_state", "cause",
            "exit_code", "started_at", "ended_at", "seen_at", "created_at",
        ]  # fmt: skip


class _ValuesField(serializers.DictField):
    """Values of a kind's fields, by their names."""

    child = ProgramField(allow_blank=True, max_length=32_768, trim_whitespace=False)


class CenterChangeIn(SoundSerializer):
    name = serializers.CharField(max_length=63, required=False)
    region = serializers.CharField(max_length=63, required=False, allow_blank=True)
    geometry = serializers.ListField(
        child=serializers.FloatField(),
        min_length=2,
        max_length=2,
        required=False,
        allow_null=True,
        help_text="[longitude, latitude]",
    )
    security_grade = serializers.IntegerField(min_value=1, max_value=GRADE_MOST, required=False)
    stale_after_s = serializers.IntegerField(min_value=1, max_value=SECONDS_MOST, required=False)
    lost_after_s = serializers.IntegerField(min_value=2, max_value=SECONDS_MOST, required=False)
    settings = _ValuesField(required=False, help_text="All values of the kind's fields that are not secret.")
    credential = _ValuesField(
        required=False,
        write_only=True,
        help_text="Values of the kind's secret fields, given anew beside `settings` that name another address or "
        "authority. Never shown again.",
    )


class CenterIn(CenterChangeIn):
    ai_center_id = serializers.CharField(max_length=32)
    name = serializers.CharField(max_length=63)
    kind = serializers.CharField(max_length=48)
    settings = _ValuesField(default=dict)
    credential = _ValuesField(
        default=dict,
        write_only=True,
        help_text="Values of the kind's secret fields: sealed, never shown again.",
    )
    serves = serializers.ChoiceField(
        choices=Serves.choices,
        default=None,
        allow_null=True,
        help_text="Whose work is sent there. Nothing: all tenants' where its kind keeps them apart, else that of "
        "`tenants` alone.",
    )
    may_share = serializers.BooleanField(default=False, help_text="As when it is set later.")
    tenants = serializers.ListField(
        child=serializers.CharField(max_length=63),
        default=list,
        max_length=1000,
        help_text="Codes of tenants that it serves under its own account.",
    )


class CenterServesIn(SoundSerializer):
    serves = serializers.ChoiceField(choices=Serves.choices)
    may_share = serializers.BooleanField(
        default=False,
        help_text="Said where a kind that does not keep tenants apart is to serve all: that they may share the centre.",
    )


class CenterTenantIn(SoundSerializer):
    account = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=63),
        default=dict,
        help_text="Values of the kind's `account_inputs`; nothing: its work runs under the centre's own account.",
    )


class CredentialIn(SoundSerializer):
    credential = _ValuesField(write_only=True)


class SpecOfferOut(serializers.ModelSerializer[SpecOffer]):
    """A row of the mapping: a specification at a centre. `price`: minor currency per hour; `cost`: what the centre gets
    for one, null where nothing was agreed. `free_count`: how many replicas fit there by its last answer; null where
    nothing is known now. Power in watts."""

    resource_spec_id = serializers.CharField(source="spec.resource_spec_id", read_only=True)
    ai_center_id = serializers.CharField(source="center.ai_center_id", read_only=True)
    center_name = serializers.CharField(source="center.name", read_only=True)
    center_status = serializers.IntegerField(source="center.status", read_only=True)
    price = serializers.IntegerField(source="price_there_minor", read_only=True)
    cost = serializers.IntegerField(source="cost_minor", allow_null=True, read_only=True)
    free_count = serializers.IntegerField(allow_null=True, read_only=True)

    class Meta:
        model = SpecOffer
        fields = [
            "resource_spec_id", "ai_center_id", "center_name", "center_status", "price", "cost", "free_count",
            "performance", "idle_power_w", "running_power_w", "created_at", "updated_at",
        ]  # fmt: skip


class OfferIn(SoundSerializer):
    price = serializers.IntegerField(
        min_value=0,
        max_value=PRICE_MOST,
        allow_null=True,
        default=None,
        help_text="Nothing: the specification's.",
    )
    cost = serializers.IntegerField(
        min_value=0,
        max_value=PRICE_MOST,
        allow_null=True,
        default=None,
        help_text="What the centre gets for an hour, in minor currency. Nothing: nothing is owed to it.",
    )
    performance = serializers.FloatField(min_value=0, allow_null=True, default=None)
    idle_power_w = serializers.FloatField(min_value=0, allow_null=True, default=None)
    running_power_w = serializers.FloatField(min_value=0, allow_null=True, default=None)


class ResourceSpecOut(serializers.ModelSerializer[ResourceSpec]):
    """Table 3. `price`: minor currency per hour; `computing_center_list`: the centres that offer it, with commas."""

    resource_quantity = serializers.DictField(child=serializers.CharField(), read_only=True)
    price = serializers.IntegerField(source="price_minor", read_only=True)
    computing_center_list = serializers.SerializerMethodField()
    offers = SpecOfferOut(many=True, read_only=True)

    class Meta:
        model = ResourceSpec
        fields = [
            "resource_spec_id", "resource_spec_name", "resource_quantity", "service_type", "price",
            "computing_center_list", "created_at", "updated_at", "offers",
        ]  # fmt: skip

    def get_computing_center_list(self, row: ResourceSpec) -> str:
        """Codes, in the order of the centres' names."""
        return ",".join(offer.center.ai_center_id for offer in row.offers.all())


class ResourceSpecChangeIn(SoundSerializer):
    resource_spec_name = serializers.CharField(max_length=63, required=False)
    resource_quantity = serializers.DictField(
        child=serializers.CharField(max_length=16),
        required=False,
        help_text='Of cpu, gpu, npu, mlu, memory, storage, user_define: {"cpu": "4", "memory": "16Gi", "gpu": "1"}.',
    )
    service_type = serializers.CharField(
        max_length=63, required=False, help_text=f"Of {', '.join(ServiceType.values)}; several with commas."
    )
    price = serializers.IntegerField(min_value=0, max_value=PRICE_MOST, required=False)


class ResourceSpecIn(ResourceSpecChangeIn):
    resource_spec_id = serializers.CharField(max_length=32)
    resource_spec_name = serializers.CharField(max_length=63)
    resource_quantity = serializers.DictField(
        child=serializers.CharField(max_length=16),
        help_text='Of cpu, gpu, npu, mlu, memory, storage, user_define: {"cpu": "4", "memory": "16Gi", "gpu": "1"}.',
    )
    service_type = serializers.CharField(
        max_length=63,
        default=ServiceType.BATCH.value,
        help_text=f"Of {', '.join(ServiceType.values)}; several with commas.",
    )
    price = serializers.IntegerField(min_value=0, max_value=PRICE_MOST, default=0)
