"""The life of a workload and of what it holds."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.kernel.flow import Flow


class WorkloadState(models.TextChoices):
    PENDING = "pending", _("Waiting")
    PLACED = "placed", _("Starting")
    RUNNING = "running", _("Running")
    STOPPING = "stopping", _("Stopping")
    FINISHED = "finished", _("Ended")
    FAILED = "failed", _("Failed")
    LOST = "lost", _("Lost")
    SUSPENDED = "suspended", _("Suspended")


class Purpose(models.TextChoices):
    """What work is for (PLAT-AICFG-27)."""

    TRAINING = "training", _("Training")
    DEVELOPMENT = "development", _("Development")
    INFERENCE = "inference", _("Inference")
    VISUALIZATION = "visualization", _("Visualization")


class DecisionKind(models.TextChoices):
    """What the time line of a workload tells (ELA-504)."""

    SUBMITTED = "submitted", _("Submitted")
    WAITING = "waiting", _("Waits")
    PROMISED = "promised", _("Start promised")
    PLACED = "placed", _("Placed")
    STARTED = "started", _("Started")
    PREEMPTING = "preempting", _("Notice to make room")
    PREEMPTED = "preempted", _("Preempted")
    RESIZED = "resized", _("Resized")
    SCALED = "scaled", _("Scaled")
    MOVED = "moved", _("Moved")
    SUSPENDED = "suspended", _("Suspended")
    RESUMED = "resumed", _("Resumed")
    REQUEUED = "requeued", _("Queued again")
    REFUSED = "refused", _("Refused")
    ENDED = "ended", _("Ended")


class WhatIfState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class WorkKind(models.TextChoices):
    PROGRAM = "program", _("Program")
    SESSION = "session", _("Session")


W = WorkloadState
FINAL_STATES = frozenset({W.FINISHED, W.FAILED, W.LOST})
OPEN_STATES = frozenset({W.PENDING, W.PLACED, W.RUNNING})
HOLDING_STATES = frozenset({W.PLACED, W.RUNNING, W.STOPPING})

# Who may ask is decided by the services: the moves themselves follow what the nodes report.
FLOW = Flow(
    {
        (W.PENDING, W.PLACED): "",
        (W.PENDING, W.FINISHED): "",
        (W.PENDING, W.FAILED): "",
        # Lost with its node, and asked to be queued again (ELA-706).
        **{(source, W.PENDING): "" for source in HOLDING_STATES},
        (W.PLACED, W.RUNNING): "",
        (W.PLACED, W.STOPPING): "",
        (W.RUNNING, W.STOPPING): "",
        **{(source, final): "" for source in HOLDING_STATES for final in FINAL_STATES},
        (W.PENDING, W.SUSPENDED): "",
        (W.STOPPING, W.SUSPENDED): "",
        (W.SUSPENDED, W.PENDING): "",
        (W.SUSPENDED, W.FINISHED): "",
    }
)


class AllocationState(models.TextChoices):
    ACTIVE = "active", _("Active")
    RELEASED = "released", _("Released")


class HoldState(models.TextChoices):
    IN_PROCESS = "in_process", _("In process")
    USED = "used", _("Used")
    RELEASED = "released", _("Released")


class QuotaItem(models.TextChoices):
    """What a tenant's quota counts: shares running, percent of devices, MiB of accelerator memory."""

    INSTANCES = "instances", _("Instances")
    COMPUTE_PERCENT = "compute_percent", _("Compute share (%)")
    GPU_MEMORY_MIB = "gpu_memory_mib", _("Accelerator memory (MiB)")
