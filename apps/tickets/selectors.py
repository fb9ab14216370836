"""Tickets a person handles or submitted, one ticket with what its reader may see of it, and to whom one goes."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from apps.cases.types import CaseData, CaseKind
from apps.identity.models import User
from apps.identity.selectors import (
    operator_role_title,
    operators_enabled,
    operators_who_may,
    user_ids_named,
    users_enabled,
)
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.orgs.selectors.organizations import member_ids_within
from apps.orgs.selectors.people import member_ids, member_ids_of_post
from apps.orgs.selectors.roles import members_who_may, role_codes_named, role_codes_of, users_with_role
from apps.ticketing.models import RoutingRule, TicketCategory
from apps.ticketing.selectors import categories_offered, operators_answering, receiver_text, rule_of, steps_of
from apps.ticketing.states import FieldState, ReceiverKind, Side
from apps.ticketing.ticket_form import state_at
from apps.ticketing.types import Receiver
from apps.tickets.errors import Unanswered
from apps.tickets.models import Ticket, TicketEntry, TicketFile
from apps.tickets.permissions import TicketsPermission as P
from apps.tickets.permissions import tickets_reached
from apps.tickets.states import OPEN, EntryKind, TicketState

TABS = ("submitted", "todo", "done")


def side_of(actor: Actor) -> str:
    """Whose tickets the actor works on."""
    return Side.OPERATOR if actor.kind == "operator" else Side.TENANT


def _workable(actor: Actor) -> Q:
    """Waiting tickets that the actor may take, and those he has claimed."""
    mine = Q(assignee_id=actor.user_id)
    if not actor.may(P.WORK):
        return mine
    return mine | Q(state=TicketState.WAITING) & _meant_for(actor)


def _meant_for(actor: Actor) -> Q:
    """Those that wait for the actor: for all of the side, or for the role, or by name."""
    is_operator = actor.kind == "operator"
    held = [actor.role] if is_operator else sorted(role_codes_of(actor.user_id or 0))
    whole_side = Q(roles=[], user_ids=[])
    wanted = whole_side | Q(user_ids__contains=[actor.user_id]) | Q(roles__overlap=held or [""])
    return Q(side=side_of(actor)) & wanted


def is_meant_for(actor: Actor, ticket: Ticket) -> bool:
    """Whether the actor may take the ticket, or hand back what was taken of it."""
    return Ticket.objects.filter(_meant_for(actor), pk=ticket.pk).exists()


def ticket_list(
    *, actor: Actor, tab: str = "submitted", search: str = "", state: str = "", category: str = ""
) -> QuerySet[Ticket]:
    """The actor's tickets of the current tenant: submitted, to do, done; fuzzy by number and title, and by a category
    with all below it (PLAT-TODO-9, -14).

    Under submitted stand those of all orders that the actor reaches.
    """
    rows = Ticket.objects.select_related("assignee", "category")
    if tab == "submitted":
        rows = rows.filter(tickets_reached(actor))
    elif tab == "todo":
        rows = rows.filter(_workable(actor) | _to_answer(actor), state__in=OPEN)
    elif tab == "done":
        is_over = Q(assignee_id=actor.user_id) & ~Q(state__in=OPEN)
        rows = rows.filter(is_over | _passed_on(actor) & ~Q(assignee_id=actor.user_id, state__in=OPEN))
    else:
        raise InvalidInput(fields={"tab": ", ".join(TABS)})
    if search:
        numbers = Q(no__icontains=search) | Q(subject_no__icontains=search)
        rows = rows.filter(numbers | Q(title_zh__icontains=search) | Q(title_en__icontains=search))
    if category:
        rows = rows.filter(Q(category__path=category) | Q(category__path__startswith=f"{category}/"))
    return rows.filter(state=state) if state else rows


def _to_answer(actor: Actor) -> Q:
    """Those that were asked back: their submitter has to say something."""
    return Q(state=TicketState.ASKED, submitter_id=actor.user_id)


def _passed_on(actor: Actor) -> Q:
    """Those of which the actor did a step that is over."""
    mine = TicketEntry.objects.filter(kind=EntryKind.PASSED_ON, user_id=actor.user_id or 0)
    return Q(pk__in=mine.values("ticket_id"))


def ticket_get(*, actor: Actor, uid: UUID) -> Ticket:
    """One ticket: for its submitter, its assignee, who did a step of it, those who may claim it, and whose data
    permission reaches it."""
    rows = Ticket.objects.select_related("assignee", "category")
    row = rows.filter(tickets_reached(actor) | _workable(actor) | _passed_on(actor), uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def tickets_of(subject_uid: UUID) -> QuerySet[Ticket]:
    """The tickets of an order; the caller has checked that the actor may see it."""
    return Ticket.objects.filter(subject_uid=subject_uid).select_related("assignee", "category")


def tickets_waiting() -> QuerySet[Ticket]:
    """The tickets of the current tenant that nobody has taken."""
    return Ticket.objects.filter(state=TicketState.WAITING)


def ticket_file_get(*, actor: Actor, uid: UUID) -> TicketFile:
    """A file of a ticket that the actor may see."""
    row = TicketFile.objects.select_related("ticket").filter(uid=uid).first()
    if row is None:
        raise NotFound()
    ticket_get(actor=actor, uid=row.ticket.uid)
    return row


def is_handling(actor: Actor, ticket: Ticket) -> bool:
    """Whether the actor sees the ticket as who works on it, not as who asked for it."""
    if ticket.side == Side.OPERATOR:
        return actor.kind in ("operator", "system")
    return (
        actor.kind in ("operator", "system")
        or ticket.assignee_id == actor.user_id
        or (actor.may(P.WORK) and is_meant_for(actor, ticket))
    )


def fields_shown(actor: Actor, ticket: Ticket) -> list[tuple[Mapping[str, Any], Any, bool]]:
    """The fields of a ticket that the actor sees, with what they hold, and whether he writes in them now: who asked
    sees those of the opening, and writes when asked back; who handles it those of the handling (PLAT-CFG-26)."""
    handles = is_handling(actor, ticket)
    step = ticket.step if handles else "opening"
    writes = (
        ticket.state == TicketState.DELIVERING and ticket.assignee_id == actor.user_id
        if handles
        else ticket.state == TicketState.ASKED and ticket.submitter_id == actor.user_id
    )
    return [
        (field, ticket.data.get(field["name"], ""), writes and state == FieldState.READ_WRITE)
        for field in ticket.fields
        if (state := state_at(field, step)) != FieldState.HIDDEN
    ]


# --- to whom a ticket goes ---------------------------------------------------------------------------------------


def category_offered(uid: UUID) -> TicketCategory:
    """A category in which tickets are opened; NotFound for any other."""
    row = next((row for row in categories_offered() if row.uid == uid), None)
    if row is None:
        raise NotFound(_("No tickets are opened in this category."))
    return row


def receiver_of(category: TicketCategory, values: Mapping[str, Any], step: str = "") -> Receiver:
    """To whom a ticket of a category goes that holds these values, at the step of that key, or the first; Unanswered
    where nobody would take it."""
    rule = rule_of(category, values, step)
    if rule is None:
        raise Unanswered(
            _("No rule says to whom tickets of %(category)s go.") % {"category": category},
            cure=_("Ask the computing centre to add one."),
        )
    roles, ids = operators_answering(rule) if rule.side == Side.OPERATOR else _members_answering(rule)
    name = receiver_text(rule)
    if not roles and not ids:
        raise Unanswered(_("Nobody answers tickets for %(receiver)s.") % {"receiver": name}, cure=_cure(rule))
    return Receiver(rule.side, tuple(roles), tuple(ids), name)


def steps_known(ticket: Ticket) -> list[str]:
    """The keys of the steps that the ticket's category has today."""
    return [step["key"] for step in steps_of(ticket.category)]


def _cure(rule: RoutingRule) -> str:
    side = _("the computing centre") if rule.side == Side.OPERATOR else str(current_tenant())
    return _("An administrator of %(side)s has to put somebody there whose role may work on tickets.") % {
        "side": side
    }


def _members_answering(rule: RoutingRule) -> tuple[list[str], list[int]]:
    """The roles and the people of the current tenant who can take what a rule sends."""
    name = rule.receiver
    if rule.kind == ReceiverKind.ROLE:
        return [code for code in role_codes_named(name) if members_who_may(P.WORK, users_with_role(code))], []
    wanted: Iterable[int] = {
        ReceiverKind.USER: user_ids_named,
        ReceiverKind.ORGANIZATION: member_ids_within,
        ReceiverKind.POST: member_ids_of_post,
    }[ReceiverKind(rule.kind)](name)
    return [], sorted(members_who_may(P.WORK, wanted))


def colleagues_of(ticket: Ticket) -> list[User]:
    """Those to whom a ticket can be handed over: who work on tickets of its side, without who has it."""
    if ticket.side == Side.OPERATOR:
        ids = operators_who_may(P.WORK, ids=[user.pk for user in operators_enabled()])
    else:
        ids = members_who_may(P.WORK, member_ids())
    return users_enabled(ids - {ticket.assignee_id or 0})


def receiver_ids(ticket: Ticket) -> set[int]:
    """Who may take the ticket now, each by name."""
    if ticket.side == Side.OPERATOR:
        return operators_who_may(P.WORK, roles=ticket.roles, ids=ticket.user_ids)
    ids = {pk for role in ticket.roles for pk in users_with_role(role)} | set(ticket.user_ids)
    return members_who_may(P.WORK, ids)


def receiver_shown(ticket: Ticket) -> str:
    """For whom a ticket waits, in words."""
    if ticket.receiver:
        return ticket.receiver
    titles = [operator_role_title(code) for code in ticket.roles]
    return ", ".join(title for title in titles if title) or str(Side(ticket.side).label)


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
        category=ticket.category.path,
        side=ticket.side,
        roles=tuple(ticket.roles),
        candidate_ids=tuple(ticket.user_ids),
        assignee_id=ticket.assignee_id,
        worked_by_ids=(ticket.assignee_id,) if ticket.assignee_id else (),
        due_at=ticket.solve_due_at,
    )
