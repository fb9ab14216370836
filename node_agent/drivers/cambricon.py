"""Cambricon, by `cnmon info`: a block of `key : value` lines per card."""

from __future__ import annotations

from node_agent.drivers.parsing import blocks, mib, number
from node_agent.drivers.tool_driver import Card, ToolDriver
from node_agent.protocol.fields import Health


class CambriconDriver(ToolDriver):
    """MLU cards; a card without a driver health line counts as well."""

    vendor, tool, arguments = "cambricon", "cnmon", ("info",)
    visible, torch_name, torch_module = "MLU_VISIBLE_DEVICES", "mlu:0", "torch_mlu"
    api, api_file = "Neuware", "/usr/local/neuware/version.txt"

    def parse(self, text: str) -> list[Card]:
        return [_card(index, values) for index, values in blocks(text, r"Card\s*(?:ID)?\s*:?\s*(\d+)$")]


def _card(index: str, values: dict[str, str]) -> Card:
    state = values.get("Health", "Good")
    health: Health = "ok" if state.lower() in ("good", "ok", "healthy", "1") else "degraded"
    return Card(
        index=int(index),
        model=values.get("Product Name", "MLU"),
        memory_mib=mib(values.get("Physical Memory Usage/Total")),
        key=values.get("UUID") or values.get("SN", ""),
        used_mib=mib(values.get("Physical Memory Usage/Used")),
        utilisation_percent=number(values.get("Utilization/MLU Average")),
        temperature_c=number(values.get("Temperature/Chip") or values.get("Temperature/Board")),
        power_w=number(values.get("Power/Usage")),
        health=health,
        health_reason="" if health == "ok" else f"cnmon says {state}",
        driver_version=values.get("Driver", values.get("Driver Version", "")),
    )
