"""A work ticket's life (annex A): waiting → in progress (claim) → done; in progress → waiting (given back); failed.

One that somebody opened by hand can wait for an answer of theirs in between, is closed when they are content, and comes
back when they are not. Between the steps of its category it goes in progress → waiting.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class TicketState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DELIVERING = "delivering", _("In progress")
    ASKED = "asked", _("Asked back")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CLOSED = "closed", _("Closed")


class EntryKind(models.TextChoices):
    """What somebody did with a ticket."""

    OPENED = "opened", _("opened the ticket")
    CLAIMED = "claimed", _("took it on")
    HANDED_OVER = "handed_over", _("handed it over")
    RETURNED = "returned", _("gave it back")
    ASKED = "asked", _("asked")
    REPLIED = "replied", _("answered")
    COMMENTED = "commented", _("wrote")
    EXECUTED = "executed", _("carried it out")
    PASSED_ON = "passed_on", _("passed it on")
    SENT_BACK = "sent_back", _("sent it back")
    DONE = "done", _("finished it")
    FAILED = "failed", _("could not do it")
    CLOSED = "closed", _("closed it")
    REOPENED = "reopened", _("opened it again")
    RATED = "rated", _("rated it")


OPEN = (TicketState.WAITING, TicketState.DELIVERING, TicketState.ASKED)
_BY_HAND = (TicketState.WAITING, TicketState.DELIVERING, TicketState.ASKED, TicketState.DONE)
TICKET = Flow(
    {
        (TicketState.WAITING, TicketState.DELIVERING): "",
        (TicketState.DELIVERING, TicketState.WAITING): "",
        (TicketState.DELIVERING, TicketState.DONE): "",
        (TicketState.DELIVERING, TicketState.FAILED): "",
        (TicketState.WAITING, TicketState.FAILED): "",
        (TicketState.DELIVERING, TicketState.ASKED): "",
        (TicketState.ASKED, TicketState.DELIVERING): "",
        (TicketState.DONE, TicketState.WAITING): "",
        **{(state, TicketState.CLOSED): "" for state in _BY_HAND},
    },
    mirrored="ticket",
)
