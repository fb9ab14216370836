"""What is kept of each change of a ticket, and who is told: time line, operators' index, messages, open pages."""

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.cases.services import case_put
from apps.identity.selectors import operators_among, user_get
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.kernel.planes import current_tenant
from apps.notices.push import push
from apps.notices.services import notice_send
from apps.ticketing.selectors import calendar_now
from apps.tickets.models import Ticket, TicketEntry
from apps.tickets.selectors import case_of, is_handling, receiver_ids
from apps.tickets.states import EntryKind as K

TEXT_MAX = 4000
# A person reads whom it concerns; %(name)s did it.
_SAID = {
    K.OPENED: gettext_noop("%(name)s opened the ticket %(no)s: %(title)s"),
    K.CLAIMED: gettext_noop("%(name)s works on your ticket %(no)s."),
    K.HANDED_OVER: gettext_noop("%(name)s handed the ticket %(no)s over to you: %(title)s"),
    K.RETURNED: gettext_noop("The ticket %(no)s waits again: %(title)s"),
    K.ASKED: gettext_noop("%(name)s asks you something on your ticket %(no)s."),
    K.REPLIED: gettext_noop("%(name)s answered on the ticket %(no)s."),
    K.COMMENTED: gettext_noop("%(name)s wrote on the ticket %(no)s."),
    K.PASSED_ON: gettext_noop("%(name)s passed the ticket %(no)s on to you: %(title)s"),
    K.SENT_BACK: gettext_noop("%(name)s sent the ticket %(no)s back to you: %(title)s"),
    K.DONE: gettext_noop("Your ticket %(no)s is done: look at it, and close or reopen it."),
    K.FAILED: gettext_noop("Your ticket %(no)s could not be done."),
    K.CLOSED: gettext_noop("%(name)s closed the ticket %(no)s."),
    K.REOPENED: gettext_noop("%(name)s opened the ticket %(no)s again."),
    K.RATED: gettext_noop("%(name)s rated the ticket %(no)s."),
}


_WAITS = gettext_noop("The ticket %(no)s waits for you: %(title)s")


def waits_tell(actor: Actor, ticket: Ticket) -> None:
    """A message to those a rule sends the ticket to: nobody delivers it but one of them."""
    _tell(actor, ticket, _WAITS, "", receiver_ids(ticket))


def entry_keep(actor: Actor, ticket: Ticket, kind: str, text: str = "", *, tell: Iterable[int] = ()) -> None:
    """Write down what the actor did, and tell `tell` by a message, but for the actor."""
    user = user_get(actor.user_id) if actor.user_id else None
    TicketEntry.objects.create(
        ticket=ticket, kind=kind, text=text, user=user, user_name=str(user) if user else ""
    )
    if user is not None:
        _tell(actor, ticket, _SAID.get(K(kind), ""), str(user), set(tell) - {user.pk})
    ticket_shown(actor, ticket)


def ticket_shown(actor: Actor, ticket: Ticket) -> None:
    """The ticket's case is as the ticket is, and open pages fetch it again."""
    case_put(actor=actor, data=case_of(ticket))
    push(ticket.topic)
    for user_id in {ticket.submitter_id, ticket.assignee_id} - {None}:
        push(f"user.{user_id}", "ticket")


def _tell(actor: Actor, ticket: Ticket, msgid: str, name: str, ids: set[int]) -> None:
    """Each with the address of his own portal."""
    params = {"no": ticket.no, "title": ticket.title_zh, "name": name}
    if ticket.title_zh != ticket.title_en:
        params["title"] = f"{ticket.title_zh} / {ticket.title_en}"
    link, tenant = f"/tickets/{ticket.uid}/", current_tenant()
    operators = operators_among(ids)
    under = f"/t/{tenant.schema_name}{link}"
    notice_send(actor=actor, user_ids=ids - operators, msgid=msgid, params=params, link=link, tenant=tenant)
    notice_send(actor=actor, user_ids=operators, msgid=msgid, params=params, link=under)


def other_side(actor: Actor, ticket: Ticket) -> set[int]:
    """Who hears of what the actor says: who asked, or who works on it, or may take it."""
    if actor.user_id != ticket.submitter_id and is_handling(actor, ticket):
        return {ticket.submitter_id}
    return workers_of(ticket)


def workers_of(ticket: Ticket) -> set[int]:
    """Who has the ticket; else those that may take it."""
    return {ticket.assignee_id} if ticket.assignee_id else receiver_ids(ticket)


def text_clean(text: str, *, is_wanted: bool = True) -> str:
    """What somebody writes on a ticket."""
    text = text.replace("\x00", "").strip()
    if len(text) > TEXT_MAX:
        raise InvalidInput(fields={"text": _("At most %(most)s characters.") % {"most": TEXT_MAX}})
    if is_wanted and not text:
        raise InvalidInput(fields={"text": _("Write something.")})
    return text


# --- clocks ----------------------------------------------------------------------------------------------------


def clocks_start(ticket: Ticket) -> None:
    """Due times by the category's targets, in the centre's working hours."""
    calendar, now = calendar_now(), timezone.now()
    answer, solve = ticket.category.answer_minutes, ticket.category.solve_minutes
    ticket.answer_due_at = calendar.due(now, answer) if answer else None
    ticket.solve_due_at = calendar.due(now, solve) if solve else None


def clocks_go_on(ticket: Ticket) -> None:
    """What was asked back is answered: the solution is due later by the working time that this took."""
    if ticket.asked_at and ticket.solve_due_at:
        calendar = calendar_now()
        lost = calendar.worked(ticket.asked_at, timezone.now())
        ticket.solve_due_at = calendar.due(ticket.solve_due_at, int(lost / timedelta(minutes=1)))
    ticket.asked_at = None


def answered(actor: Actor, ticket: Ticket) -> None:
    """The first word of who works on it stops the clock of the answer."""
    if ticket.answered_at is None and actor.user_id != ticket.submitter_id and is_handling(actor, ticket):
        ticket.answered_at = timezone.now()
        ticket.save(update_fields=["answered_at", "updated_at"])
