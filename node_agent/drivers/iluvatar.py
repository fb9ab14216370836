"""Iluvatar CoreX, by `ixsmi --query-gpu=... --format=csv`."""

from __future__ import annotations

from node_agent.drivers.query_gpu import QueryGpuDriver

_NAMES = ("index", "uuid", "name", "driver_version", "memory.total", "memory.used", "utilization.gpu",
          "temperature.gpu", "board.power.draw")  # fmt: skip


class IluvatarDriver(QueryGpuDriver):
    """CoreX presents itself to PyTorch as CUDA."""

    vendor, tool, names, power = "iluvatar", "ixsmi", _NAMES, "board.power.draw"
    arguments = (f"--query-gpu={','.join(_NAMES)}", "--format=csv")
    visible, torch_name = "CUDA_VISIBLE_DEVICES", "cuda:0"
    api, api_file = "CoreX", "/usr/local/corex/version.txt"
