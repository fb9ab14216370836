"""The operators' pages of the pool: nodes, devices, slices and sessions, resource groups, specifications."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from apps.fleet.forms import DEVICE_STATES, DevicesForm, GrantForm, NodesForm, SlicesForm
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
    node_held_list,
    node_list,
    slice_get,
    slice_open_list,
    spec_list,
)
from apps.fleet.states import Health, NodeState, SliceKind, SliceState
from apps.identity.pages.access import cleaned, operator_page, paged, show
from apps.identity.pages.lists.acts import ListAct
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.picks import people_shown
from apps.identity.pages.requests import PortalRequest
from apps.tenancy.selectors import tenant_active_list

LIVE = ["pool", "alarms"]
# Nodes as cards, each with all its devices.
_CARDS_PER_PAGE = 24
# With more cards than this the page has a search.
_CARDS_SEARCHED = 6
_NODE_STATES = [pair for pair in NodeState.choices if pair[0] != NodeState.REMOVED]


NODES = PageList(
    Column("node", gettext_lazy("Node"), sort="name", value="name"),
    Column("state", gettext_lazy("State"), sort=ranked("state", NodeState.values), value="get_state_display"),
    Column("devices", gettext_lazy("Devices"), sort="device_count", value="device_count"),
    Column("compute", gettext_lazy("Compute held"), sort="held_percent", value="held_percent", unit="%"),
    Column("memory", gettext_lazy("Memory held"), sort="held_mib", value="held_mib", unit="MiB"),
    Column("address", gettext_lazy("Address"), sort="address", value="address"),
    Column("agent", gettext_lazy("Node agent"), sort="agent_version", value="agent_version"),
    Column("power", gettext_lazy("Power"), sort="power_w", value="power_w", unit="W"),
    Column("seen", gettext_lazy("Last seen"), sort="last_seen_at", value="last_seen_at"),
    Column("joined", gettext_lazy("Joined"), sort="created_at", value="created_at", is_extra=True),
    order="node",
    places=("layout",),
)


@operator_page(P.VIEW)
def nodes(request: PortalRequest) -> HttpResponseBase:
    """The nodes with what is held of them, as cards or as a table (POOL-12.17)."""
    chosen = cleaned(NodesForm(request.GET))
    if chosen["layout"] == "table":
        return _node_table(request, chosen)
    found = node_list(search=chosen["search"], state=chosen["state"])
    rows = paged(request, found, _CARDS_PER_PAGE)
    for row in rows:
        cards = list(row.devices.all())
        row.held_percent, row.room_percent = _sum(cards, "held_percent"), _sum(cards, "room_percent")
        row.held_mib, row.room_mib = _sum(cards, "held_mib"), _sum(cards, "room_mib")
        row.cards = cards
    context = {
        "chosen": chosen,
        "states": _NODE_STATES,
        "rows": rows,
        # Of few nodes all are in sight.
        "has_search": rows.paginator.count > _CARDS_SEARCHED or chosen["search"] or chosen["state"],
        "live": LIVE,
    }
    return show(request, "fleet/nodes", context)


def _node_table(request: PortalRequest, chosen: dict[str, str]) -> HttpResponseBase:
    rows = node_held_list(search=chosen["search"], state=chosen["state"])
    acts = [
        ListAct(reverse("fleet:nodes_drain"), gettext_lazy("Take no new work"), "player-pause"),
        ListAct(reverse("fleet:nodes_undrain"), gettext_lazy("Take work again"), "player-play"),
    ]
    context = {
        "chosen": chosen,
        "states": _NODE_STATES,
        "acts": acts if request.actor.may(P.MANAGE) else [],
        "live": LIVE,
    }
    return show_list(request, "fleet/node_table", NODES, rows, context)


def _sum(devices: list[Device], name: str) -> int:
    return sum(getattr(device, name) for device in devices)


@operator_page(P.VIEW)
def node(request: PortalRequest, uid: str) -> HttpResponse:
    """One node: address, state, component versions, cards, tasks (POOL-12.17)."""
    row = node_get(uid)
    cards = devices_used(row.devices.all())
    held = [each for card in cards for each in card.uses]
    return show(request, "fleet/node", {"node": row, "devices": cards, "slices": held, "live": LIVE})


DEVICES = PageList(
    Column(
        "device",
        gettext_lazy("Device"),
        sort=("model", "index"),
        value=lambda row: f"{row.model} #{row.index}",
    ),
    Column("node", gettext_lazy("Node"), sort=("node__name", "index"), value="node.name"),
    Column("vendor", gettext_lazy("Vendor"), sort="vendor", value="vendor", is_extra=True),
    Column("size", gettext_lazy("Memory"), sort="memory_mib", value="memory_mib", unit="MiB", is_extra=True),
    Column("driver", gettext_lazy("Driver"), sort="driver_version", value="driver_version", is_extra=True),
    Column("state", gettext_lazy("State"), sort=ranked("health", Health.values), value="get_health_display"),
    Column("compute", gettext_lazy("Compute held"), sort="held_percent", value="held_percent", unit="%"),
    Column("memory", gettext_lazy("Memory held"), sort="held_mib", value="held_mib", unit="MiB"),
    Column("delivered", gettext_lazy("Delivered"), value="delivered_percent", unit="%"),
    Column("slices", gettext_lazy("Slices"), value=lambda row: len(row.uses)),
)


@operator_page(P.VIEW)
def devices(request: PortalRequest) -> HttpResponseBase:
    """The cards of every vendor, alike: state, class, what is held (POOL-12.16, POOL-12.26)."""
    chosen = cleaned(DevicesForm(request.GET))
    rows = _chosen(device_list().order_by("node__name", "index", "pk"), **chosen)
    context = {"chosen": chosen, "states": DEVICE_STATES, "live": LIVE}
    return show_list(request, "fleet/devices", DEVICES, rows, context, prepare=devices_used)


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


SLICES = PageList(
    Column("slice", gettext_lazy("Slice"), sort="uid", value=lambda row: str(row.uid)[:8]),
    Column("kind", gettext_lazy("Kind"), sort="kind", value="get_kind_display", is_extra=True),
    Column("tenant", gettext_lazy("Tenant"), sort="tenant__name", value="tenant.name"),
    Column("node", gettext_lazy("Node"), sort="node__name", value="node.name", is_extra=True),
    Column(
        "device",
        gettext_lazy("Device"),
        sort=("node__name", "device__index"),
        value=lambda row: f"{row.device.model} #{row.device.index}",
    ),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", SliceState.values), value="get_state_display"
    ),
    Column(
        "share",
        gettext_lazy("Compute sold"),
        sort="compute_percent",
        value="compute_percent",
        unit="%",
        is_extra=True,
    ),
    Column(
        "compute",
        gettext_lazy("Compute delivered"),
        sort="delivered_percent",
        value="delivered_percent",
        unit="%",
    ),
    Column(
        "memory", gettext_lazy("Memory used"), sort="memory_used_mib", value="memory_used_mib", unit="MiB"
    ),
    Column("connection", gettext_lazy("Connection"), value=lambda row: row.session.get("transport", "")),
    Column("created", gettext_lazy("Created at"), sort="created_at", value="created_at", is_extra=True),
    order="-created",
)


@operator_page(P.VIEW)
def slices(request: PortalRequest) -> HttpResponseBase:
    """Slices and sessions across tenants: sold and delivered share, memory, connection."""
    chosen = cleaned(SlicesForm(request.GET))
    rows = slice_open_list()
    if chosen["kind"]:
        rows = rows.filter(kind=chosen["kind"])
    if search := chosen["search"]:
        words = Q(node__name__icontains=search) | Q(device__uid__icontains=search)
        rows = rows.filter(words | Q(tenant__schema_name__icontains=search))
    context = {"chosen": chosen, "kinds": SliceKind.choices, "live": LIVE}
    return show_list(request, "fleet/slices", SLICES, rows, context)


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
        "grant_form": GrantForm(tenants=tenant_active_list().order_by("schema_name")),
    }
    return show(request, "fleet/group", context)


@operator_page(P.MANAGE)
def people(request: PortalRequest) -> HttpResponse:
    """To whom of a tenant a group can be granted, by part of a name."""
    return people_shown(request)


@operator_page(P.VIEW)
def specs(request: PortalRequest) -> HttpResponse:
    """The named shares on offer (POOL-12.14)."""
    return show(request, "fleet/specs", {"specs": spec_list(), "mig_profiles": mig_profiles()})
