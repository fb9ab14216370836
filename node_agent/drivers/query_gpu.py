"""Tools that answer as nvidia-smi's `--query-gpu` does: a line of comma-separated values for each card."""

from __future__ import annotations

from typing import ClassVar

from node_agent.drivers.parsing import csv_rows, mib, number
from node_agent.drivers.tool_driver import Card, ToolDriver


class QueryGpuDriver(ToolDriver):
    """Subclasses name what they ask for, in order, and which of it is the power drawn."""

    names: ClassVar[tuple[str, ...]]
    power: ClassVar[str] = "power.draw"

    def parse(self, text: str) -> list[Card]:
        return [self._card(row) for row in csv_rows(text, self.names)]

    def _card(self, row: dict[str, str]) -> Card:
        return Card(
            index=int(row["index"]),
            model=row["name"],
            memory_mib=mib(row["memory.total"]),
            key=row["uuid"],
            used_mib=mib(row["memory.used"]),
            utilisation_percent=number(row["utilization.gpu"]),
            temperature_c=number(row["temperature.gpu"]),
            power_w=number(row[self.power]),
            driver_version=row.get("driver_version", ""),
        )
