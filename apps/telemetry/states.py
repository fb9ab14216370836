"""Levels and life cycle of alarms."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class AlarmLevel(models.TextChoices):
    CRITICAL = "critical", _("Critical")
    MAJOR = "major", _("Major")
    MINOR = "minor", _("Minor")
    NOTICE = "notice", _("Notice")


class AlarmState(models.TextChoices):
    FIRING = "firing", _("Firing")
    ACKNOWLEDGED = "acknowledged", _("Acknowledged")
    RESOLVED = "resolved", _("Resolved")


ALARM = Flow(
    {
        (AlarmState.FIRING, AlarmState.ACKNOWLEDGED): "alarms.manage",
        (AlarmState.FIRING, AlarmState.RESOLVED): "",
        (AlarmState.ACKNOWLEDGED, AlarmState.RESOLVED): "",
    }
)
