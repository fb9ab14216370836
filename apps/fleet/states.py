"""What nodes, devices and slices can be."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class NodeState(models.TextChoices):
    READY = "ready", _("Ready")
    LOST = "lost", _("Lost")
    DRAINED = "drained", _("Drained")
    REMOVED = "removed", _("Removed")


NODE = Flow(
    {
        (NodeState.READY, NodeState.LOST): "",
        (NodeState.DRAINED, NodeState.LOST): "",
        (NodeState.LOST, NodeState.READY): "",
        (NodeState.LOST, NodeState.DRAINED): "",
        (NodeState.READY, NodeState.DRAINED): "",
        (NodeState.DRAINED, NodeState.READY): "",
        (NodeState.READY, NodeState.REMOVED): "",
        (NodeState.DRAINED, NodeState.REMOVED): "",
        (NodeState.LOST, NodeState.REMOVED): "",
    }
)


class Health(models.TextChoices):
    OK = "ok", _("Healthy")
    DEGRADED = "degraded", _("Degraded")
    FAILED = "failed", _("Failed")
    MISSING = "missing", _("Missing")


USABLE_HEALTH = (Health.OK, Health.DEGRADED)


class SliceState(models.TextChoices):
    DESIRED = "desired", _("Desired")
    STARTING = "starting", _("Starting")
    RUNNING = "running", _("Running")
    STOPPING = "stopping", _("Stopping")
    EXITED = "exited", _("Exited")
    FAILED = "failed", _("Failed")
    LOST = "lost", _("Lost")


LIVE = (SliceState.DESIRED, SliceState.STARTING, SliceState.RUNNING, SliceState.STOPPING)
ENDED = (SliceState.EXITED, SliceState.FAILED, SliceState.LOST)
# A slice only moves forward: reports may be late or come twice.
RANK = {state: rank for rank, state in enumerate(LIVE)} | dict.fromkeys(ENDED, len(LIVE))

REASONS = {
    "completed": _("The work ended by itself."),
    "run_timeout": _("The time ordered is over."),
    "stopped": _("It was stopped."),
    "memory_exceeded": _("The work took more memory than its share."),
    "crashed": _("The work ended with an error."),
    "refused": _("The node could not make the slice."),
    "lost": _("The node and what ran on it are lost."),
}
