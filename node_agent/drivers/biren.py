"""Biren, by `brsmi gpu --query-gpu=... --format=csv`."""

from __future__ import annotations

from node_agent.drivers.query_gpu import QueryGpuDriver

_NAMES = ("index", "uuid", "name", "memory.total", "memory.used", "utilization.gpu", "temperature.gpu",
          "power.draw")  # fmt: skip


class BirenDriver(QueryGpuDriver):
    """The PyTorch backend of BIRENSUPA is a module of its own."""

    vendor, tool, names = "biren", "brsmi", _NAMES
    arguments = ("gpu", f"--query-gpu={','.join(_NAMES)}", "--format=csv,noheader,nounits")
    visible, torch_name, torch_module = "BIREN_VISIBLE_DEVICES", "supa:0", "torch_br"
    api, api_file = "BIRENSUPA", "/usr/local/birensupa/version.txt"
