"""Carrying out a ticket: what the API does too, its order is delivered."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page
from apps.identity.pages.requests import TenantRequest
from apps.orders.forms import ExecuteForm
from apps.orders.services.deliveries import ticket_execute
from apps.orders.states import OrderState


@require_POST
@page("tickets.work")
def execute(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Deliver the order of a claimed ticket (PLAT-TODO-12)."""
    given = cleaned(ExecuteForm(request.POST))
    order = ticket_execute(actor=request.actor, ticket_uid=uid, note=given["text"])
    if order.state == OrderState.FAILED:
        messages.error(
            request,
            _("Order %(no)s could not be delivered: %(reason)s") % {"no": order.no, "reason": order.note},
        )
    else:
        messages.success(
            request,
            _("Order %(no)s is in delivery. The ticket is done once its resource runs.") % {"no": order.no},
        )
    return go(request, "tickets:ticket", uid)
