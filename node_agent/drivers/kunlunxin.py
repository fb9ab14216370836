"""Kunlunxin, by `xpu-smi -m`: a line of blank-separated fields per card, for machines."""

from __future__ import annotations

import re
import shlex

from node_agent.drivers.parsing import number
from node_agent.drivers.tool_driver import Card, ToolDriver

_BUS, _INDEX, _TEMPERATURE, _POWER, _USED, _TOTAL, _USE, _MODEL = 0, 1, 4, 8, 17, 18, 19, 21

_BUS_ID = re.compile(r"^[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$")


class KunlunxinDriver(ToolDriver):
    """XPyTorch presents itself as CUDA."""

    vendor, tool, arguments = "kunlunxin", "xpu-smi", ("-m",)
    visible, torch_name = "XPU_VISIBLE_DEVICES", "cuda:0"
    api, api_file = "XRE", "/usr/local/xpu/version.txt"

    def parse(self, text: str) -> list[Card]:
        cards = (_card(_fields(line)) for line in text.splitlines())
        return [card for card in cards if card is not None]


def _fields(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


def _card(fields: list[str]) -> Card | None:
    if len(fields) <= _MODEL or not _BUS_ID.match(fields[_BUS]):
        return None
    if not fields[_INDEX].isdigit() or not fields[_TOTAL].isdigit():
        return None
    return Card(
        index=int(fields[_INDEX]),
        model=f"Kunlunxin {fields[_MODEL]}",
        memory_mib=int(fields[_TOTAL]),
        key=fields[_BUS],
        used_mib=int(fields[_USED]) if fields[_USED].isdigit() else None,
        utilisation_percent=number(fields[_USE]),
        temperature_c=number(fields[_TEMPERATURE]),
        power_w=number(fields[_POWER]),
    )
