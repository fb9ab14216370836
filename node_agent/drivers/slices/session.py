"""`session`: our remote-accelerator server holds the share; any device with a PyTorch backend (POOL-12.3)."""

from __future__ import annotations

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, Setting
from node_agent.protocol.slices import DesiredSlice
from node_agent.sessions.available import torch_version


class SessionSlices:
    """The worker accounts memory to the MiB. On CPUs the shim holds compute, on cards the worker does."""

    kinds = frozenset({"session"})
    is_verified = True

    def __init__(self, settings: AgentSettings) -> None:
        pass

    def refusal(self, device: Device) -> str:
        if not torch_version():
            return "sessions need PyTorch on the node: install weir-node-agent[torch]"
        return "" if device.torch_device else "PyTorch has no backend for it here"

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        is_cpu = device.torch_device == "cpu"
        return Setting(env=dict(device.visible_env), is_throttled=is_cpu)

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        return

    def remove(self, slice_uid: str) -> None:
        return
