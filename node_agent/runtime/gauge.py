"""What a device measures of a work: device time used and memory held, by vendor."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from node_agent.runtime import proc

GAUGES = {
    "cpu": "node_agent.runtime.gauge:CpuGauge",
    "nvidia": "node_agent.runtime.gauge_nvidia:NvidiaGauge",
}


class Gauge(Protocol):
    """Measures one work. `memory_enforced_by` and `compute_enforced_by` name how limits are held."""

    memory_enforced_by: str
    compute_enforced_by: str
    holds_data: bool
    """Whether the slice's memory is main memory, so that the kernel's data limit can hold it."""

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        """Seconds of the whole device used since the start."""
        ...

    def memory_mib(self, pids: list[int], limit_mib: int) -> int:
        """Memory of the device held now, in MiB."""
        ...


class CpuGauge:
    """A device of `cores` CPU cores and a share of main memory."""

    memory_enforced_by = "rlimit-data+watch"
    compute_enforced_by = "duty-cycle"
    holds_data = True

    def __init__(self, device_uid: str, cores: int) -> None:
        self._cores = cores

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        return cpu_s / self._cores

    def memory_mib(self, pids: list[int], limit_mib: int) -> int:
        return proc.memory_mib(pids, limit_mib=limit_mib)


def gauge_make(vendor: str, device_uid: str, cores: int) -> Gauge:
    """The gauge of a vendor. Raises KeyError for one nobody measures, RuntimeError for a lost card."""
    module, _, name = GAUGES[vendor].partition(":")
    return cast(Gauge, getattr(importlib.import_module(module), name)(device_uid, cores))
