"""Life cycles of roll-outs and their steps (POOL-12.22)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class RolloutState(models.TextChoices):
    RUNNING = "running", _("Rolling out")
    PAUSED = "paused", _("Paused")
    ROLLING_BACK = "rolling_back", _("Rolling back")
    DONE = "done", _("Rolled out")
    ROLLED_BACK = "rolled_back", _("Rolled back")
    CANCELLED = "cancelled", _("Cancelled")


OPEN = (RolloutState.RUNNING, RolloutState.PAUSED, RolloutState.ROLLING_BACK)

ROLLOUT = Flow(
    {
        (RolloutState.RUNNING, RolloutState.PAUSED): "fleet.manage",
        (RolloutState.PAUSED, RolloutState.RUNNING): "fleet.manage",
        (RolloutState.RUNNING, RolloutState.CANCELLED): "fleet.manage",
        (RolloutState.PAUSED, RolloutState.CANCELLED): "fleet.manage",
        (RolloutState.RUNNING, RolloutState.ROLLING_BACK): "",
        (RolloutState.PAUSED, RolloutState.ROLLING_BACK): "",
        (RolloutState.DONE, RolloutState.ROLLING_BACK): "fleet.manage",
        (RolloutState.CANCELLED, RolloutState.ROLLING_BACK): "fleet.manage",
        (RolloutState.RUNNING, RolloutState.DONE): "",
        (RolloutState.ROLLING_BACK, RolloutState.ROLLED_BACK): "",
    }
)


class StepState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    UPGRADING = "upgrading", _("Upgrading")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    ROLLING_BACK = "rolling_back", _("Rolling back")
    ROLLED_BACK = "rolled_back", _("Rolled back")
    SKIPPED = "skipped", _("Left as it was")


class TargetKind(models.TextChoices):
    SERVER = "server", _("Server")
    NODE = "node", _("Node")


class ProcessState(models.TextChoices):
    RUNNING = "running", _("Running")
    RESTARTING = "restarting", _("Restarting")
    STOPPED = "stopped", _("Stopped")
    LOST = "lost", _("Lost")


class ProcessKind(models.TextChoices):
    WEB = "web", _("Web server")
    WORKER = "worker", _("Worker")
    BEAT = "beat", _("Clock")
    SCHEDULER = "scheduler", _("Scheduler")
    CENTERS = "centers", _("Centre watcher")
