"""Why work waits, in so few kinds that a chart can show them: each reason of the scheduler is one of a cause."""

from django.utils.translation import gettext_lazy as _

from apps.scheduling.engine.model.enums import ReasonCode as R

CAUSES = {
    "room": _("The pool was full"),
    "others": _("Other work came first"),
    "making_room": _("Room was being made"),
    "bound": _("A quota or a queue's limit was reached"),
    "no_fit": _("No device had what was asked for"),
    "out": _("Nodes or devices were out of service"),
    "hours": _("It was not yet time for it"),
    "queue": _("Its queue or reservation took no work"),
    "request": _("What was asked for cannot be"),
    "first": _("It waited for other work, its turn or the scheduler"),
}
"""By cause: what people read."""

_REASONS = {
    "room": (
        R.ALONE_DEVICE, R.ALONE_NODE, R.SHARED_OUT, R.CARD_NOT_IDLE, R.SIZE, R.COMPUTE_PERCENT, R.MEMORY_MIB, R.COUNT,
        R.COUNT_ON_ONE_NODE, R.REPLICA, R.REPLICAS, R.HOST_CPU, R.HOST_MEMORY, R.SCRATCH_DISK,
    ),
    "others": (R.BEHIND_HEAD, R.HELD_FOR_OTHERS),
    "making_room": (R.PREEMPTING, R.SHRINKING, R.MOVING),
    "bound": (R.QUEUE_QUOTA, R.TENANT_QUOTA, R.MODEL_QUOTA),
    "no_fit": (
        R.DEVICE_PIN, R.NODE_PIN, R.RESOURCE_GROUP, R.GROUP_RESERVED, R.LOCAL_NODE, R.VENDOR, R.MODEL, R.LABEL,
        R.STORAGE, R.CONTAINERS, R.PACKAGES, R.PROGRAM, R.DRIVER, R.NOT_VIRTUAL, R.NOT_PHYSICAL, R.AFFINITY,
        R.ANTI_AFFINITY, R.NO_SIZE,
    ),
    "out": (R.POOL_EMPTY, R.NODE_NOT_READY, R.NODE_CLOSED, R.DEVICE_DISABLED, R.DEVICE_UNHEALTHY),
    "hours": (R.TOO_EARLY, R.OUTSIDE_WINDOW, R.WINDOWS_OVER),
    "queue": (R.RESERVATION_UNKNOWN, R.RESERVATION_CLOSED, R.QUEUE_UNKNOWN, R.QUEUE_NOT_UP, R.TENANT_NOT_ADMITTED),
    "request": (R.REQUEST_INVALID, R.CONTRADICTION, R.DEADLINE_PAST),
}  # fmt: skip
CAUSE_OF = {str(reason): cause for cause, reasons in _REASONS.items() for reason in reasons}
"""The cause that a reason of a time line is one of."""

FIRST = "first"
"""The cause of what is no reason of the scheduler's, and of the time before it has given any."""
