"""Iluvatar CoreX, by `ixsmi --query-gpu=... --format=csv`."""

from __future__ import annotations

from node_agent.drivers.told import csv_rows, mib, number
from node_agent.drivers.tool_driver import Card, ToolDriver

_NAMES = ("index", "uuid", "name", "driver_version", "memory.total", "memory.used", "utilization.gpu",
          "temperature.gpu", "board.power.draw")  # fmt: skip


class IluvatarDriver(ToolDriver):
    """CoreX presents itself to PyTorch as CUDA."""

    vendor, tool = "iluvatar", "ixsmi"
    arguments = (f"--query-gpu={','.join(_NAMES)}", "--format=csv")
    visible, torch_name = "CUDA_VISIBLE_DEVICES", "cuda:0"
    api, api_file = "CoreX", "/usr/local/corex/version.txt"

    def parse(self, text: str) -> list[Card]:
        return [_card(row) for row in csv_rows(text, _NAMES)]


def _card(row: dict[str, str]) -> Card:
    return Card(
        index=int(row["index"]),
        model=row["name"],
        memory_mib=mib(row["memory.total"]),
        key=row["uuid"],
        used_mib=mib(row["memory.used"]),
        utilisation_percent=number(row["utilization.gpu"]),
        temperature_c=number(row["temperature.gpu"]),
        power_w=number(row["board.power.draw"]),
        driver_version=row["driver_version"],
    )
