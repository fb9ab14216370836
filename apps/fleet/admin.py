"""The pool as tables; what is done with nodes, devices and slices is done on their own pages."""

from django.contrib import admin
from django.utils.translation import gettext_lazy

from apps.fleet.models import Device, GroupGrant, Node, ResourceGroup, Slice, Spec
from apps.fleet.permissions import FleetPermission as P
from apps.identity.admin_base import OperatorAdmin, OperatorInline, column


class DeviceInline(OperatorInline):
    model = Device
    fields = ["index", "vendor", "model", "memory_mib", "health", "is_enabled", "held_percent", "held_mib"]
    show_change_link = True


@admin.register(Node)
class NodeAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "name", "shown_state", "is_drained", "is_leaving", "address", "last_seen_at", "agent_version", "created_at",
    ]  # fmt: skip
    list_filter = ["state"]
    search_fields = ["name", "uid"]
    exclude = ["boots_past", "sync_seq"]
    inlines = [DeviceInline]
    page = ("fleet:node", "uid")

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Node) -> tuple[str, str]:
        return row.state, row.get_state_display()


@admin.register(Device)
class DeviceAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "model", "node", "index", "vendor", "memory_mib", "shown_health", "is_enabled", "is_sliced", "group",
        "is_simulated", "held_percent", "held_mib",
    ]  # fmt: skip
    list_filter = [
        "health",
        "is_enabled",
        "is_sliced",
        "is_leaving",
        "is_simulated",
        "vendor",
        "node",
        "group",
    ]
    list_select_related = ["node", "group"]
    search_fields = ["uid", "model", "vendor", "node__name"]
    page = ("fleet:device", "uid")

    @column(description=gettext_lazy("health"), is_state=True)
    def shown_health(self, row: Device) -> tuple[str, str]:
        return row.health, row.get_health_display()


@admin.register(Slice)
class SliceAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("fleet:slice", "uid")
    list_display = [
        "uid", "kind", "tenant", "node", "device", "compute_percent", "memory_mib", "desired", "shown_state",
        "delivered_percent", "memory_used_mib", "move_state", "started_at", "ended_at",
    ]  # fmt: skip
    list_filter = ["state", "kind", "desired", "tenant", "node"]
    exclude = ["session_key", "ticket"]
    list_select_related = ["tenant", "node", "device"]
    search_fields = ["uid", "workload_uid", "device__uid"]

    @column(description=gettext_lazy("state"), is_state=True)
    def shown_state(self, row: Slice) -> tuple[str, str]:
        return row.state, row.get_state_display()


class GrantInline(OperatorInline):
    model = GroupGrant
    fields = ["tenant", "is_open", "created_at"]


@admin.register(ResourceGroup)
class ResourceGroupAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("fleet:group", "code")
    list_display = ["code", "name_en", "name_zh", "created_at"]
    search_fields = ["code", "name_en", "name_zh"]
    inlines = [GrantInline]


@admin.register(Spec)
class SpecAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("fleet:specs", "")
    list_display = ["code", "name_en", "name_zh", "compute_percent", "memory_mib", "is_enabled", "created_at"]
    list_filter = ["is_enabled"]
    search_fields = ["code", "name_en", "name_zh"]
