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


class AfterStop(models.TextChoices):
    """What stopping work becomes when the last of its slices has ended."""

    STOP = "stop", _("Ends as it was asked to")
    FINISH = "finish", _("Ends: a part of it has ended")
    FAIL = "fail", _("Fails: a part of it has failed")
    SUSPEND = "suspend", _("Is put aside")
    REQUEUE = "requeue", _("Waits again")
    PREEMPT = "preempt", _("Waits again: it makes room for other work")


class AfterWork(models.TextChoices):
    """Until when work waits for other work; as in Slurm."""

    STARTED = "after", _("has started")
    OK = "after_ok", _("has finished well")
    ENDED = "after_any", _("has ended")
    NOT_OK = "after_not_ok", _("has ended, and not well")


class PreemptionCause(models.TextChoices):
    """By which right other work takes its room (ELA-810)."""

    PRIORITY = "priority", _("Higher priority")
    RECLAIM = "reclaim", _("Guarantee of the other queue")
    FAIR_SHARE = "fair_share", _("Fair share of the other tenant")


class Purpose(models.TextChoices):
    """What work is for (PLAT-AICFG-27)."""

    TRAINING = "training", _("Training")
    DEVELOPMENT = "development", _("Development")
    INFERENCE = "inference", _("Inference")
    VISUALIZATION = "visualization", _("Visualization")


class Software(models.TextChoices):
    """What an environment runs: what the centre has prepared on its nodes (PLAT-AICFG-14)."""

    JUPYTERLAB = "jupyterlab", _("JupyterLab")
    VSCODE = "vscode", _("VS Code in the browser")


class GpuKind(models.TextChoices):
    """How an environment gets its accelerator (PLAT-AICFG-13)."""

    SHARE = "share", _("Share of a card (vGPU)")
    WHOLE = "whole", _("Whole card")
    MIG = "mig", _("MIG slice")


class DecisionKind(models.TextChoices):
    """What the time line of a workload tells (ELA-504)."""

    SUBMITTED = "submitted", _("Submitted")
    WAITING = "waiting", _("Waits")
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
    FOLDER = "folder", _("Work folder")
    REFUSED = "refused", _("Refused")
    ENDED = "ended", _("Ended")


class ResourceTicketState(models.TextChoices):
    """Approved, it is in force within its period; disabled, it stays in the list."""

    WAITING = "waiting", _("Waiting for a decision")
    APPROVED = "approved", _("Approved")
    REFUSED = "refused", _("Refused")
    WITHDRAWN = "withdrawn", _("Withdrawn")
    DISABLED = "disabled", _("Disabled")
    DELETED = "deleted", _("Deleted")


T = ResourceTicketState
TICKET_FLOW = Flow(
    {
        **{(T.WAITING, to): "" for to in (T.APPROVED, T.REFUSED, T.WITHDRAWN)},
        (T.APPROVED, T.DISABLED): "",
        (T.DISABLED, T.APPROVED): "",
        (T.APPROVED, T.DELETED): "",
        (T.DISABLED, T.DELETED): "",
    }
)


class Tier(models.TextChoices):
    """Where what a user may hold comes from (PLAT-CLU-31); decision N-19 says which goes before which."""

    TICKET = "ticket", _("resource ticket")
    SPECIAL_USER = "special_user", _("special spec of the user")
    SPECIAL_GROUP = "special_group", _("special spec of the tenant")
    DEFAULT = "default", _("default spec")


class WhatIfState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class ScalingBy(models.TextChoices):
    """What a scaling rule looks at (ELA-907)."""

    QUEUE_DEPTH = "queue_depth", _("Queue depth")
    UTILISATION = "utilisation", _("Utilisation")
    WINDOW = "window", _("Time window")


class HookKind(models.TextChoices):
    """What hooks are told of (ELA-1102). Ended work has finished, failed or was lost."""

    STARTED = "started", _("Started")
    ENDED = "ended", _("Ended")
    PREEMPTED = "preempted", _("Preempted")


class HookCallState(models.TextChoices):
    PENDING = "pending", _("Waiting")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class Oversubscribe(models.TextChoices):
    """Whether work of a queue shares devices with other work (PLAT-CLU-53; what each is on slices: decision 9)."""

    YES = "yes", "YES"
    NO = "no", "NO"
    EXCLUSIVE = "exclusive", "EXCLUSIVE"
    FORCE = "force", "FORCE"


MOST_QUEUE_PRIORITY = 65_533
"""Of a queue (PLAT-CLU-51); as far below nothing."""


class WorkKind(models.TextChoices):
    PROGRAM = "program", _("Program")
    SESSION = "session", _("Session")


W = WorkloadState
FINAL_STATES = frozenset({W.FINISHED, W.FAILED, W.LOST})
OPEN_STATES = frozenset({W.PENDING, W.PLACED, W.RUNNING})
HOLDING_STATES = frozenset({W.PLACED, W.RUNNING, W.STOPPING})

TURN_CODE = "array_turn"
"""Why a task of an array waits that others of it go before."""
NOT_HELD_BACK = {"waits_for_funds": False, "waits_for_work": False, "waits_for_turn": False}
"""What the scheduler may place of what waits: for room, and not for money, other work or its turn in an array."""

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
        # What it waits for can never be.
        (W.SUSPENDED, W.FAILED): "",
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
    """What a quota counts: shares running, percent of devices, MiB of accelerator memory, and what they take of their
    nodes beside the devices: thousandths of cores, MiB of memory; and MiB of the volumes that are theirs."""

    INSTANCES = "instances", _("Instances")
    COMPUTE_PERCENT = "compute_percent", _("Compute share (%)")
    GPU_MEMORY_MIB = "gpu_memory_mib", _("Accelerator memory (MiB)")
    HOST_CPU_MILLI = "host_cpu_milli", _("CPU (cores)")
    HOST_MEMORY_MIB = "host_memory_mib", _("Host memory (MiB)")
    STORAGE_MIB = "storage_mib", _("Storage (MiB)")
