"""What quotas and limits count, in the reader's words: each item's name, and amounts of it with their unit."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.kernel.unit_text import cores_text, mib_text

_NAMES = {
    "instances": gettext_noop("instances"),
    "compute_percent": gettext_noop("compute"),
    "memory_mib": gettext_noop("accelerator memory"),
    "gpu_memory_mib": gettext_noop("accelerator memory"),
    "host_cpu_milli": gettext_noop("CPU"),
    "host_memory_mib": gettext_noop("host memory"),
    "storage_mib": gettext_noop("storage"),
}


def item_name(item: str) -> str:
    """What the item is called within a sentence."""
    return _(_NAMES[item])


def item_amount(item: str, amount: int) -> str:
    """So much of it: 40 %, 2 GiB, 1.5 cores, 3."""
    if item == "compute_percent":
        return f"{amount} %"
    if item == "host_cpu_milli":
        return cores_text(amount)
    return str(amount) if item == "instances" else mib_text(amount)


def item_amounts(item: str, **amounts: int) -> dict[str, str]:
    """Each of them by its name, and the item's own as `item`: for a sentence."""
    return {"item": item_name(item)} | {name: item_amount(item, amount) for name, amount in amounts.items()}
