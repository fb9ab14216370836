"""MetaX, by `mx-smi`: two lines of a table per card."""

from __future__ import annotations

import re
from itertools import pairwise

from node_agent.drivers.parsing import number
from node_agent.drivers.tool_driver import Card, ToolDriver

_ABOVE = re.compile(r"^(\d+)\s+(MetaX .+?)(?:\s+(?:On|Off))?$")
_MEMORY = re.compile(r"(\d+)\s*/\s*(\d+)\s*MiB")
_POWER = re.compile(r"(\d+(?:\.\d+)?)\s*W")


class MetaxDriver(ToolDriver):
    """The first line has index, name, bus and use; the second degrees, watts, memory and state. MACA
    presents itself to PyTorch as CUDA."""

    vendor, tool = "metax", "mx-smi"
    visible, torch_name = "CUDA_VISIBLE_DEVICES", "cuda:0"
    api = "MACA"

    def parse(self, text: str) -> list[Card]:
        driver = re.search(r"Kernel Mode Driver Version:\s*(\S+)", text)
        maca = re.search(r"MACA Version:\s*(\S+)", text)
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines()]
        return [
            _card(above, below, driver.group(1) if driver else "", maca.group(1) if maca else "")
            for above, below in pairwise(lines)
            if len(above) == len(below) == 3 and _ABOVE.match(above[0]) and _MEMORY.search(below[1])
        ]


def _card(above: list[str], below: list[str], driver: str, maca: str) -> Card:
    name, memory, power = _ABOVE.match(above[0]), _MEMORY.search(below[1]), _POWER.search(below[0])
    assert name is not None
    assert memory is not None
    is_available = below[2].split()[:1] == ["Available"]
    return Card(
        index=int(name.group(1)),
        model=name.group(2),
        memory_mib=int(memory.group(2)),
        key=above[1],
        used_mib=int(memory.group(1)),
        utilisation_percent=number(above[2]),
        temperature_c=number(below[0]),
        power_w=float(power.group(1)) if power else None,
        health="ok" if is_available else "failed",
        health_reason="" if is_available else f"mx-smi says {below[2]}",
        driver_version=driver,
        apis={"MACA": maca},
    )
