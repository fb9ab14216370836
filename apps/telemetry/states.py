"""Levels and life cycles: of alarms, their deliveries, and log lines."""

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
        (AlarmState.FIRING, AlarmState.ACKNOWLEDGED): "alarms.acknowledge",
        (AlarmState.FIRING, AlarmState.RESOLVED): "",
        (AlarmState.ACKNOWLEDGED, AlarmState.RESOLVED): "",
    }
)


class LogLevel(models.TextChoices):
    """How grave a log line is, the words of the node protocol."""

    DEBUG = "debug", _("Debug")
    INFO = "info", _("Information")
    WARNING = "warning", _("Warning")
    ERROR = "error", _("Error")
    CRITICAL = "critical", _("Critical")


class Comparison(models.TextChoices):
    GT = "gt", ">"
    GE = "ge", "≥"
    LT = "lt", "<"
    LE = "le", "≤"


class Channel(models.TextChoices):
    IN_SITE = "in_site", _("In-site message")
    EMAIL = "email", _("E-mail")
    WEBHOOK = "webhook", _("Webhook")


class HookKind(models.TextChoices):
    """What a webhook's server understands: the JSON of the Standard Webhooks specification, or a chat's robot."""

    STANDARD = "standard", _("Own server (JSON)")
    SLACK = "slack", "Slack"
    WECOM = "wecom", _("WeCom")
    DINGTALK = "dingtalk", _("DingTalk")
    FEISHU = "feishu", _("Feishu")


class DeliveryState(models.TextChoices):
    """A delivery that failed once stays pending until its last try."""

    PENDING = "pending", _("Pending")
    SENT = "sent", _("Sent")
    FAILED = "failed", _("Failed")


class PowerSource(models.TextChoices):
    MEASURED = "measured", _("measured")
    MODELLED = "modelled", _("modelled")


# Who raises alarms.
SOURCE_LABELS = {"agent": _("Node agent"), "platform": _("Platform"), "rules": _("Alarm rules")}
