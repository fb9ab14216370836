"""`mps`: a share of an NVIDIA card through the Multi-Process Service: threads and pinned memory, by the driver.

The limits are set when a client connects; NVIDIA changes neither for a client that runs.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import psutil

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DriverError, Setting
from node_agent.protocol.slices import DesiredSlice

_PID_FILE = "nvidia-cuda-mps-control.pid"


class MpsSlices:
    """Needs a control daemon (`nvidia-cuda-mps-control -d`) on the node, for many users if works have their own."""

    kinds = frozenset({"program", "session"})
    is_verified = True

    def __init__(self, settings: AgentSettings) -> None:
        default = Path(tempfile.gettempdir()) / "nvidia-mps"
        self._pipes = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY") or default)
        self._has_users = os.geteuid() == 0 and settings.work_uid_base > 0

    def refusal(self, device: Device) -> str:
        if device.vendor != "nvidia" or device.simulated:
            return "MPS is NVIDIA's"
        command = self._daemon()
        if command is None:
            return f"no MPS control daemon answers in {self._pipes}: start nvidia-cuda-mps-control -d"
        if self._has_users and "-multiuser-server" not in command:
            return "works have users of their own here: start nvidia-cuda-mps-control -d -multiuser-server"
        return ""

    def _daemon(self) -> list[str] | None:
        """The command line of the living control daemon."""
        try:
            command = psutil.Process(int((self._pipes / _PID_FILE).read_text())).cmdline()
        except (OSError, ValueError, psutil.Error):
            return None
        return command if command and "nvidia-cuda-mps-control" in command[0] else None

    def make(self, wanted: DesiredSlice, device: Device) -> Setting:
        limits = {
            "CUDA_MPS_PIPE_DIRECTORY": str(self._pipes),
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(wanted.compute_percent),
            "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={wanted.memory_mib}M",
        }
        return Setting(
            env={**device.visible_env, **limits},
            is_throttled=False,
            memory_enforced_by="mps",
            compute_enforced_by="mps",
            paths=(str(self._pipes),),
        )

    def resize(self, wanted_uid: str, compute_percent: int, memory_mib: int) -> None:
        raise DriverError("MPS sets a share when the work starts: start it anew, or use a session")

    def remove(self, slice_uid: str) -> None:
        return
