"""The lives of a process and of its tasks. A process ends once and never moves again; a form that is sent back or
withdrawn and submitted anew starts another process."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class InstanceState(models.TextChoices):
    RUNNING = "running", _("In approval")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")
    SENT_BACK = "sent_back", _("Sent back")
    WITHDRAWN = "withdrawn", _("Withdrawn")


class TaskState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DONE = "done", _("Done")
    CANCELLED = "cancelled", _("Cancelled")


class DecisionKind(models.TextChoices):
    APPROVE = "approve", _("Approve")
    REFUSE = "refuse", _("Refuse")
    SEND_BACK = "send_back", _("Send back")


class StepState(models.TextChoices):
    """A step as people are shown it: what came of it, rather than that it is over."""

    APPROVED = "approved", _("Approved")
    REFUSED = "refused", _("Refused")
    SENT_BACK = "sent_back", _("Sent back")
    WAITING = "waiting", _("Waiting")
    CANCELLED = "cancelled", _("Cancelled")
    COMING = "coming", _("To come")


INSTANCE = Flow(
    {(InstanceState.RUNNING, end): "" for end in InstanceState if end != InstanceState.RUNNING},
)
TASK = Flow(
    {(TaskState.WAITING, TaskState.DONE): "", (TaskState.WAITING, TaskState.CANCELLED): ""},
    mirrored="task",
)
