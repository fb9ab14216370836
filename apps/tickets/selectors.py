"""Tickets a person handles or submitted, and one ticket."""

from uuid import UUID

from django.db.models import Q, QuerySet

from apps.cases.types import CaseData, CaseKind
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.tickets.models import Ticket
from apps.tickets.permissions import TicketsPermission as P
from apps.tickets.permissions import tickets_reached
from apps.tickets.states import OPEN, TicketState

TABS = ("submitted", "todo", "done")


def side_of(actor: Actor) -> str:
    """Whose tickets the actor works on."""
    return "operator" if actor.kind == "operator" else "tenant"


def _workable(actor: Actor) -> Q:
    """Waiting tickets of the actor's side, and those he has claimed."""
    mine = Q(assignee_id=actor.user_id)
    if not actor.may(P.WORK):
        return mine
    return mine | Q(state=TicketState.WAITING, side=side_of(actor))


def ticket_list(
    *, actor: Actor, tab: str = "submitted", search: str = "", state: str = ""
) -> QuerySet[Ticket]:
    """The actor's tickets of the current tenant: submitted, to do, done; fuzzy by number (PLAT-TODO-9, -14).

    Under submitted stand those of all orders that the actor reaches.
    """
    rows = Ticket.objects.select_related("assignee")
    if tab == "submitted":
        rows = rows.filter(tickets_reached(actor))
    elif tab == "todo":
        rows = rows.filter(_workable(actor), state__in=OPEN)
    elif tab == "done":
        rows = rows.filter(assignee_id=actor.user_id).exclude(state__in=OPEN)
    else:
        raise InvalidInput(fields={"tab": ", ".join(TABS)})
    if search:
        rows = rows.filter(Q(no__icontains=search) | Q(subject_no__icontains=search))
    return rows.filter(state=state) if state else rows


def ticket_get(*, actor: Actor, uid: UUID) -> Ticket:
    """One ticket: for its submitter, its assignee, those who may claim it, and whose data permission reaches it."""
    rows = Ticket.objects.select_related("assignee")
    row = rows.filter(tickets_reached(actor) | _workable(actor), uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def tickets_of(subject_uid: UUID) -> QuerySet[Ticket]:
    """The tickets of an order; the caller has checked that the actor may see it."""
    return Ticket.objects.filter(subject_uid=subject_uid).select_related("assignee")


def tickets_waiting() -> QuerySet[Ticket]:
    """The tickets of the current tenant that nobody has taken."""
    return Ticket.objects.filter(state=TicketState.WAITING)


def case_of(ticket: Ticket) -> CaseData:
    """The ticket as operators see it among all tenants' cases."""
    return CaseData(
        kind=CaseKind.TICKET,
        uid=ticket.uid,
        no=ticket.no,
        title_zh=ticket.title_zh,
        title_en=ticket.title_en,
        state=ticket.state,
        created_at=ticket.created_at,
        is_open=ticket.state in OPEN,
        link=f"/tickets/{ticket.uid}/",
        applicant_id=ticket.submitter_id,
        applicant_name=ticket.submitter_name,
        organization=ticket.organization_name,
        business_system=ticket.business_system_name,
        side=ticket.side,
        assignee_id=ticket.assignee_id,
        worked_by_ids=(ticket.assignee_id,) if ticket.assignee_id else (),
    )
