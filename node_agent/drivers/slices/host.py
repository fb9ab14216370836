"""`host`: processor and main memory of the host alone, and nothing of any device.

The shim and the kernel hold what was asked for; devices are hidden from the work.
"""

from __future__ import annotations

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DriverError, Setting
from node_agent.protocol.slices import DesiredSlice


class HostSlices:
    """Work that needs no accelerator. The device it is asked for on only names the node."""

    kinds = frozenset({"program"})
    is_verified = True

    def __init__(self, settings: AgentSettings) -> None:
        pass

    def refusal(self, device: Device) -> str:
        return ""

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        if not wanted.is_on_host:
            raise DriverError("the driver host gives no share of a device: name another, or none")
        return Setting(env=dict.fromkeys(device.visible_env, ""))

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        if compute_percent or memory_mib:
            raise DriverError("work on the host alone has no share of a device")

    def remove(self, slice_uid: str) -> None:
        return
