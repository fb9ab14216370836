"""`hami`: a share of an NVIDIA card held inside the work's process by HAMi-core's library, by its environment.

The library stands between the program and CUDA; a program linked against nothing dynamic escapes it.
"""

from __future__ import annotations

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DriverError, Setting
from node_agent.protocol.slices import DesiredSlice


class HamiSlices:
    """Needs HAMi-core's libvgpu.so on the node; WEIR_AGENT_HAMI_LIBRARY says where."""

    kinds = frozenset({"program"})
    is_verified = False

    def __init__(self, settings: AgentSettings) -> None:
        self._library, self._slices = settings.hami_library, settings.home / "slices"

    def refusal(self, device: Device) -> str:
        if device.vendor != "nvidia" or device.simulated:
            return "HAMi-core stands before CUDA only"
        return "" if self._library.is_file() else f"HAMi-core's library is not at {self._library}"

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        cache = self._slices / wanted.slice_uid / "work" / ".vgpu.cache"
        limits = {
            "LD_PRELOAD": str(self._library),
            "CUDA_DEVICE_MEMORY_LIMIT_0": f"{wanted.memory_mib}m",
            "CUDA_DEVICE_SM_LIMIT": str(wanted.compute_percent),
            "CUDA_DEVICE_MEMORY_SHARED_CACHE": str(cache),
            "GPU_CORE_UTILIZATION_POLICY": "FORCE",
        }
        return Setting(
            env={**device.visible_env, **limits},
            is_throttled=False,
            memory_enforced_by="hami-core",
            compute_enforced_by="hami-core",
            paths=(str(self._library),),
        )

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        raise DriverError("HAMi-core reads its limits when the work starts: start it anew, or use a session")

    def remove(self, slice_uid: str) -> None:
        return
