"""The operators' pages of the pool: nodes, devices, slices and sessions, resource groups, specifications."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext

from apps.fleet.forms import DEVICE_STATES, DevicesForm, SlicesForm
from apps.fleet.mig_profiles import mig_profiles
from apps.fleet.models import Device, Slice
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.selectors import (
    device_get,
    device_list,
    devices_used,
    group_get,
    group_list,
    move_target_list,
    node_get,
    node_list,
    slice_get,
    slice_open_list,
    spec_list,
)
from apps.fleet.states import Health, SliceKind
from apps.identity.pages.access import cleaned, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.tenancy.selectors import tenant_active_list

LIVE = ["pool", "alarms"]


@operator_page(P.VIEW)
def nodes(request: PortalRequest) -> HttpResponse:
    """The nodes with what is held of them (POOL-12.17)."""
    rows = list(node_list())
    for row in rows:
        cards = list(row.devices.all())
        row.held_percent, row.room_percent = _sum(cards, "held_percent"), _sum(cards, "room_percent")
        row.held_mib, row.room_mib = _sum(cards, "held_mib"), _sum(cards, "room_mib")
        row.cards = cards
    return show(request, "fleet/nodes", {"nodes": rows, "live": LIVE})


def _sum(devices: list[Device], name: str) -> int:
    return sum(getattr(device, name) for device in devices)


@operator_page(P.VIEW)
def node(request: PortalRequest, uid: str) -> HttpResponse:
    """One node: address, state, component versions, cards, tasks (POOL-12.17)."""
    row = node_get(uid)
    cards = devices_used(row.devices.all())
    held = [each for card in cards for each in card.uses]
    return show(request, "fleet/node", {"node": row, "devices": cards, "slices": held, "live": LIVE})


@operator_page(P.VIEW)
def devices(request: PortalRequest) -> HttpResponse:
    """The cards of every vendor, alike: state, class, what is held (POOL-12.16, POOL-12.26)."""
    chosen = cleaned(DevicesForm(request.GET))
    rows = _chosen(device_list().order_by("node__name", "index", "pk"), **chosen)
    page = paged(request, rows)
    context = {"rows": page, "devices": devices_used(page), "chosen": chosen, "states": DEVICE_STATES}
    return show(request, "fleet/devices", context | {"live": LIVE})


def _chosen(rows: QuerySet[Device], *, search: str, state: str) -> QuerySet[Device]:
    conditions = {
        "": Q(),
        "virtual": Q(is_sliced=True),
        "physical": Q(is_sliced=False),
        "disabled": Q(is_enabled=False),
        "ill": ~Q(health=Health.OK),
        "leaving": Q(is_leaving=True),
    }
    words = Q(uid__icontains=search) | Q(model__icontains=search) | Q(vendor__icontains=search)
    return rows.filter(conditions[state], words | Q(node__name__icontains=search))


@operator_page(P.VIEW)
def device(request: PortalRequest, uid: str) -> HttpResponse:
    """One card: its facts, its class, what is held of it and by whom (POOL-12.15)."""
    (row,) = devices_used([device_get(uid)])
    return show(request, "fleet/device", {"device": row, "slices": row.uses, "live": LIVE})


@operator_page(P.VIEW)
def slices(request: PortalRequest) -> HttpResponse:
    """Slices and sessions across tenants: sold and delivered share, memory, connection."""
    chosen = cleaned(SlicesForm(request.GET))
    rows = slice_open_list().order_by("-created_at", "-pk")
    if chosen["kind"]:
        rows = rows.filter(kind=chosen["kind"])
    if search := chosen["search"]:
        words = Q(node__name__icontains=search) | Q(device__uid__icontains=search)
        rows = rows.filter(words | Q(tenant__schema_name__icontains=search))
    context = {"rows": paged(request, rows), "chosen": chosen, "kinds": SliceKind.choices, "live": LIVE}
    return show(request, "fleet/slices", context)


@operator_page(P.VIEW)
def slice_page(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One slice or session; a session may be moved from here (POOL-12.23)."""
    row = slice_get(uid)
    target = Slice.objects.across().filter(moves_from=row.uid).order_by("-pk").first()
    is_moving = row.is_moving or (target is not None and target.is_moving)
    may_move = request.actor.may(P.MANAGE) and row.kind == SliceKind.SESSION and not row.is_final
    context = {
        "slice": row,
        "target": target,
        "move_reason": gettext(target.move_reason) if target and target.move_reason else "",
        "is_moving": is_moving,
        "targets": move_target_list(row) if may_move and not is_moving else [],
        "live": [*LIVE, f"workload.{row.workload_uid}"],
    }
    return show(request, "fleet/slice", context)


@operator_page(P.VIEW)
def groups(request: PortalRequest) -> HttpResponse:
    """The resource groups with their devices and grants (POOL-12.13)."""
    return show(request, "fleet/groups", {"groups": group_list()})


@operator_page(P.VIEW)
def group(request: PortalRequest, code: str) -> HttpResponse:
    """One group: which devices are in it, and whom it is granted to."""
    row = group_list().get(pk=group_get(code).pk)
    context = {
        "group": row,
        "devices": device_list().order_by("node__name", "index", "pk"),
        "tenants": tenant_active_list().order_by("schema_name"),
    }
    return show(request, "fleet/group", context)


@operator_page(P.VIEW)
def specs(request: PortalRequest) -> HttpResponse:
    """The named shares on offer (POOL-12.14)."""
    return show(request, "fleet/specs", {"specs": spec_list(), "mig_profiles": mig_profiles()})
