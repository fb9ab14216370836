"""Huawei Ascend, by `npu-smi info`: two lines of a table per chip."""

from __future__ import annotations

import re

from node_agent.drivers.parsing import number
from node_agent.drivers.tool_driver import Card, ToolDriver
from node_agent.protocol.fields import Health

_BUS = re.compile(r"^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$")
_PAIR = re.compile(r"(\d+)\s*/\s*(\d+)")
_HEALTH: dict[str, Health] = {"OK": "ok", "Warning": "degraded"}


class AscendDriver(ToolDriver):
    """The first line has name, health, watts and degrees; the second bus, AI-core use and memory."""

    vendor, tool, arguments = "ascend", "npu-smi", ("info",)
    visible, torch_name, torch_module = "ASCEND_RT_VISIBLE_DEVICES", "npu:0", "torch_npu"
    api, api_file = "CANN", "/usr/local/Ascend/ascend-toolkit/latest/version.cfg"

    def parse(self, text: str) -> list[Card]:
        version = re.search(r"Version:\s*(\S+)", text)
        cards: list[Card] = []
        above: list[str] = []
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 3 and _BUS.match(cells[1]) and len(above) == 3:
                cards.append(_card(len(cards), above, cells, version.group(1) if version else ""))
            above = cells
        return cards


def _card(index: int, above: list[str], below: list[str], version: str) -> Card:
    name = above[0].split(maxsplit=1)
    readings = above[2].split()
    pairs = [(int(used), int(total)) for used, total in _PAIR.findall(below[2])]
    used_mib, total_mib = next((pair for pair in reversed(pairs) if pair[1]), (None, None))
    health = _HEALTH.get(above[1], "failed")
    return Card(
        index=index,
        model=f"Ascend {name[1].strip()}" if len(name) > 1 else "Ascend",
        memory_mib=total_mib,
        key=below[1],
        used_mib=used_mib,
        utilisation_percent=number(below[2].split()[0]) if below[2] else None,
        temperature_c=number(readings[1]) if len(readings) > 1 else None,
        power_w=number(readings[0]) if readings else None,
        health=health,
        health_reason="" if health == "ok" else f"npu-smi says {above[1]}; look at `npu-smi info -t health`",
        driver_version=version,
    )
