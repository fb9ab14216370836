"""What operators do on the pool's pages: each act is one service, told when it is done."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.fleet.forms import GrantForm, MoveForm, NameForm, OversubscribeForm, SpecForm
from apps.fleet.models import Node
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.selectors import nodes_named, slice_get
from apps.fleet.services.groups import group_devices_set, group_grant, group_make, group_remove, group_revoke
from apps.fleet.services.nodes.devices import (
    device_disable,
    device_enable,
    device_memory_accept,
    device_oversubscribe,
    device_remove,
    device_slicing_set,
)
from apps.fleet.services.nodes.membership import node_drain, node_remove, node_undrain
from apps.fleet.services.slices.moves import slice_move_begin, slice_move_cancel
from apps.fleet.services.specs import spec_disable, spec_enable, spec_make
from apps.identity.pages.access import cleaned, go, operator_page
from apps.identity.pages.lists.acts import act_on_each, chosen_rows
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import NotFound
from apps.tenancy.selectors import tenant_active_list, tenant_get

_NODE_ACTS = {"drain": node_drain, "undrain": node_undrain, "remove": node_remove}
_DEVICE_ACTS = {
    "enable": device_enable,
    "disable": device_disable,
    "accept-memory": device_memory_accept,
    "remove": device_remove,
}
_SPEC_ACTS = {"enable": spec_enable, "disable": spec_disable}


@require_POST
@operator_page(P.MANAGE)
def node_act(request: PortalRequest, uid: str, act: str) -> HttpResponse:
    """Disable, enable or remove a node."""
    if act not in _NODE_ACTS:
        raise NotFound()
    node = _NODE_ACTS[act](actor=request.actor, node_uid=uid)
    told = {
        "drain": _("%(node)s takes no new slices; those that run go on."),
        "undrain": _("%(node)s takes slices again."),
        "remove": _("%(node)s leaves the pool when its last slice has ended."),
    }
    text = _("%(node)s is out of the pool.") if node.state == "removed" else told[act]
    messages.success(request, text % {"node": node})
    return go(request, "fleet:nodes") if node.state == "removed" else go(request, "fleet:node", uid)


@require_POST
@operator_page(P.MANAGE)
def nodes_drain(request: PortalRequest) -> HttpResponse:
    """Let no new slices onto the chosen nodes."""
    return _on_chosen_nodes(request, node_drain)


@require_POST
@operator_page(P.MANAGE)
def nodes_undrain(request: PortalRequest) -> HttpResponse:
    """Let new slices onto the chosen nodes again."""
    return _on_chosen_nodes(request, node_undrain)


def _on_chosen_nodes(request: PortalRequest, act: Callable[..., Node]) -> HttpResponse:
    rows = nodes_named(chosen_rows(request)["chosen"])
    back = f"{reverse('fleet:nodes')}?layout=table"
    return act_on_each(request, rows, lambda row: act(actor=request.actor, node_uid=row.uid), back=back)


@require_POST
@operator_page(P.MANAGE)
def device_act(request: PortalRequest, uid: str, act: str) -> HttpResponse:
    """Enable, disable, remove a device, or accept its memory."""
    if act not in _DEVICE_ACTS:
        raise NotFound()
    device = _DEVICE_ACTS[act](actor=request.actor, device_uid=uid)
    told = {
        "enable": _("%(device)s takes slices again."),
        "disable": _("%(device)s takes no new slices; those that run go on."),
        "accept-memory": _("The reported memory of %(device)s is accepted."),
        "remove": _("%(device)s leaves the pool when its last slice has ended."),
    }
    text = _("%(device)s is out of the pool.") if device.left_at else told[act]
    messages.success(request, text % {"device": device.uid})
    return go(request, "fleet:device", uid)


@require_POST
@operator_page(P.MANAGE)
def device_slicing(request: PortalRequest, uid: str, mode: str) -> HttpResponse:
    """Switch a device between virtual resource and physical card (POOL-12.15)."""
    if mode not in ("slice", "unslice"):
        raise NotFound()
    device = device_slicing_set(actor=request.actor, device_uid=uid, is_sliced=mode == "slice")
    virtual, physical = (
        _("%(device)s is virtualised: shares of it are given."),
        _("%(device)s is a physical card: it is given as a whole."),
    )
    messages.success(request, (virtual if device.is_sliced else physical) % {"device": uid})
    return go(request, "fleet:device", uid)


@require_POST
@operator_page(P.MANAGE)
def oversubscribe(request: PortalRequest, uid: str) -> HttpResponse:
    """How much of a device all its slices together may hold (POOL-12.5)."""
    given = cleaned(OversubscribeForm(request.POST))
    device_oversubscribe(
        actor=request.actor,
        device_uid=uid,
        compute_permille=given["compute_percent"] * 10,
        memory_permille=given["memory_percent"] * 10,
    )
    messages.success(request, _("The oversubscription of %(device)s is set.") % {"device": uid})
    return go(request, "fleet:device", uid)


@require_POST
@operator_page(P.MANAGE)
def move(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Move a session to another device while it runs (POOL-12.23)."""
    device = cleaned(MoveForm(request.POST))["device"]
    slice_move_begin(actor=request.actor, slice_uid=slice_get(uid).uid, device_uid=device)
    messages.success(request, _("The session begins to move to %(device)s.") % {"device": device})
    return go(request, "fleet:slice", uid)


@require_POST
@operator_page(P.MANAGE)
def stay(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Call a move off."""
    source = slice_move_cancel(actor=request.actor, slice_uid=slice_get(uid).uid)
    messages.success(request, _("The session stays where it is."))
    return go(request, "fleet:slice", source.uid)


@require_POST
@operator_page(P.MANAGE)
def group_add(request: PortalRequest) -> HttpResponse:
    """A new resource group."""
    row = group_make(actor=request.actor, **cleaned(NameForm(request.POST)))
    messages.success(request, _("Now give the group devices, and grant it to somebody."))
    return go(request, "fleet:group", row.code)


@require_POST
@operator_page(P.MANAGE)
def group_end(request: PortalRequest, code: str) -> HttpResponse:
    """End a resource group."""
    group_remove(actor=request.actor, code=code)
    messages.success(request, _("The group is gone; its devices are everybody's again."))
    return go(request, "fleet:groups")


@require_POST
@operator_page(P.MANAGE)
def group_devices(request: PortalRequest, code: str) -> HttpResponse:
    """Which devices are in a group."""
    group_devices_set(actor=request.actor, code=code, devices=request.POST.getlist("device"))
    messages.success(request, _("The devices of the group are set."))
    return go(request, "fleet:group", code)


@require_POST
@operator_page(P.MANAGE)
def grant(request: PortalRequest, code: str) -> HttpResponse:
    """Grant a group to a tenant: to all its members or to those named."""
    given = cleaned(GrantForm(request.POST, tenants=tenant_active_list()))
    tenant = tenant_get(given["tenant"])
    group_grant(actor=request.actor, code=code, tenant=tenant, members=given["members"])
    messages.success(request, _("The group is granted to %(tenant)s.") % {"tenant": tenant})
    return go(request, "fleet:group", code)


@require_POST
@operator_page(P.MANAGE)
def revoke(request: PortalRequest, code: str, tenant: str) -> HttpResponse:
    """Take a grant back."""
    group_revoke(actor=request.actor, code=code, tenant=tenant_get(tenant))
    messages.success(request, _("The grant is taken back; what runs goes on."))
    return go(request, "fleet:group", code)


@require_POST
@operator_page(P.MANAGE)
def spec_add(request: PortalRequest) -> HttpResponse:
    """Offer a share under a name."""
    row = spec_make(actor=request.actor, **cleaned(SpecForm(request.POST)))
    messages.success(request, _("%(spec)s is on offer.") % {"spec": row})
    return go(request, "fleet:specs")


@require_POST
@operator_page(P.MANAGE)
def spec_act(request: PortalRequest, code: str, act: str) -> HttpResponse:
    """Offer a spec no more, or again."""
    if act not in _SPEC_ACTS:
        raise NotFound()
    row = _SPEC_ACTS[act](actor=request.actor, code=code)
    told = _("%(spec)s is on offer.") if row.is_enabled else _("%(spec)s is offered no more.")
    messages.success(request, told % {"spec": row})
    return go(request, "fleet:specs")
