"""NVIDIA cards through NVML; none where there is no card or no driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pynvml

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, Measurement
from node_agent.sessions.available import torch_version

_MIB = 1024 * 1024


class NvidiaDriver:
    """Discovers and measures cards. A card that stops answering is reported as failed."""

    def __init__(self, settings: AgentSettings) -> None:
        self._handles: dict[str, Any] = {}
        self._known: tuple[Device, ...] = ()

    def discover(self) -> tuple[Device, ...]:
        """Where NVML stops answering, the cards once seen stay known, to be measured as failed."""
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            version = str(pynvml.nvmlSystemGetDriverVersion())
        except pynvml.NVMLError:
            return self._known
        found = (self._device(index, version) for index in range(count))
        self._known = tuple(device for device in found if device is not None)
        return self._known

    def _device(self, index: int, version: str) -> Device | None:
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uid = str(pynvml.nvmlDeviceGetUUID(handle))
            memory_mib = _memory(handle)[1] // _MIB
            model = str(pynvml.nvmlDeviceGetName(handle))
        except pynvml.NVMLError:
            return None
        self._handles[uid] = handle
        return Device(
            uid=uid,
            index=index,
            vendor="nvidia",
            model=model,
            memory_mib=memory_mib,
            cores=_multiprocessors(handle),
            driver_version=version[:64],
            torch_device="" if torch_version().endswith("+cpu") else "cuda:0",
            apis={"CUDA": _cuda_version()},
            numa_node=_ask(pynvml.nvmlDeviceGetNumaNodeId, handle),
            visible_env={"CUDA_VISIBLE_DEVICES": uid},
        )

    def measure(self, device: Device) -> Measurement:
        handle = self._handles[device.uid]
        memory = _ask(_memory, handle)
        if memory is None:
            return Measurement(
                health="failed", health_reason="the card does not answer NVML; look at `nvidia-smi`"
            )
        rates = _ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
        power_mw = _ask(pynvml.nvmlDeviceGetPowerUsage, handle)
        bad_pages = _uncorrected_errors(handle)
        return Measurement(
            utilisation_percent=float(rates.gpu) if rates else None,
            memory_used_mib=memory[0] // _MIB,
            temperature_c=_ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
            power_w=power_mw / 1000 if power_mw is not None else None,
            power_source="measured" if power_mw is not None else "",
            health="degraded" if bad_pages else "ok",
            health_reason=f"{bad_pages} uncorrected memory errors since the driver started"
            if bad_pages
            else "",
        )


def _ask(question: Callable[..., Any], *arguments: Any) -> Any:
    """An answer, or None where this card cannot tell."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return None


def _cuda_version() -> str:
    """The newest CUDA this driver serves, as 12.4."""
    number = _ask(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return f"{number // 1000}.{number % 1000 // 10}" if number else ""


def _uncorrected_errors(handle: Any) -> int:
    return int(
        _ask(
            pynvml.nvmlDeviceGetTotalEccErrors,
            handle,
            pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            pynvml.NVML_VOLATILE_ECC,
        )
        or 0
    )


def _memory(handle: Any) -> tuple[int, int]:
    """Bytes that programs hold, and that they may hold in all: without what the driver keeps for itself, where it says
    how much that is. Raises NVMLError."""
    try:
        found = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    except (pynvml.NVMLError_FunctionNotFound, pynvml.NVMLError_NotSupported):
        # A driver before 510 counts what it keeps among what is used.
        found = pynvml.nvmlDeviceGetMemoryInfo(handle)
        return int(found.used), int(found.total)
    return int(found.used), int(found.total - found.reserved)


# CUDA cores of a multiprocessor, by compute capability: of its major number, or of both.
_CORES_OF_ONE = {5: 128, 6: 128, (6, 0): 64, 7: 64, 8: 128, (8, 0): 64, 9: 128, 10: 128, 11: 128, 12: 128}


def _multiprocessors(handle: Any) -> int:
    """How many there are; 0 where it cannot be told. NVML says it itself of MIG instances alone."""
    cores = _ask(pynvml.nvmlDeviceGetNumGpuCores, handle)
    capability = _ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    if not cores or not capability:
        return 0
    of_one = _CORES_OF_ONE.get(tuple(capability)) or _CORES_OF_ONE.get(capability[0])
    return int(cores) // of_one if of_one else 0
