"""Biren, by `brsmi gpu --query-gpu=... --format=csv`."""

from __future__ import annotations

from node_agent.drivers.told import csv_rows, mib, number
from node_agent.drivers.tool_driver import Card, ToolDriver

_NAMES = ("index", "uuid", "name", "memory.total", "memory.used", "utilization.gpu", "temperature.gpu",
          "power.draw")  # fmt: skip


class BirenDriver(ToolDriver):
    """The PyTorch backend of BIRENSUPA is a module of its own."""

    vendor, tool = "biren", "brsmi"
    arguments = ("gpu", f"--query-gpu={','.join(_NAMES)}", "--format=csv,noheader,nounits")
    visible, torch_name, torch_module = "BIREN_VISIBLE_DEVICES", "supa:0", "torch_br"
    api, api_file = "BIRENSUPA", "/usr/local/birensupa/version.txt"

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
        power_w=number(row["power.draw"]),
    )
