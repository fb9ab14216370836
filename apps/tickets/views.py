"""My tickets: submitted, to do, done; claim and give back. Who delivers what a ticket is for carries it out."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.requests import TenantRequest
from apps.tickets.forms import TicketsForm
from apps.tickets.selectors import side_of, ticket_get, ticket_list
from apps.tickets.services import ticket_claim, ticket_return
from apps.tickets.states import TicketState


@page()
def tickets(request: TenantRequest) -> HttpResponse:
    """The reader's work tickets (PLAT-TODO-8, -9, -14)."""
    chosen = cleaned(TicketsForm(request.GET))
    context = {
        "rows": paged(request, ticket_list(actor=request.actor, **chosen)),
        "chosen": chosen,
        "states": TicketState.choices,
    }
    return show(request, "tickets/tickets", context)


@page()
def ticket(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One ticket and what may be done with it (PLAT-TODO-10 to -12)."""
    actor = request.actor
    row = ticket_get(actor=actor, uid=uid)
    is_mine = row.assignee_id is not None and row.assignee_id == actor.user_id
    may_work = actor.may("tickets.work") and row.side == side_of(actor)
    context = {
        "ticket": row,
        "may_claim": row.state == TicketState.WAITING and may_work,
        "is_mine": row.state == TicketState.DELIVERING and is_mine,
        "live": [f"{row.subject_kind}.{row.subject_uid}"],
    }
    return show(request, "tickets/ticket", context)


@require_POST
@page("tickets.work")
def claim(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = ticket_claim(actor=request.actor, ticket_uid=uid)
    messages.success(request, _("The ticket %(no)s is yours.") % {"no": row.no})
    return go(request, "tickets:ticket", row.uid)


@require_POST
@page("tickets.work")
def give_back(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = ticket_return(actor=request.actor, ticket_uid=uid)
    messages.success(request, _("The ticket %(no)s waits for somebody else.") % {"no": row.no})
    return go(request, "tickets:tickets")
