"""A share of an NVIDIA card, measured: memory and multiprocessor time of one work's processes, by NVML.

The card's driver counts memory per process; the shim ends a work past its limit. Where nothing finer
holds compute, the work issues only in its share of each second; kernels already issued run to their end.
"""

from __future__ import annotations

import time

import pynvml

from node_agent.runtime.proc import SharedMemory

_MIB = 1024 * 1024


class NvidiaMeter:
    """Measures one work's use of one card, or of one MIG instance."""

    memory_enforced_by = "nvml-watch"
    compute_enforced_by = "time-slice"
    holds_data = False
    is_cpu = False

    def __init__(self, device_uid: str, cores: int) -> None:
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(device_uid)
        except pynvml.NVMLError as error:
            raise RuntimeError(f"the card {device_uid} cannot be measured: {error}") from error
        self._sampled_us = int(time.time() * 1e6)
        self._sampled_s = time.monotonic()
        self._active_s = 0.0

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        return running_s

    def active_s(self, pids: list[int], cpu_s: float) -> float:
        """Multiprocessor time by the driver's samples; a card that does not sample tells CPU time instead."""
        now_s = time.monotonic()
        try:
            rows = pynvml.nvmlDeviceGetProcessUtilization(self._handle, self._sampled_us)
        except pynvml.NVMLError as error:
            if error.value == pynvml.NVML_ERROR_NOT_FOUND:
                return self._active_s
            return cpu_s
        percent = max((row.smUtil for row in rows if row.pid in set(pids)), default=0)
        self._active_s += percent / 100 * (now_s - self._sampled_s)
        self._sampled_s = now_s
        self._sampled_us = max((row.timeStamp for row in rows), default=self._sampled_us)
        return self._active_s

    def is_mounted(self, pids: list[int], cpu_s: float) -> bool:
        return self.memory_mib(pids, 0) > 0

    def memory_mib(self, pids: list[int], limit_mib: int, shared: SharedMemory | None = None) -> int:
        wanted = set(pids)
        try:
            rows = pynvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        except pynvml.NVMLError:
            return 0
        used = sum(row.usedGpuMemory or 0 for row in rows if row.pid in wanted)
        return -(-used // _MIB)
