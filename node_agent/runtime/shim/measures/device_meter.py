"""What a device measures of a work: device time used and memory held, by vendor."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from node_agent.runtime import proc
from node_agent.runtime.proc import SharedMemory
from node_agent.runtime.shim.session import SessionControl

DEVICE_METERS = {
    "cpu": "node_agent.runtime.shim.measures.device_meter:CpuMeter",
    "nvidia": "node_agent.runtime.shim.measures.device_meter_nvidia:NvidiaMeter",
}
MOUNT_CPU_S = 0.5
"""A program that has taken this much CPU time is doing more than starting: its share is mounted."""


class DeviceMeter(Protocol):
    """Measures one work. `memory_enforced_by` and `compute_enforced_by` name how limits are held."""

    memory_enforced_by: str
    compute_enforced_by: str
    holds_data: bool
    """Whether the slice's memory is the work's own main memory, so that the kernel's data limit can hold it."""
    is_cpu: bool
    """Whether device time is CPU time, which the kernel can hold and all works of the device can compare."""

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        """Seconds of the whole device used since the start, for the share."""
        ...

    def active_s(self, pids: list[int], cpu_s: float) -> float:
        """Seconds in which the device really worked, as far as it tells, for idleness."""
        ...

    def is_mounted(self, pids: list[int], cpu_s: float) -> bool:
        """Whether the work has really used the device by now (POOL-7.6c)."""
        ...

    def memory_mib(self, pids: list[int], limit_mib: int, shared: SharedMemory | None = None) -> int:
        """Memory of the device held now, in MiB; `shared`: files in main memory that are the work's."""
        ...


class CpuMeter:
    """A device of `cores` CPU cores and a share of main memory."""

    memory_enforced_by = "rlimit-data+watch"
    compute_enforced_by = "duty-cycle"
    holds_data = True
    is_cpu = True

    def __init__(self, device_uid: str, cores: int) -> None:
        self._cores = cores

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        return cpu_s / self._cores

    def active_s(self, pids: list[int], cpu_s: float) -> float:
        return cpu_s / self._cores

    def is_mounted(self, pids: list[int], cpu_s: float) -> bool:
        return cpu_s >= MOUNT_CPU_S

    def memory_mib(self, pids: list[int], limit_mib: int, shared: SharedMemory | None = None) -> int:
        return proc.memory_mib(pids, limit_mib=limit_mib, shared=shared)


class PlainMeter:
    """A card whose driver tells nothing of single works: its CPU time stands for use, memory is unknown."""

    memory_enforced_by = ""
    compute_enforced_by = "time-slice"
    holds_data = False
    is_cpu = False

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        return running_s

    def active_s(self, pids: list[int], cpu_s: float) -> float:
        return cpu_s

    def is_mounted(self, pids: list[int], cpu_s: float) -> bool:
        return cpu_s >= MOUNT_CPU_S

    def memory_mib(self, pids: list[int], limit_mib: int, shared: SharedMemory | None = None) -> int:
        return 0


class SessionMeter:
    """A session: its worker accounts memory and first use; its device time is its own on a card."""

    memory_enforced_by = "session-server"
    holds_data = False

    def __init__(self, device: DeviceMeter, control: SessionControl) -> None:
        self._device, self._control = device, control
        self.is_cpu = device.is_cpu
        self.compute_enforced_by = device.compute_enforced_by if self.is_cpu else "session-server"

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        return self._device.used_s(pids, cpu_s, running_s) if self.is_cpu else self._control.busy_s

    def active_s(self, pids: list[int], cpu_s: float) -> float:
        return self._device.active_s(pids, cpu_s) if self.is_cpu else self._control.busy_s

    def is_mounted(self, pids: list[int], cpu_s: float) -> bool:
        return self._control.is_mounted

    def memory_mib(self, pids: list[int], limit_mib: int, shared: SharedMemory | None = None) -> int:
        return self._control.memory_mib


def device_meter_make(vendor: str, device_uid: str, cores: int) -> DeviceMeter:
    """The device meter of a vendor; a plain one for a vendor nobody measures. Raises RuntimeError for a lost card."""
    if vendor not in DEVICE_METERS:
        return PlainMeter()
    module, _, name = DEVICE_METERS[vendor].partition(":")
    return cast(DeviceMeter, getattr(importlib.import_module(module), name)(device_uid, cores))
