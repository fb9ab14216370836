"""Enflame, by `efsmi -q`: a block of `key : value` lines per card."""

from __future__ import annotations

from node_agent.drivers.parsing import blocks, mib, number
from node_agent.drivers.tool_driver import Card, ToolDriver


class EnflameDriver(ToolDriver):
    """Older drivers say Mem Size and Mem Usage where newer ones say Total Size and Used Size."""

    vendor, tool, arguments = "enflame", "efsmi", ("-q",)
    visible, torch_name, torch_module = "TOPS_VISIBLE_DEVICES", "gcu:0", "torch_gcu"
    api, api_file = "TopsRider", "/usr/local/topsrider/version.txt"

    def parse(self, text: str) -> list[Card]:
        return [_card(index, values) for index, values in blocks(text, r"DEV ID\s+(\d+)$")]


def _card(index: str, values: dict[str, str]) -> Card:
    is_healthy = values.get("Health", "True") == "True"
    return Card(
        index=int(index),
        model=f"Enflame {values.get('Dev Name', 'GCU')}",
        memory_mib=mib(values.get("Total Size") or values.get("Mem Size")),
        key=values.get("Dev UUID") or values.get("Dev SN", ""),
        used_mib=mib(values.get("Used Size") or values.get("Mem Usage")),
        utilisation_percent=number(values.get("GCU Usage")),
        temperature_c=number(values.get("GCU Temp")),
        power_w=number(values.get("Cur Power")),
        health="ok" if is_healthy else "failed",
        health_reason="" if is_healthy else "efsmi says the card is not healthy; look at its error records",
        driver_version=values.get("Driver Info/Ver", ""),
    )
