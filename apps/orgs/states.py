from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class Stage(models.TextChoices):
    """How far a business system is in its life."""

    PLANNING = "planning", _("Planning")
    BUILDING = "building", _("Being built")
    TRIAL = "trial", _("On trial")
    IN_USE = "in_use", _("In use")
    RETIRED = "retired", _("Retired")


class ReportState(models.TextChoices):
    """Confirmed, a report's stage is the business system's."""

    WAITING = "waiting", _("Waiting for a decision")
    CONFIRMED = "confirmed", _("Confirmed")
    REFUSED = "refused", _("Refused")
    WITHDRAWN = "withdrawn", _("Withdrawn")


REPORT = Flow({(ReportState.WAITING, end): "" for end in ReportState if end != ReportState.WAITING})
