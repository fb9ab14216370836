"""What crosses the border of orders: the input of a form line."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from apps.scheduling.types import Amounts


@dataclass(frozen=True, slots=True)
class LineInput:
    """One service asked for: `amounts` by component code, per share, in the component's amount unit."""

    commodity_uid: UUID
    amounts: Mapping[str, int]
    count: int = 1


def amounts_delivered(amounts: Mapping[str, int], count: int) -> Amounts:
    """What is asked of the scheduler for `count` shares of these component amounts: each that is sold is delivered.

    Compute in whole percent of a device, memory of device and host in MiB, CPU in cores.
    """
    return Amounts(
        count,
        amounts.get("compute_share", 0),
        amounts.get("gpu_memory", 0),
        host_cpu_milli=1000 * amounts.get("cpu", 0),
        host_memory_mib=amounts.get("memory", 0),
    )
