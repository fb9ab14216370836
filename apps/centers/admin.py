"""The centres and the network's specifications as tables; what is done with them is done on their own pages."""

from django.contrib import admin
from django.utils.translation import gettext_lazy

from apps.centers.models import Center, ResourceSpec, SpecOffer
from apps.centers.permissions import CentersPermission as P
from apps.centers.states import CenterStatus
from apps.identity.admin_base import OperatorAdmin, OperatorInline, column

# By its status the state that its badge shows.
_BADGES = {CenterStatus.AVAILABLE: "up", CenterStatus.UNAVAILABLE: "down", CenterStatus.UNKNOWN: "warning"}


class SpecOfferInline(OperatorInline):
    model = SpecOffer
    fields = ["spec", "center", "price_minor", "performance", "idle_power_w", "running_power_w"]


@admin.register(Center)
class CenterAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "name", "ai_center_id", "shown_status", "is_drained", "kind", "region", "security_grade", "answered_at",
        "created_at",
    ]  # fmt: skip
    list_filter = ["status", "is_drained", "kind"]
    search_fields = ["name", "ai_center_id", "region"]
    exclude = ["revision"]
    inlines = [SpecOfferInline]
    page = ("centers:center", "ai_center_id")

    @column(description=gettext_lazy("status"), is_state=True)
    def shown_status(self, row: Center) -> tuple[str, str]:
        return _BADGES[CenterStatus(row.status)], row.get_status_display()


@admin.register(ResourceSpec)
class ResourceSpecAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "resource_spec_name", "resource_spec_id", "cpu", "gpu", "npu", "mlu", "memory_mb", "storage_gb", "price_minor",
        "created_at",
    ]  # fmt: skip
    search_fields = ["resource_spec_name", "resource_spec_id"]
    inlines = [SpecOfferInline]
    page = ("centers:spec", "resource_spec_id")
