"""Reads: what was sold of a resource, what its nodes keep for it, and what it really uses (PLAT-SVC-18)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apps.billing.selectors.charges import charge_amounts
from apps.fleet.models import Slice
from apps.scheduling.models import Workload
from apps.tenancy.models import Tenant

# By component of the catalogue: a share's figure in its amount unit, whole cores for CPU, GiB for scratch disk.
_MILLI, _GIB = 1000, 1024


@dataclass(frozen=True, slots=True)
class DeliveredLine:
    """One component over all shares of a resource: percent, MiB, cores, or GiB of scratch disk. None: not
    sold, nothing kept for it now, or not measured."""

    component: str
    sold: float | None
    reserved: float | None
    measured: float | None


def delivered_lines(tenant: Tenant, row: Workload, parts: Sequence[Slice]) -> list[DeliveredLine]:
    """A line for each component that was sold to the tenant, or that a node keeps for it. `parts` are its slices."""
    sold, count = charge_amounts(tenant=tenant, workload_uid=row.uid)
    live = [part for part in parts if not part.is_final]
    on_card = [part for part in live if not part.is_on_host]
    reserved: Mapping[str, float] = {
        "compute_share": sum(part.compute_percent for part in on_card),
        "gpu_memory": sum(part.memory_mib for part in on_card),
        "cpu": sum(part.host_cpu_milli for part in live) / _MILLI,
        "memory": sum(part.host_memory_mib for part in live),
        "scratch_disk": sum(part.scratch_disk_mib for part in live) / _GIB,
    }
    measured: Mapping[str, float | None] = {
        "compute_share": _sum(on_card, lambda part: part.delivered_percent),
        "gpu_memory": _sum(on_card, lambda part: part.memory_used_mib),
        "cpu": _sum(live, _cores),
        "memory": _sum(live, lambda part: part.host_memory_used_mib),
        "scratch_disk": _sum(live, _disk_gib),
    }
    return [
        DeliveredLine(
            code,
            _sold(row, code, sold, count),
            reserved[code] or None,
            measured[code] if live else None,
        )
        for code in reserved
        if code in sold or reserved[code]
    ]


def _sold(row: Workload, code: str, sold: Mapping[str, int], count: int) -> float | None:
    """What an order bought stays what it bought; direct work has what it is resized to, and parts of cores that are
    charged as whole ones."""
    if code not in sold:
        return None
    direct: Mapping[str, float] = {
        "compute_share": row.compute_percent,
        "gpu_memory": row.memory_mib,
        "cpu": row.host_cpu_milli / _MILLI,
    }
    if row.is_direct and code in direct:
        return direct[code] * (row.active_shares if row.active_shares is not None else row.shares)
    return sold[code] * count


def _disk_gib(part: Slice) -> float | None:
    return None if part.disk_used_mib is None else part.disk_used_mib / _GIB


def _sum(parts: Sequence[Slice], figure: Callable[[Slice], float | None]) -> float | None:
    found = [value for value in map(figure, parts) if value is not None]
    return sum(found) if found else None


def _cores(part: Slice) -> float | None:
    return None if part.host_cpu_used_milli is None else part.host_cpu_used_milli / _MILLI
