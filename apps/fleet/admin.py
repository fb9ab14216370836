"""The pool on the operator pages: nodes, devices and slices, and what operators decide about them."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from apps.fleet.models import Device, GroupGrant, Node, ResourceGroup, Slice, Spec
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.services.nodes.devices import (
    device_disable,
    device_enable,
    device_memory_accept,
    device_oversubscribe,
    device_remove,
    device_slicing_set,
)
from apps.fleet.services.nodes.membership import node_drain, node_remove, node_undrain
from apps.fleet.states import NodeState
from apps.identity.admin_base import Act, ActForm, OperatorAdmin, OperatorInline
from apps.kernel.actor import Actor

Given = Mapping[str, Any]


class OversubscribeForm(ActForm):
    compute_permille = forms.IntegerField(label=gettext_lazy("Compute oversubscription (‰)"), min_value=1000)
    memory_permille = forms.IntegerField(label=gettext_lazy("Memory oversubscription (‰)"), min_value=1000)


def _node_drain(actor: Actor, row: Node, given: Given) -> str:
    node_drain(actor=actor, node_uid=row.uid)
    return _("%(node)s takes no new slices; those that run go on.") % {"node": row}


def _node_undrain(actor: Actor, row: Node, given: Given) -> str:
    node_undrain(actor=actor, node_uid=row.uid)
    return _("%(node)s takes slices again.") % {"node": row}


def _node_remove(actor: Actor, row: Node, given: Given) -> str:
    node = node_remove(actor=actor, node_uid=row.uid)
    if node.state == NodeState.REMOVED:
        return _("%(node)s is out of the pool.") % {"node": row}
    return _("%(node)s leaves the pool when its last slice has ended.") % {"node": row}


def _device_enable(actor: Actor, row: Device, given: Given) -> str:
    device_enable(actor=actor, device_uid=row.uid)
    return _("%(device)s takes slices again.") % {"device": row}


def _device_disable(actor: Actor, row: Device, given: Given) -> str:
    device_disable(actor=actor, device_uid=row.uid)
    return _("%(device)s takes no new slices; those that run go on.") % {"device": row}


def _slicing_switch(actor: Actor, row: Device, given: Given) -> str:
    device = device_slicing_set(actor=actor, device_uid=row.uid, is_sliced=not row.is_sliced)
    if device.is_sliced:
        return _("%(device)s is virtualised: shares of it are given.") % {"device": row}
    return _("%(device)s is a physical card: it is given as a whole.") % {"device": row}


def _device_remove(actor: Actor, row: Device, given: Given) -> str:
    device = device_remove(actor=actor, device_uid=row.uid)
    if device.left_at is not None:
        return _("%(device)s is out of the pool.") % {"device": row}
    return _("%(device)s leaves the pool when its last slice has ended.") % {"device": row}


def _oversubscribe(actor: Actor, row: Device, given: Given) -> str:
    device_oversubscribe(actor=actor, device_uid=row.uid, **given)
    return _("The oversubscription of %(device)s is set.") % {"device": row}


def _memory_accept(actor: Actor, row: Device, given: Given) -> str:
    device = device_memory_accept(actor=actor, device_uid=row.uid)
    return _("%(device)s has %(memory)s MiB now.") % {"device": row, "memory": device.memory_mib}


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
    row_acts = [
        Act(
            "drain",
            gettext_lazy("Drain"),
            P.MANAGE,
            _node_drain,
            hint=gettext_lazy("No new slices are put on it; those that run go on."),
            icon="water_drop",
            applies=lambda row: not row.is_drained and row.state != NodeState.REMOVED,
        ),
        Act(
            "undrain",
            gettext_lazy("Use again"),
            P.MANAGE,
            _node_undrain,
            icon="play_circle",
            applies=lambda row: (row.is_drained or row.is_leaving) and row.state != NodeState.REMOVED,
        ),
        Act(
            "remove",
            gettext_lazy("Remove from the pool"),
            P.MANAGE,
            _node_remove,
            hint=gettext_lazy("It takes nothing new and leaves when what runs there has ended."),
            icon="delete",
            is_danger=True,
            applies=lambda row: row.state != NodeState.REMOVED and not row.is_leaving,
        ),
    ]

    @display(
        description=gettext_lazy("state"),
        label={"ready": "success", "lost": "danger", "drained": "warning", "removed": "info"},
    )
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
    row_acts = [
        Act(
            "disable",
            gettext_lazy("Disable"),
            P.MANAGE,
            _device_disable,
            hint=gettext_lazy("No new slices are cut from it; those that run go on."),
            icon="block",
            is_danger=True,
            applies=lambda row: row.is_enabled,
        ),
        Act(
            "enable",
            gettext_lazy("Enable"),
            P.MANAGE,
            _device_enable,
            icon="check",
            applies=lambda row: not row.is_enabled or row.is_leaving,
        ),
        Act(
            "physical",
            gettext_lazy("Make it a physical card"),
            P.MANAGE,
            _slicing_switch,
            hint=gettext_lazy(
                "Virtualisation off: it is given as a whole. Refused while something is held of it."
            ),
            icon="crop_square",
            applies=lambda row: row.is_sliced,
        ),
        Act(
            "virtual",
            gettext_lazy("Virtualise it"),
            P.MANAGE,
            _slicing_switch,
            hint=gettext_lazy("Virtualisation on: shares of 1 % and 1 MiB are cut from it."),
            icon="grid_view",
            applies=lambda row: not row.is_sliced,
        ),
        Act(
            "remove",
            gettext_lazy("Remove from the pool"),
            P.MANAGE,
            _device_remove,
            hint=gettext_lazy("It takes nothing new and leaves when what runs there has ended."),
            icon="delete",
            is_danger=True,
            applies=lambda row: not row.is_leaving,
        ),
        Act(
            "oversubscribe",
            gettext_lazy("Oversubscribe"),
            P.MANAGE,
            _oversubscribe,
            OversubscribeForm,
            hint=gettext_lazy("How often each percent and MiB may be held, in permille: 1000 is once."),
            icon="layers",
            initial=lambda row: {
                "compute_permille": row.oversubscribe_permille,
                "memory_permille": row.memory_oversubscribe_permille,
            },
        ),
        Act(
            "accept_memory",
            gettext_lazy("Accept the reported memory"),
            P.MANAGE,
            _memory_accept,
            hint=gettext_lazy("Look first why it changed: the old figure holds until then."),
            icon="memory",
            applies=lambda row: row.memory_mib != row.reported_mib,
        ),
    ]

    @display(
        description=gettext_lazy("health"), label={"ok": "success", "degraded": "warning", "failed": "danger"}
    )
    def shown_health(self, row: Device) -> tuple[str, str]:
        return row.health, row.get_health_display()


@admin.register(Slice)
class SliceAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = [
        "uid", "kind", "tenant", "node", "device", "compute_percent", "memory_mib", "desired", "shown_state",
        "delivered_percent", "memory_used_mib", "move_state", "started_at", "ended_at",
    ]  # fmt: skip
    list_filter = ["state", "kind", "desired", "tenant", "node"]
    exclude = ["session_key", "ticket"]
    list_select_related = ["tenant", "node", "device"]
    search_fields = ["uid", "workload_uid", "device__uid"]

    @display(
        description=gettext_lazy("state"),
        label={
            "desired": "info", "starting": "info", "running": "success", "stopping": "warning", "failed": "danger",
            "lost": "danger", "exited": "info", "released": "info",
        },
    )  # fmt: skip
    def shown_state(self, row: Slice) -> tuple[str, str]:
        return row.state, row.get_state_display()


class GrantInline(OperatorInline):
    model = GroupGrant
    fields = ["tenant", "is_open", "created_at"]


@admin.register(ResourceGroup)
class ResourceGroupAdmin(OperatorAdmin):
    """Kept on an operator page of its own; here it is looked up."""

    view_permission = P.VIEW
    list_display = ["code", "name_en", "name_zh", "created_at"]
    search_fields = ["code", "name_en", "name_zh"]
    inlines = [GrantInline]


@admin.register(Spec)
class SpecAdmin(OperatorAdmin):
    """Kept on an operator page of its own; here it is looked up."""

    view_permission = P.VIEW
    list_display = ["code", "name_en", "name_zh", "compute_percent", "memory_mib", "is_enabled", "created_at"]
    list_filter = ["is_enabled"]
    search_fields = ["code", "name_en", "name_zh"]
