"""Life cycles of bills (platform.md, annex A) and of charges."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class BillState(models.TextChoices):
    MADE = "made", _("Made")
    CONFIRMED = "confirmed", _("Confirmed")
    PAID = "paid", _("Paid")


BILL = Flow({(BillState.MADE, BillState.CONFIRMED): "", (BillState.CONFIRMED, BillState.PAID): ""})


class ChargeState(models.TextChoices):
    OPEN = "open", _("Open")
    CLOSED = "closed", _("Closed")


CHARGE = Flow({(ChargeState.OPEN, ChargeState.CLOSED): ""})
