"""Moore Threads, by `mthreads-gmi -q --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from node_agent.drivers.parsing import child, first, json_object, mib, number
from node_agent.drivers.tool_driver import Card, ToolDriver


class MthreadsDriver(ToolDriver):
    """Values carry their units, some keys a trailing blank."""

    vendor, tool, arguments = "mthreads", "mthreads-gmi", ("-q", "--json")
    visible, torch_name, torch_module = "MUSA_VISIBLE_DEVICES", "musa:0", "torch_musa"
    api, api_file = "MUSA", "/usr/local/musa/version.json"

    def parse(self, text: str) -> list[Card]:
        told = json_object(text)
        version = str(first(told, "Driver Version") or "")
        rows = first(told, "GPU")
        cards = (row for row in rows if isinstance(row, Mapping)) if isinstance(rows, list) else ()
        return [_card(place, row, version) for place, row in enumerate(cards)]


def _card(place: int, row: Mapping[str, Any], version: str) -> Card:
    memory = child(row, "FB Memory Usage")
    index = number(first(row, "Index"))
    return Card(
        index=place if index is None else int(index),
        model=str(first(row, "Product Name") or "MTT"),
        memory_mib=mib(first(memory, "Total")),
        key=str(first(row, "GPU UUID", "UUID", "Serial Number") or ""),
        used_mib=mib(first(memory, "Used")),
        utilisation_percent=number(first(child(row, "Utilization"), "Gpu")),
        temperature_c=number(first(child(row, "Temperature"), "GPU Current Temp")),
        power_w=number(first(child(row, "Power Readings"), "Power Draw")),
        driver_version=version,
    )
