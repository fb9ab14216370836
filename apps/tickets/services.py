"""Open, claim, give back, finish and fail work tickets."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.cases.services import case_put
from apps.identity.models import User
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, NotFound
from apps.kernel.service import service
from apps.notices.push import push
from apps.orgs.services.numbers import number_next
from apps.tickets.models import Ticket
from apps.tickets.permissions import TicketsPermission as P
from apps.tickets.selectors import case_of, side_of, ticket_get
from apps.tickets.states import TICKET, TicketKind, TicketState


@service()
def ticket_open(
    *,
    actor: Actor,
    subject_kind: str,
    subject_uid: UUID,
    subject_no: str,
    title_zh: str,
    title_en: str,
    submitter_id: int,
    kind: str = TicketKind.DELIVERY,
    side: str = "operator",
    organization_id: int | None = None,
    organization_name: str = "",
    business_system_id: int | None = None,
    business_system_name: str = "",
) -> Ticket:
    """A waiting ticket for a subject (PLAT-TODO-8). A subject has one open ticket of a kind at a time."""
    ticket = Ticket.objects.create(
        no=number_next(actor=actor, letter="T"),
        kind=kind,
        title_zh=title_zh[:200],
        title_en=title_en[:200],
        subject_kind=subject_kind,
        subject_uid=subject_uid,
        subject_no=subject_no,
        side=side,
        submitter_id=submitter_id,
        submitter_name=str(User.objects.get(pk=submitter_id)),
        organization_id=organization_id,
        organization_name=organization_name,
        business_system_id=business_system_id,
        business_system_name=business_system_name,
    )
    act_subject("ticket", ticket.uid, no=ticket.no)
    case_put(actor=actor, data=case_of(ticket))
    return ticket


def _lock(actor: Actor, ticket_uid: UUID) -> Ticket:
    """The ticket, locked; NotFound for one that a person does not see."""
    if actor.is_user:
        ticket_get(actor=actor, uid=ticket_uid)
    row = Ticket.objects.select_for_update(no_key=True).filter(uid=ticket_uid).first()
    if row is None:
        raise NotFound()
    act_subject("ticket", row.uid, no=row.no)
    return row


def _moved(actor: Actor, ticket: Ticket) -> Ticket:
    case_put(actor=actor, data=case_of(ticket))
    push(f"{ticket.subject_kind}.{ticket.subject_uid}")
    return ticket


@service()
def ticket_claim(*, actor: Actor, ticket_uid: UUID) -> Ticket:
    """Take a waiting ticket: of several who try, one gets it (PLAT-TODO-11). The system takes it without a name."""
    ticket = _lock(actor, ticket_uid)
    actor.require(P.WORK)
    side_check(actor, ticket)
    if ticket.state != TicketState.WAITING:
        raise Conflict(
            _("The ticket %(no)s is claimed already.") % {"no": ticket.no}, cure=_("Choose another one.")
        )
    TICKET.move(
        ticket, TicketState.DELIVERING, actor=actor, assignee_id=actor.user_id, claimed_at=timezone.now()
    )
    return _moved(actor, ticket)


def side_check(actor: Actor, ticket: Ticket) -> None:
    """Forbidden for a ticket that the other side works on."""
    if actor.kind != "system" and ticket.side != side_of(actor):
        raise Forbidden(_("This ticket is for the other side."))


def _own_check(actor: Actor, ticket: Ticket) -> None:
    """In delivery, and by this actor; the system may finish any."""
    if ticket.state != TicketState.DELIVERING:
        raise Conflict(
            _("The ticket %(no)s is not in delivery.") % {"no": ticket.no}, cure=_("Claim it first.")
        )
    if actor.kind != "system" and ticket.assignee_id != actor.user_id:
        raise Forbidden(_("The ticket %(no)s is somebody else's.") % {"no": ticket.no})


@service()
def ticket_return(*, actor: Actor, ticket_uid: UUID) -> Ticket:
    """Give a claimed ticket back: it waits again."""
    ticket = _lock(actor, ticket_uid)
    _own_check(actor, ticket)
    changes = {"assignee_id": None, "claimed_at": None, "executed_at": None}
    TICKET.move(ticket, TicketState.WAITING, actor=actor, **changes)
    return _moved(actor, ticket)


@service()
def ticket_executed(*, actor: Actor, ticket_uid: UUID, note: str = "") -> Ticket:
    """Keep that the assignee has carried the work out, with what he says of it (PLAT-TODO-12). The ticket is done by
    the system, once what was asked for is there."""
    ticket = _lock(actor, ticket_uid)
    _own_check(actor, ticket)
    ticket.executed_at = timezone.now()
    if note:
        ticket.result = {**ticket.result, "text": note}
    ticket.save(update_fields=["executed_at", "result", "updated_at"])
    return _moved(actor, ticket)


@service()
def ticket_done(*, actor: Actor, ticket_uid: UUID, result: Mapping[str, Any] | None = None) -> Ticket:
    """The work is done; `result` is what came of it, plain JSON (PLAT-TODO-12)."""
    return _end(actor, ticket_uid, TicketState.DONE, dict(result or {}))


@service()
def ticket_fail(*, actor: Actor, ticket_uid: UUID, reason: str) -> Ticket:
    """The work could not be done. The system may fail a ticket that still waits, when its subject has ended."""
    return _end(actor, ticket_uid, TicketState.FAILED, {"reason": reason[:500]})


def _end(actor: Actor, ticket_uid: UUID, state: TicketState, result: dict[str, Any]) -> Ticket:
    ticket = _lock(actor, ticket_uid)
    waiting_fails = actor.kind == "system" and (ticket.state, state) == (
        TicketState.WAITING,
        TicketState.FAILED,
    )
    if not waiting_fails:
        _own_check(actor, ticket)
    kept = {**ticket.result, **result}
    TICKET.move(ticket, state, actor=actor, result=kept, done_at=timezone.now())
    return _moved(actor, ticket)
