"""Open, claim, hand over, give back, finish and fail work tickets."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centre.selectors import tickets_are_sent
from apps.identity.selectors import user_get
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.service import service
from apps.orgs.services.numbers import number_next
from apps.ticketing.selectors import category_builtin
from apps.ticketing.states import Builtin, Side
from apps.tickets.errors import Unanswered
from apps.tickets.models import Ticket
from apps.tickets.permissions import TicketsPermission as P
from apps.tickets.selectors import (
    colleagues_of,
    is_meant_for,
    receiver_ids,
    receiver_of,
    receiver_shown,
    side_of,
    ticket_get,
)
from apps.tickets.services.entries import entry_keep, text_clean, waits_tell
from apps.tickets.states import TICKET, EntryKind, TicketState


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
    side: str = Side.OPERATOR,
    organization_id: int | None = None,
    organization_name: str = "",
    business_system_id: int | None = None,
    business_system_name: str = "",
    is_manual: bool = False,
) -> Ticket:
    """A waiting ticket for a subject (PLAT-TODO-8), in the category of the service catalogue; a subject has one open
    ticket at a time. It waits for whom the category's rule names if somebody answers to that, else for all of the side:
    what is approved is delivered whatever the rule says."""
    category = category_builtin(Builtin.SERVICE)
    ticket = Ticket(
        no=number_next(actor=actor, letter="T"),
        category=category,
        title_zh=title_zh[:200],
        title_en=title_en[:200],
        subject_kind=subject_kind,
        subject_uid=subject_uid,
        subject_no=subject_no,
        side=side,
        submitter_id=submitter_id,
        submitter_name=str(user_get(submitter_id)),
        organization_id=organization_id,
        organization_name=organization_name,
        business_system_id=business_system_id,
        business_system_name=business_system_name,
        is_manual=is_manual,
    )
    with suppress(Unanswered):
        for name, value in (receiver_of(category, {}).columns() | {"side": side}).items():
            setattr(ticket, name, value)
    ticket.save()
    act_subject("ticket", ticket.uid, no=ticket.no)
    entry_keep(actor, ticket, EntryKind.OPENED)
    if is_manual or not tickets_are_sent():
        waits_tell(actor, ticket)
    return ticket


def ticket_lock(actor: Actor, ticket_uid: UUID) -> Ticket:
    """The ticket, locked; NotFound for one that a person does not see."""
    if actor.is_user:
        ticket_get(actor=actor, uid=ticket_uid)
    row = Ticket.objects.select_for_update(no_key=True).filter(uid=ticket_uid).first()
    if row is None:
        raise NotFound()
    act_subject("ticket", row.uid, no=row.no)
    return row


@service()
def ticket_claim(*, actor: Actor, ticket_uid: UUID) -> Ticket:
    """Take a waiting ticket: of several who try, one gets it (PLAT-TODO-11). The system takes it without a name."""
    ticket = ticket_lock(actor, ticket_uid)
    actor.require(P.WORK)
    meant_check(actor, ticket)
    if ticket.state != TicketState.WAITING:
        raise Conflict(
            _("The ticket %(no)s is claimed already.") % {"no": ticket.no}, cure=_("Choose another one.")
        )
    TICKET.move(
        ticket, TicketState.DELIVERING, actor=actor, assignee_id=actor.user_id, claimed_at=timezone.now()
    )
    entry_keep(actor, ticket, EntryKind.CLAIMED, tell=[ticket.submitter_id])
    return ticket


def meant_check(actor: Actor, ticket: Ticket) -> None:
    """Forbidden for a ticket that the other side works on, or that waits for others of this one."""
    if actor.kind == "system":
        return
    if ticket.side != side_of(actor):
        raise Forbidden(_("This ticket is for the other side."))
    if not is_meant_for(actor, ticket):
        raise Forbidden(
            _("The ticket %(no)s is for %(receiver)s.")
            % {"no": ticket.no, "receiver": receiver_shown(ticket)}
        )


def own_check(actor: Actor, ticket: Ticket) -> None:
    """In delivery, and by this actor; the system may finish any."""
    if ticket.state != TicketState.DELIVERING:
        raise Conflict(
            _("The ticket %(no)s is not in progress.") % {"no": ticket.no}, cure=_("Claim it first.")
        )
    if actor.kind != "system" and ticket.assignee_id != actor.user_id:
        raise Forbidden(_("The ticket %(no)s is somebody else's.") % {"no": ticket.no})


@service()
def ticket_return(*, actor: Actor, ticket_uid: UUID) -> Ticket:
    """Give a claimed ticket back: it waits again."""
    ticket = ticket_lock(actor, ticket_uid)
    own_check(actor, ticket)
    changes = {"assignee_id": None, "claimed_at": None, "executed_at": None}
    TICKET.move(ticket, TicketState.WAITING, actor=actor, **changes)
    entry_keep(actor, ticket, EntryKind.RETURNED, tell=receiver_ids(ticket))
    return ticket


@service(P.WORK)
def ticket_hand_over(*, actor: Actor, ticket_uid: UUID, user_uid: UUID, text: str = "") -> Ticket:
    """Give a claimed ticket to a colleague, with a word to it; who keeps the tickets' categories gives anybody's, so
    that none stays with somebody who has gone."""
    ticket = ticket_lock(actor, ticket_uid)
    meant_by_office = actor.may(P.MANAGE) and ticket.side == side_of(actor)
    if ticket.state != TicketState.DELIVERING or not meant_by_office:
        own_check(actor, ticket)
    if ticket.executed_at:
        raise Conflict(_("The ticket %(no)s is carried out already.") % {"no": ticket.no})
    person = next((user for user in colleagues_of(ticket) if user.uid == user_uid), None)
    if person is None:
        reason = _("This is nobody who could go on with it.")
        raise InvalidInput(
            reason, fields={"user": reason}, cure=_("Choose somebody whose role may work on tickets.")
        )
    ticket.assignee, ticket.claimed_at = person, timezone.now()
    ticket.save(update_fields=["assignee", "claimed_at", "updated_at"])
    said = f"→ {person}\n{text_clean(text, is_wanted=False)}".strip()
    entry_keep(actor, ticket, EntryKind.HANDED_OVER, said, tell=[person.pk])
    return ticket


@service()
def ticket_executed(*, actor: Actor, ticket_uid: UUID, note: str = "") -> Ticket:
    """Keep that the assignee has carried the work out, with what he says of it (PLAT-TODO-12). The ticket is done by
    the system, once what was asked for is there."""
    ticket = ticket_lock(actor, ticket_uid)
    own_check(actor, ticket)
    ticket.order_uid()
    ticket.executed_at = timezone.now()
    if note:
        ticket.result = {**ticket.result, "text": note}
    ticket.save(update_fields=["executed_at", "result", "updated_at"])
    entry_keep(actor, ticket, EntryKind.EXECUTED, note)
    return ticket


@service()
def ticket_done(*, actor: Actor, ticket_uid: UUID, result: Mapping[str, Any] | None = None) -> Ticket:
    """The work is done; `result` is what came of it, plain JSON (PLAT-TODO-12)."""
    return _end(actor, ticket_uid, TicketState.DONE, dict(result or {}))


@service()
def ticket_fail(*, actor: Actor, ticket_uid: UUID, reason: str) -> Ticket:
    """The work could not be done. The system may fail a ticket that still waits, when its subject has ended."""
    return _end(actor, ticket_uid, TicketState.FAILED, {"reason": reason[:500]})


def _end(actor: Actor, ticket_uid: UUID, state: TicketState, result: dict[str, Any]) -> Ticket:
    ticket = ticket_lock(actor, ticket_uid)
    waiting_fails = actor.kind == "system" and (ticket.state, state) == (
        TicketState.WAITING,
        TicketState.FAILED,
    )
    if not waiting_fails:
        own_check(actor, ticket)
    kept = {**ticket.result, **result}
    TICKET.move(ticket, state, actor=actor, result=kept, done_at=timezone.now())
    kind = EntryKind.DONE if state == TicketState.DONE else EntryKind.FAILED
    entry_keep(actor, ticket, kind, str(result.get("reason", "")), tell=[ticket.submitter_id])
    return ticket
