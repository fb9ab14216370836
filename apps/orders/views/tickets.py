"""Carrying out a ticket, or sending it: what the API does too, its order is delivered."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page
from apps.identity.pages.requests import TenantRequest
from apps.orders.forms import ExecuteForm
from apps.orders.models import Order
from apps.orders.selectors import form_get, order_get
from apps.orders.services.deliveries import ticket_execute, ticket_send
from apps.orders.states import OrderState
from apps.orders.views.applications import parts_of
from apps.tickets.selectors import ticket_get


@require_POST
@page("tickets.work")
def execute(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Deliver the order of a claimed ticket (PLAT-TODO-12)."""
    given = cleaned(ExecuteForm(request.POST))
    order = ticket_execute(actor=request.actor, ticket_uid=uid, note=given["text"])
    return _shown(request, order)


@page()
def parts(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What the ticket is for, on its page: form, order, process, resource, attachments (PLAT-TODO-10)."""
    row = ticket_get(actor=request.actor, uid=uid)
    order = order_get(actor=request.actor, uid=row.order_uid())
    form = form_get(actor=request.actor, uid=order.form.uid)
    return render(request, "orders/_ticket_parts.html", parts_of(request.actor, form))


@require_POST
@page("tickets.work")
def send(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Send a waiting ticket: its order goes out (PLAT-CFG-45)."""
    return _shown(request, ticket_send(actor=request.actor, ticket_uid=uid))


def _shown(request: TenantRequest, order: Order) -> HttpResponse:
    """Say what became of the order, on its ticket's page."""
    if order.state == OrderState.FAILED:
        messages.error(
            request,
            _("Order %(no)s could not be delivered: %(reason)s") % {"no": order.no, "reason": order.note},
        )
    elif order.is_manual:
        messages.success(request, _("Order %(no)s is carried out.") % {"no": order.no})
    else:
        messages.success(
            request,
            _("Order %(no)s is in delivery. The ticket is done once its resource runs.") % {"no": order.no},
        )
    return go(request, "tickets:ticket", order.ticket_uid)
