"""What direct work costs while it holds its share."""

from decimal import Decimal

from django.utils import timezone

from apps.catalog.pricing.price import price
from apps.catalog.selectors.prices import price_lines, price_version_get, pricing_line
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import policy_get
from apps.scheduling.types import CPU_COMPONENT, HOST_MEMORY_COMPONENT, Amounts

_HOUR_S = 3600


def hourly_price(row: Workload, shares: int | None = None) -> Decimal | None:
    """What `shares` of the work, or all it asks for, cost an hour at the prices in force; None where such work has
    no price, and is not taken in."""
    commodity = policy_get().direct_commodity
    version = price_version_get(commodity=commodity, at=timezone.now()) if commodity else None
    if version is None:
        return None
    lines = price_lines(version.pk)
    held = Amounts(
        row.shares,
        row.compute_percent,
        row.memory_mib,
        host_cpu_milli=row.host_cpu_milli,
        host_memory_mib=row.host_memory_mib,
        scratch_disk_mib=row.scratch_disk_mib,
    ).components()
    if any(code in held and code not in lines for code in (CPU_COMPONENT, HOST_MEMORY_COMPONENT)):
        return None
    amounts = {code: held[code] for code in lines if code in held}
    priced = price([pricing_line(lines[code]) for code in amounts], amounts, shares or row.shares, _HOUR_S)
    return priced.total
