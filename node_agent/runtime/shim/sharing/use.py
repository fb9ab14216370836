"""How much of what a work uses counts as its share of a device, and how much as its host beside it (PLAT-SVC-18).

A card and its host are two things, measured apart. Where the device is the processor they are one: a core of the device
is a core of the host, and a work may use both parts together. Then its share is filled first, and what is beyond
that is the host's. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.runtime.records.slice_records import SliceSpec


@dataclass(frozen=True, slots=True)
class Use:
    """What was measured of a work: percent of its device, cores, MiB of its device, and MiB of main memory that are
    beside that. None: not known."""

    device_percent: float | None
    cores: float | None
    device_mib: int
    main_mib: int | None = None


def cores_parted(spec: SliceSpec, use: Use, rate_percent: float) -> tuple[float | None, int | None]:
    """Percent of the device, and thousandths of a core of the host; None: not known, or not asked for.

    `rate_percent` is the share that it may use now: less than was sold while an oversold device is busy.
    """
    percent, cores = use.device_percent, use.cores
    if cores is not None and spec.host_cpu_milli and spec.added_percent and not spec.is_on_host:
        share_cores = min(cores, rate_percent * spec.cores / 100)
        percent, cores = 100 * share_cores / spec.cores, cores - share_cores
    milli = None if cores is None or not spec.host_cpu_milli else max(round(1000 * cores), 0)
    return None if percent is None else round(percent, 2), milli


def memory_parted(spec: SliceSpec, use: Use, share_mib: int) -> tuple[int, int | None]:
    """MiB of the device, and MiB of main memory beside it; None: not known, or not asked for."""
    if spec.is_on_host:
        return use.device_mib, use.device_mib
    if spec.added_mib:
        return min(use.device_mib, share_mib), max(use.device_mib - share_mib, 0)
    return use.device_mib, None if use.main_mib is None else max(use.main_mib, 0)
