"""Tickets that people open by a category's form, and what the two sides say and do until they are closed (PLAT-CFG-27,
PLAT-TODO-8 to -13)."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.core.files.base import File
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.selectors import user_get
from apps.kernel.actor import Actor, act_subject
from apps.kernel.attached_files import file_keep
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from apps.kernel.service import service
from apps.orgs.selectors.organizations import organization_of
from apps.orgs.services.numbers import number_next
from apps.ticketing.selectors import steps_of
from apps.ticketing.ticket_form import values_begin, values_take
from apps.ticketing.ticket_steps import step_after, step_before
from apps.tickets.models import Ticket, TicketFile
from apps.tickets.permissions import TicketsPermission as P
from apps.tickets.selectors import category_offered, is_handling, receiver_ids, receiver_of, steps_known
from apps.tickets.services.entries import (
    answered,
    clocks_go_on,
    clocks_start,
    entry_keep,
    other_side,
    text_clean,
    ticket_shown,
    workers_of,
)
from apps.tickets.services.life import own_check, ticket_lock
from apps.tickets.states import OPEN, TICKET, EntryKind, TicketState

TITLE_MAX = 200
OPEN_MOST = 200


@service(P.OPEN)
def ticket_submit(
    *,
    actor: Actor,
    category_uid: UUID,
    title: str,
    text: str = "",
    data: Mapping[str, Any] | None = None,
    files: "Iterable[File[Any]]" = (),
) -> Ticket:
    """Open a ticket: it goes to whom the category's rule names (PLAT-CFG-27).

    Raises:
        InvalidInput: the title or a field of the form is missing or wrong.
        Unanswered: no rule fits, or nobody answers to the one that does.
        Conflict: the actor has too many open tickets.
    """
    category = category_offered(category_uid)
    title = _title_taken(title)
    begun = values_begin(category.fields)
    values = values_take(category.fields, begun, data or {}, step="opening", is_final=True)
    steps = steps_of(category)
    # A ticket that would stand still later is not opened either.
    receiver, *_later = [receiver_of(category, values, step["key"]) for step in steps or [{"key": ""}]]
    _room_check(actor)
    user = user_get(actor.user_id or 0)
    place = organization_of(user.pk)
    ticket = Ticket(
        no=number_next(actor=actor, letter="T"),
        category=category,
        title_zh=title,
        title_en=title,
        text=text_clean(text, is_wanted=False),
        fields=category.fields,
        data=values,
        steps=steps,
        step=steps[0]["key"] if steps else "",
        **receiver.columns(),
        submitter=user,
        submitter_name=str(user),
        organization=place,
        organization_name=place.name if place else "",
    )
    clocks_start(ticket)
    ticket.save()
    act_subject("ticket", ticket.uid, no=ticket.no)
    _files_add(actor, ticket, files)
    entry_keep(actor, ticket, EntryKind.OPENED, tell=workers_of(ticket))
    return ticket


def _title_taken(title: str) -> str:
    """The title with single blanks. InvalidInput: there is nothing of it, or it is too long."""
    title = " ".join(title.replace("\x00", "").split())
    if not 0 < len(title) <= TITLE_MAX:
        reason = _("Say in 1 to %(most)s characters what it is about.") % {"most": TITLE_MAX}
        raise InvalidInput(fields={"title": reason})
    return title


def _room_check(actor: Actor) -> None:
    """Conflict: the actor has as many open tickets of their own as anybody may have."""
    own = Ticket.objects.filter(submitter_id=actor.user_id, subject_kind="", state__in=OPEN)
    if own.count() >= OPEN_MOST:
        raise Conflict(
            _("You have %(most)s open tickets.") % {"most": OPEN_MOST}, cure=_("Close some of them first.")
        )


def _file_add(actor: Actor, ticket: Ticket, file: "File[Any]") -> TicketFile:
    row = TicketFile(ticket=ticket, uploader=user_get(actor.user_id or 0))
    file_keep(row, file, file.name or "", present=ticket.files.count())
    return row


def _files_add(actor: Actor, ticket: Ticket, files: "Iterable[File[Any]]") -> None:
    """All of them or none: rows go with the transaction, what was stored has to be taken away."""
    kept: list[TicketFile] = []
    try:
        for file in files:
            kept.append(_file_add(actor, ticket, file))
    except Exception:
        for row in kept:
            row.file.storage.delete(row.file.name or "")
        raise


def _taking_part(actor: Actor, ticket_uid: UUID) -> Ticket:
    """The ticket, locked, for who asked and who works on it; Forbidden for who only follows it."""
    ticket = ticket_lock(actor, ticket_uid)
    works = actor.may(P.WORK) and is_handling(actor, ticket)
    if actor.user_id not in (ticket.submitter_id, ticket.assignee_id) and not works:
        raise Forbidden(_("Only who opened the ticket and who works on it write on it."))
    return ticket


def _by_hand_check(ticket: Ticket) -> None:
    if not ticket.is_by_hand:
        raise Conflict(
            _("The ticket %(no)s is the delivery of an order.") % {"no": ticket.no},
            cure=_("It goes the way of the order."),
        )


def _submitter_check(actor: Actor, ticket: Ticket) -> None:
    if actor.user_id != ticket.submitter_id:
        raise Forbidden(_("Only who opened the ticket does this."))


# --- both sides ------------------------------------------------------------------------------------------------


@service()
def ticket_comment(*, actor: Actor, ticket_uid: UUID, text: str) -> Ticket:
    """Say something on a ticket that is not closed: the other side hears of it."""
    ticket = _taking_part(actor, ticket_uid)
    _unclosed_check(ticket)
    text = text_clean(text)
    answered(actor, ticket)
    entry_keep(actor, ticket, EntryKind.COMMENTED, text, tell=other_side(actor, ticket))
    return ticket


def _unclosed_check(ticket: Ticket) -> None:
    if ticket.state in (TicketState.CLOSED, TicketState.FAILED):
        raise Conflict(
            _("The ticket %(no)s is closed.") % {"no": ticket.no}, cure=_("Open a new one that names it.")
        )


@service()
def ticket_file_add(*, actor: Actor, ticket_uid: UUID, file: "File[Any]") -> TicketFile:
    """Add a file to a ticket that is not closed. Raises what `file_keep` raises."""
    ticket = _taking_part(actor, ticket_uid)
    _unclosed_check(ticket)
    row = _file_add(actor, ticket, file)
    act_subject("ticket", ticket.uid, no=ticket.no, file=row.name, sha256=row.sha256)
    ticket_shown(actor, ticket)
    return row


# --- who works on it -------------------------------------------------------------------------------------------


@service(P.WORK)
def ticket_ask(*, actor: Actor, ticket_uid: UUID, text: str) -> Ticket:
    """Ask back: until the submitter answers, the clock of the solution stands."""
    ticket = ticket_lock(actor, ticket_uid)
    own_check(actor, ticket)
    _by_hand_check(ticket)
    text = text_clean(text)
    answered(actor, ticket)
    TICKET.move(ticket, TicketState.ASKED, actor=actor, asked_at=timezone.now())
    entry_keep(actor, ticket, EntryKind.ASKED, text, tell=[ticket.submitter_id])
    return ticket


@service(P.WORK)
def ticket_fields_write(*, actor: Actor, ticket_uid: UUID, data: Mapping[str, Any]) -> Ticket:
    """Keep what who works on it writes into its form, before it is finished (PLAT-CFG-26)."""
    ticket = ticket_lock(actor, ticket_uid)
    own_check(actor, ticket)
    ticket.data = values_take(ticket.fields, ticket.data, data, step=ticket.step, is_final=False)
    ticket.save(update_fields=["data", "updated_at"])
    ticket_shown(actor, ticket)
    return ticket


@service(P.WORK)
def ticket_finish(
    *, actor: Actor, ticket_uid: UUID, text: str, data: Mapping[str, Any] | None = None
) -> Ticket:
    """The work is done, with what came of it; what the form requires of who handles it has to be there
    (PLAT-TODO-12). At a step before the last the ticket goes on to those of the next, by its rules (PLAT-CFG-25); after
    the last the submitter closes or reopens it.

    Raises:
        Unanswered: nobody answers to the next step; the ticket stays.
    """
    ticket = ticket_lock(actor, ticket_uid)
    own_check(actor, ticket)
    _by_hand_check(ticket)
    text = text_clean(text)
    values = values_take(ticket.fields, ticket.data, data or {}, step=ticket.step, is_final=True)
    answered(actor, ticket)
    following = step_after(ticket.steps, ticket.step, steps_known(ticket))
    if following is not None:
        ticket.data = values
        return _step_enter(actor, ticket, following, EntryKind.PASSED_ON, text)
    TICKET.move(
        ticket, TicketState.DONE, actor=actor, data=values, done_at=timezone.now(), result={"text": text}
    )
    entry_keep(actor, ticket, EntryKind.DONE, text, tell=[ticket.submitter_id])
    return ticket


@service(P.WORK)
def ticket_step_back(*, actor: Actor, ticket_uid: UUID, text: str) -> Ticket:
    """Send a ticket back to the step before, with what is missing: it waits for those of that step again. Conflict at
    the first."""
    ticket = ticket_lock(actor, ticket_uid)
    own_check(actor, ticket)
    earlier = step_before(ticket.steps, ticket.step, steps_known(ticket))
    if earlier is None:
        raise Conflict(_("There is no step before this one."), cure=_("Ask back, or give the ticket back."))
    return _step_enter(actor, ticket, earlier, EntryKind.SENT_BACK, text_clean(text))


def _step_enter(actor: Actor, ticket: Ticket, step: str, kind: EntryKind, text: str) -> Ticket:
    """The ticket waits at another step for those whom its rules name now, and they hear of it."""
    receiver = receiver_of(ticket.category, ticket.data, step)
    changes = {
        "assignee_id": None,
        "claimed_at": None,
        "data": ticket.data,
        "step": step,
        **receiver.columns(),
    }
    TICKET.move(ticket, TicketState.WAITING, actor=actor, **changes)
    names = next((one["name_zh"], one["name_en"]) for one in ticket.steps if one["key"] == step)
    said = f"→ {' / '.join(dict.fromkeys(names))}\n{text}"
    entry_keep(actor, ticket, kind, said, tell=receiver_ids(ticket))
    return ticket


# --- who opened it ---------------------------------------------------------------------------------------------


@service(P.OPEN)
def ticket_reply(
    *, actor: Actor, ticket_uid: UUID, text: str, data: Mapping[str, Any] | None = None
) -> Ticket:
    """Answer what was asked back, and correct the form with it: the work goes on."""
    ticket = ticket_lock(actor, ticket_uid)
    _submitter_check(actor, ticket)
    if ticket.state != TicketState.ASKED:
        raise Conflict(_("Nothing was asked on the ticket %(no)s.") % {"no": ticket.no})
    text = text_clean(text)
    values = values_take(ticket.fields, ticket.data, data or {}, step="opening", is_final=True)
    clocks_go_on(ticket)
    TICKET.move(
        ticket,
        TicketState.DELIVERING,
        actor=actor,
        data=values,
        asked_at=None,
        solve_due_at=ticket.solve_due_at,
    )
    entry_keep(actor, ticket, EntryKind.REPLIED, text, tell=workers_of(ticket))
    return ticket


@service(P.OPEN)
def ticket_close(*, actor: Actor, ticket_uid: UUID) -> Ticket:
    """The submitter is content, or needs it no more: that ends it."""
    ticket = ticket_lock(actor, ticket_uid)
    _submitter_check(actor, ticket)
    _by_hand_check(ticket)
    TICKET.move(ticket, TicketState.CLOSED, actor=actor)
    entry_keep(actor, ticket, EntryKind.CLOSED, tell=workers_of(ticket))
    return ticket


@service(P.OPEN)
def ticket_reopen(*, actor: Actor, ticket_uid: UUID, text: str) -> Ticket:
    """What was done is not it: the ticket waits again for those it was sent to first, with why; its clocks begin
    anew."""
    ticket = ticket_lock(actor, ticket_uid)
    _submitter_check(actor, ticket)
    _by_hand_check(ticket)
    text = text_clean(text)
    clocks_start(ticket)
    told = workers_of(ticket)
    first = ticket.steps[0]["key"] if ticket.steps else ""
    again = {"step": first, **receiver_of(ticket.category, ticket.data, first).columns()} if first else {}
    TICKET.move(
        ticket,
        TicketState.WAITING,
        actor=actor,
        **again,
        assignee_id=None,
        claimed_at=None,
        done_at=None,
        answered_at=None,
        answer_due_at=ticket.answer_due_at,
        solve_due_at=ticket.solve_due_at,
    )
    entry_keep(actor, ticket, EntryKind.REOPENED, text, tell=told | workers_of(ticket))
    return ticket


@service()
def ticket_rate(*, actor: Actor, ticket_uid: UUID, rating: int, text: str = "") -> Ticket:
    """The submitter says once how it was handled, by 1 to 5 (PLAT-TODO-13)."""
    ticket = ticket_lock(actor, ticket_uid)
    _submitter_check(actor, ticket)
    if ticket.state not in (TicketState.DONE, TicketState.CLOSED) or ticket.done_at is None:
        raise Conflict(_("The ticket %(no)s is not done.") % {"no": ticket.no})
    if ticket.rating is not None:
        raise Conflict(_("The ticket %(no)s is rated already.") % {"no": ticket.no})
    if isinstance(rating, bool) or rating not in range(1, 6):
        raise InvalidInput(fields={"rating": _("A number from 1 to 5 is wanted.")})
    ticket.rating, ticket.rated_at = rating, timezone.now()
    ticket.rating_text = text_clean(text, is_wanted=False)[:1000]
    ticket.save(update_fields=["rating", "rating_text", "rated_at", "updated_at"])
    told = {ticket.assignee_id} if ticket.assignee_id else set()
    entry_keep(actor, ticket, EntryKind.RATED, f"{rating} / 5\n{ticket.rating_text}".strip(), tell=told)
    return ticket
