"""`cpu`: a share of CPU cores and main memory, held by the shim and the kernel."""

from __future__ import annotations

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, Setting
from node_agent.protocol.slices import DesiredSlice


class CpuSlices:
    """The machine's own CPU, also where it stands in for a simulated card."""

    kinds = frozenset({"program"})
    is_verified = True

    def __init__(self, settings: AgentSettings) -> None:
        pass

    def refusal(self, device: Device) -> str:
        return "it is no CPU" if device.is_card else ""

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        return Setting()

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        return

    def remove(self, slice_uid: str) -> None:
        return
