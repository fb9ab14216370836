"""What a centre can be, and what a specification is for. The figures of `CenterStatus` are those of table 1."""

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class CenterStatus(models.IntegerChoices):
    UNAVAILABLE = 0, _("Unavailable")
    AVAILABLE = 1, _("Available")
    UNKNOWN = 2, _("Unknown")


class Serves(models.TextChoices):
    """Whose work is sent to a centre."""

    NAMED = "named", _("Tenants that are named")
    ALL = "all", _("All tenants")


class Trouble(models.TextChoices):
    """Why a centre's last call did not do what was asked."""

    REFUSED = "refused", _("It refused")
    UNREACHABLE = "unreachable", _("It did not answer")
    BROKEN = "broken", _("It answered nonsense")


class Wanted(models.TextChoices):
    """What is wanted of a remote task."""

    RUN = "run", _("Run")
    STOP = "stop", _("Stop")


class RemoteState(models.TextChoices):
    """How far a remote task is, as far as its centre has told."""

    NEW = "new", _("Not sent yet")
    SENDING = "sending", _("Being sent")
    WAITING = "waiting", _("Waiting there")
    RUNNING = "running", _("Running")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    STOPPED = "stopped", _("Stopped")
    REFUSED = "refused", _("Refused by the centre")
    LOST = "lost", _("Lost")


# In the order in which a task goes through them; each can be followed by any later one.
OPEN_STATES = (RemoteState.NEW, RemoteState.SENDING, RemoteState.WAITING, RemoteState.RUNNING)
# What the centre may have: all that was sent and is not over.
SENT_STATES = OPEN_STATES[1:]


class ServiceType(models.TextChoices):
    """The job types that table 3 names."""

    INTERACTIVE = "interactive", _("Interactive")
    BATCH = "batch", _("Batch")
    STREAMING = "streaming", _("Streaming")


# What the amounts of tables 2 to 4 are called.
AMOUNT_LABELS: dict[str, str | Promise] = {
    "cpu": _("CPU cores"),
    "gpu": "GPU",
    "npu": "NPU",
    "mlu": "MLU",
    "memory": _("Memory"),
    "storage": _("Storage"),
    "user_define": _("User-defined resource"),
}
