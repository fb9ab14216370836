"""A work ticket's life (annex A): waiting → delivering (claim) → done; delivering → waiting (given back); failed."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class TicketState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DELIVERING = "delivering", _("In delivery")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class TicketKind(models.TextChoices):
    DELIVERY = "delivery", _("Delivery")
    MANUAL = "manual", _("Manual service")
    REPAIR = "repair", _("Repair")
    PURCHASE = "purchase", _("Purchase")
    OUTSOURCING = "outsourcing", _("Outsourcing")


OPEN = (TicketState.WAITING, TicketState.DELIVERING)
TICKET = Flow(
    {
        (TicketState.WAITING, TicketState.DELIVERING): "",
        (TicketState.DELIVERING, TicketState.WAITING): "",
        (TicketState.DELIVERING, TicketState.DONE): "",
        (TicketState.DELIVERING, TicketState.FAILED): "",
        (TicketState.WAITING, TicketState.FAILED): "",
    },
    mirrored="ticket",
)
