"""Life cycles of bills (platform.md, annex A) and of charges."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class BillState(models.TextChoices):
    MADE = "made", _("Made")
    CONFIRMED = "confirmed", _("Confirmed")
    PAID = "paid", _("Paid")
    WRITTEN_OFF = "written_off", _("Written off")


B = BillState
BILL = Flow(
    {
        (B.MADE, B.CONFIRMED): "",
        (B.CONFIRMED, B.PAID): "",
        (B.MADE, B.WRITTEN_OFF): "",
        (B.CONFIRMED, B.WRITTEN_OFF): "",
    }
)


class FundsLevel(models.TextChoices):
    """How far what can still be spent goes, as the tenant's people were told last (ELA-1911)."""

    ENOUGH = "enough", _("Enough")
    LOW = "low", _("Low")
    EMPTY = "empty", _("Used up")


class ChargeState(models.TextChoices):
    OPEN = "open", _("Open")
    CLOSED = "closed", _("Closed")


CHARGE = Flow({(ChargeState.OPEN, ChargeState.CLOSED): ""})


class RefusalCode(models.TextChoices):
    """Why a usage report was not believed."""

    NO_CHARGE = "no_charge", _("No charge is open for the workload")
    FOREIGN_NODE = "foreign_node", _("The report speaks for another node")
    BACKWARDS = "backwards", _("The interval ends before it begins")
    NOT_WHOLE = "not_whole", _("The interval is no whole number of seconds")
    TOO_LONG = "too_long", _("The interval is longer than a day")
    FUTURE = "future", _("The interval lies in the future")
    BEFORE_OPEN = "before_open", _("The interval lies before the charge was opened")
    AFTER_CLOSE = "after_close", _("The interval lies after the charge was closed")
    ABSURD = "absurd", _("The measured figures are impossible")
    OVERLAP = "overlap", _("The interval overlaps one that is recorded")
    REWRITTEN = "rewritten", _("Another interval is recorded under this number")
