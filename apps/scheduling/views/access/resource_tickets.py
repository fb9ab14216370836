"""A member's resource tickets: what they may hold, ask for more, look at and withdraw what was asked (PLAT-CLU-32)."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import TenantRequest
from apps.kernel.actor import Actor
from apps.scheduling.forms.entitlements import TicketForm
from apps.scheduling.models import ResourceTicket
from apps.scheduling.permissions import FOR_ALL, ResourcePermission
from apps.scheduling.selectors.entitlements.limits import limit_lines
from apps.scheduling.selectors.entitlements.resource_tickets import ticket_get, ticket_list
from apps.scheduling.services.entitlements.resource_tickets import (
    resource_ticket_ask,
    resource_ticket_withdraw,
)
from apps.scheduling.states import ResourceTicketState
from apps.tenancy.models import Tenant


def _form(actor: Actor, *args: Any) -> TicketForm:
    return TicketForm(*args, may_for_all=actor.may(FOR_ALL))


@page("resources.view")
def tickets(request: TenantRequest) -> HttpResponse:
    """What the reader may hold and why, what was asked for, and a form to ask for more."""
    actor, tenant = request.actor, request.entered_tenant
    if request.method == "POST":
        given = cleaned(_form(actor, request.POST))
        row = resource_ticket_ask(actor=actor, tenant=tenant, **given)
        messages.success(request, _("%(no)s waits for the centre's decision.") % {"no": row.no})
        return go(request, "workloads:tickets")
    topic = f"tenant.{tenant.schema_name}.resources"
    context = {
        "rows": paged(request, ticket_list(tenant, actor)),
        "lines": limit_lines(tenant, actor.user_id, timezone.now())
        if actor.kind == "user" and actor.user_id
        else [],
        "form": _form(actor) if _may_ask(actor) else None,
        "topic": topic,
        "live": [topic],
    }
    return show(request, "scheduling/my_tickets", context)


def _may_ask(actor: Actor) -> bool:
    return actor.kind == "user" and (actor.may(ResourcePermission.OPERATE) or actor.may(FOR_ALL))


def _context(row: ResourceTicket, tenant: Tenant, actor: Actor) -> dict[str, object]:
    whose = row.user_id or row.applicant_id
    is_mine = row.applicant_id == actor.user_id
    return {
        "ticket": row,
        "lines": limit_lines(tenant, whose, timezone.now()),
        "may_withdraw": is_mine and row.state == ResourceTicketState.WAITING,
    }


@page("resources.view")
def ticket(request: TenantRequest, uid: UUID) -> HttpResponse:
    tenant = request.entered_tenant
    row = ticket_get(tenant, request.actor, uid)
    topic = f"tenant.{tenant.schema_name}.resources"
    context = _context(row, tenant, request.actor) | {"topic": topic, "live": [topic]}
    return show(request, "scheduling/my_ticket", context)


@page("resources.view")
def parts(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What is asked for, in the page of who decides on it."""
    row = ticket_get(request.entered_tenant, request.actor, uid)
    context = _context(row, request.entered_tenant, request.actor) | {"may_withdraw": False}
    return render(request, "scheduling/_ticket_parts.html", context)


@require_POST
@page("resources.view")
def withdraw(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = resource_ticket_withdraw(actor=request.actor, tenant=request.entered_tenant, uid=uid)
    messages.success(request, _("%(no)s is withdrawn.") % {"no": row.no})
    return go(request, "workloads:tickets")
