"""What crosses the border of orders: the input of a form line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from apps.catalog.states import CardUse, CommodityKind
from apps.scheduling.states import Purpose, QuotaItem, WorkKind
from apps.scheduling.types import Amounts, OrderedWork

# The node's driver that cuts a card into slices by the card's own means.
_MIG_DRIVER = "mig"
# What runs a program of its own, which can use volumes.
MOUNTING = (CommodityKind.WORK, CommodityKind.ENVIRONMENT, CommodityKind.SERVICE)
STORAGE = "storage"
# What conditions of a process read of the size of an application.
SIZES = (QuotaItem.COMPUTE_PERCENT.value, QuotaItem.GPU_MEMORY_MIB.value, QuotaItem.STORAGE_MIB.value)
FOREVER_S = 2**31 - 1
_INTERACTIVE = (CommodityKind.SESSION, CommodityKind.ENVIRONMENT)


@dataclass(frozen=True, slots=True)
class LineInput:
    """One service asked for: `amounts` by component code, per share, in the component's amount unit.

    `program`, where the commodity runs the buyer's own: `argv` or `script`, `env`, `image`, `assets` and `secrets`.
    """

    commodity_uid: UUID
    amounts: Mapping[str, int]
    count: int = 1
    program: Mapping[str, Any] = field(default_factory=dict)


def ordered_work(amounts: Mapping[str, int], count: int, delivery: Mapping[str, Any]) -> OrderedWork:
    """What is asked of the scheduler for `count` shares of these amounts of a commodity that delivers so."""
    return OrderedWork(
        amounts=amounts_delivered(amounts, count),
        work=delivery["work"],
        kind=WorkKind.SESSION if delivery["kind"] == CommodityKind.SESSION else WorkKind.PROGRAM,
        purpose=Purpose.DEVELOPMENT if delivery["kind"] in _INTERACTIVE else "",
        driver=_MIG_DRIVER if delivery["card_use"] == CardUse.MIG else "",
        storage=delivery.get("storage", ""),
        containers=delivery.get("containers", ""),
        secrets=delivery.get("secrets", {}),
        mig_profile=delivery.get("mig_profile", ""),
        **{name: delivery[name] for name in ("queue", "resource_group", "vendor", "model", "spec")},
    )


def duration_shown(duration_s: int | None) -> int:
    """What conditions of a process read of a duration: one without an end is longer than any."""
    return FOREVER_S if duration_s is None else duration_s


def storage_mib(amounts: Mapping[str, int]) -> int:
    """How large a volume of these component amounts is."""
    return amounts.get(STORAGE, 0) * 1024


def quota_delivered(amounts: Mapping[str, int], count: int) -> dict[str, int]:
    """What these component amounts take of a quota: of storage its size, of what runs shares, percent and memory of
    devices, cores and memory of nodes."""
    if size := storage_mib(amounts):
        return {QuotaItem.STORAGE_MIB.value: size}
    return amounts_delivered(amounts, count).quota()


def amounts_delivered(amounts: Mapping[str, int], count: int) -> Amounts:
    """What is asked of the scheduler for `count` shares of these component amounts: each that is sold is delivered.

    Compute in whole percent of a device, memory of device and host in MiB, CPU in cores, scratch disk in GiB.
    """
    return Amounts(
        count,
        amounts.get("compute_share", 0),
        amounts.get("gpu_memory", 0),
        host_cpu_milli=1000 * amounts.get("cpu", 0),
        host_memory_mib=amounts.get("memory", 0),
        scratch_disk_mib=amounts.get("scratch_disk", 0) * 1024,
    )
