"""A share of an NVIDIA card, held by a process runtime: time slices, and a watch on its memory.

The card's driver counts memory per process; the shim ends a work past its limit. Compute is held by
letting the work issue only in its share of each second; kernels already issued run to their end.
"""

from __future__ import annotations

import pynvml

_MIB = 1024 * 1024


class NvidiaGauge:
    """Measures one work's use of one card by NVML."""

    memory_enforced_by = "nvml-watch"
    compute_enforced_by = "time-slice"
    holds_data = False

    def __init__(self, device_uid: str, cores: int) -> None:
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(device_uid)
        except pynvml.NVMLError as error:
            raise RuntimeError(f"the card {device_uid} cannot be measured: {error}") from error

    def used_s(self, pids: list[int], cpu_s: float, running_s: float) -> float:
        return running_s

    def memory_mib(self, pids: list[int], limit_mib: int) -> int:
        wanted = set(pids)
        try:
            rows = pynvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        except pynvml.NVMLError:
            return 0
        used = sum(row.usedGpuMemory or 0 for row in rows if row.pid in wanted)
        return -(-used // _MIB)
