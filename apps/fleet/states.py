"""Life cycles of nodes and slices, and the words for a device's health (PLAT-OPS-22)."""

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
        (NodeState.READY, NodeState.DRAINED): "fleet.manage",
        (NodeState.DRAINED, NodeState.READY): "fleet.manage",
        (NodeState.READY, NodeState.REMOVED): "fleet.manage",
        (NodeState.LOST, NodeState.REMOVED): "fleet.manage",
        (NodeState.DRAINED, NodeState.REMOVED): "fleet.manage",
    }
)


class Health(models.TextChoices):
    OK = "ok", _("Healthy")
    DEGRADED = "degraded", _("Degraded")
    FAILED = "failed", _("Failed")


class SliceKind(models.TextChoices):
    PROGRAM = "program", _("Program")
    SESSION = "session", _("Session")


class MoveState(models.TextChoices):
    """How far the move of a session is, told on its target: the worker starts, the state streams, over."""

    WAITING = "waiting", _("Preparing the target")
    SENDING = "sending", _("Moving")
    DONE = "done", _("Moved")
    FAILED = "failed", _("Move failed")


MOVING = frozenset({MoveState.WAITING, MoveState.SENDING})


class Desired(models.TextChoices):
    RUNNING = "running", _("Running")
    STOPPED = "stopped", _("Stopped")


class SliceState(models.TextChoices):
    DESIRED = "desired", _("Desired")
    STARTING = "starting", _("Starting")
    RUNNING = "running", _("Running")
    STOPPING = "stopping", _("Stopping")
    EXITED = "exited", _("Exited")
    FAILED = "failed", _("Failed")
    RELEASED = "released", _("Released before it started")
    LOST = "lost", _("Lost")


# Put down to these a stop is not the end of the work: it saves itself before (ELA-810).
GOES_ON = frozenset({"preempted", "suspended", "requeued"})
FINAL = frozenset({SliceState.EXITED, SliceState.FAILED, SliceState.RELEASED, SliceState.LOST})

_ENDS = (SliceState.EXITED, SliceState.FAILED, SliceState.LOST)
_ONWARDS = {
    SliceState.DESIRED: (
        SliceState.STARTING,
        SliceState.RUNNING,
        SliceState.STOPPING,
        SliceState.RELEASED,
        *_ENDS,
    ),
    SliceState.STARTING: (SliceState.RUNNING, SliceState.STOPPING, *_ENDS),
    SliceState.RUNNING: (SliceState.STOPPING, *_ENDS),
    SliceState.STOPPING: _ENDS,
}
SLICE = Flow({(source, to): "" for source, targets in _ONWARDS.items() for to in targets})
