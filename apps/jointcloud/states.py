"""How a job, its tasks and the attempts of their replicas stand."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class WorkState(models.TextChoices):
    """Of a job and of a task: the words of the engine's `RunState`."""

    PENDING = "pending", _("Waiting to run")
    RUNNING = "running", _("Running")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    STOPPED = "stopped", _("Stopped")


class ReplicaState(models.TextChoices):
    """Of one attempt of a replica. Those of `REPLACED` say nothing of the replica: another attempt stands for it."""

    PENDING = "pending", _("Waiting to run")
    RUNNING = "running", _("Running")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    STOPPED = "stopped", _("Stopped")
    REFUSED = "refused", _("The centre refused it")
    LOST = "lost", _("Lost with its centre")


OPEN = (WorkState.PENDING.value, WorkState.RUNNING.value)
ENDED = (WorkState.COMPLETED.value, WorkState.FAILED.value, WorkState.STOPPED.value)
REPLACED = (ReplicaState.REFUSED.value, ReplicaState.LOST.value)


class DecisionKind(models.TextChoices):
    """What is kept of the placing of a task."""

    PLACED = "placed", _("Placed")
    WAITS = "waits", _("Waits")
    REFUSED = "refused", _("Refused by the centre")
    TAKEN_BACK = "taken_back", _("Taken back with its gang")
    LOST = "lost", _("Lost with its centre")
    RETRIED = "retried", _("Tried again")


class SettledBy(models.TextChoices):
    """By what an attempt was settled. Of the last three nothing is charged and nothing owed."""

    TOLD = "told", _("The centre's accounts")
    SEEN = "seen", _("What the portal saw")
    DOUBTED = "doubted", _("Not believed")
    UNKNOWN = "unknown", _("Lost, and told by nobody")
    NOT_RUN = "not_run", _("It did not run")
