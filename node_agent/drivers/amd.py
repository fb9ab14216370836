"""AMD Instinct and Radeon, by `rocm-smi --json`, or by `amd-smi` where only that is installed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from node_agent.config import AgentSettings
from node_agent.drivers.parsing import child, first, json_object, mib, number
from node_agent.drivers.rocm_json import rocm_cards
from node_agent.drivers.tool import tool_run
from node_agent.drivers.tool_driver import Card, ToolDriver

_STATIC = ("static", "--asic", "--vram", "--driver", "--json")
_METRIC = ("metric", "--usage", "--power", "--temperature", "--mem-usage", "--json")


class AmdDriver(ToolDriver):
    """ROCm presents itself to PyTorch as CUDA. `amd-smi` tells what a card is and what it does in two answers."""

    vendor, tool = "amd", "rocm-smi"
    arguments = ("--showproductname", "--showuniqueid", "--showuse", "--showmeminfo", "vram", "--showtemp",
                 "--showpower", "--showdriverversion", "--json")  # fmt: skip
    visible, torch_name = "HIP_VISIBLE_DEVICES", "cuda:0"
    api, api_file = "ROCm", "/opt/rocm/.info/version"

    def __init__(self, settings: AgentSettings) -> None:
        super().__init__(settings)
        if shutil.which("rocm-smi") is None:
            self.tool = "amd-smi"

    def _output(self) -> str:
        if self.tool == "rocm-smi":
            return super()._output()
        answers = (tool_run([self.tool, *arguments]).strip() or "null" for arguments in (_STATIC, _METRIC))
        return '{{"static": {}, "metric": {}}}'.format(*answers)

    def parse(self, text: str) -> list[Card]:
        answer = json_object(text)
        if "static" not in answer:
            return rocm_cards(text, default_model="AMD GPU")
        doing = {first(row, "gpu"): row for row in _rows(answer.get("metric"))}
        return [_card(row, doing.get(first(row, "gpu"), {})) for row in _rows(answer["static"])]


def _rows(answer: Any) -> list[Mapping[str, Any]]:
    """A list of cards, in newer versions inside an object."""
    rows = answer.get("gpu_data") if isinstance(answer, Mapping) else answer
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _card(is_: Mapping[str, Any], does: Mapping[str, Any]) -> Card:
    asic, temperature, memory = child(is_, "asic"), child(does, "temperature"), child(does, "mem_usage")
    return Card(
        index=int(number(first(is_, "gpu")) or 0),
        model=str(first(asic, "market_name") or "AMD GPU"),
        memory_mib=_size(first(child(is_, "vram"), "size")) or _size(first(memory, "total_vram")),
        key=str(first(asic, "asic_serial") or ""),
        used_mib=_size(first(memory, "used_vram")),
        utilisation_percent=_value(first(child(does, "usage"), "gfx_activity")),
        temperature_c=_value(first(temperature, "hotspot")) or _value(first(temperature, "edge")),
        power_w=_value(first(child(does, "power"), "socket_power")),
        driver_version=str(first(child(is_, "driver"), "version") or ""),
    )


def _value(value: Any) -> float | None:
    """A number, plain or as an object of value and unit."""
    return number(first(value, "value") if isinstance(value, Mapping) else value)


def _size(value: Any) -> int | None:
    if isinstance(value, Mapping):
        return mib(first(value, "value"), str(first(value, "unit") or ""))
    return mib(value)
