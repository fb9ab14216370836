"""The JSON of `rocm-smi`, which Hygon's `hy-smi` shares: an object per card, values as text."""

from __future__ import annotations

from typing import Any

from node_agent.drivers.parsing import child, first, json_object, mib, number
from node_agent.drivers.tool_driver import Card

_TEMPERATURES = ("junction", "core", "edge", "mem")
_POWERS = ("Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)")


def rocm_cards(text: str, *, default_model: str) -> list[Card]:
    """All `cardN` objects; `system` tells the driver."""
    told = json_object(text)
    version = str(first(child(told, "system"), "Driver version") or "")
    found = ((name.removeprefix("card"), values) for name, values in told.items() if name.startswith("card"))
    return [
        _card(int(index), values, default_model, version)
        for index, values in found
        if index.isdigit() and isinstance(values, dict)
    ]


def _card(index: int, values: dict[str, Any], default_model: str, version: str) -> Card:
    temperatures = (first(values, f"Temperature (Sensor {place}) (C)") for place in _TEMPERATURES)
    return Card(
        index=index,
        model=str(first(values, "Card Series", "Card Model", "Device Name") or default_model),
        memory_mib=_memory(values, "vram Total Memory"),
        key=str(first(values, "Unique ID", "Serial Number", "PCI Bus") or ""),
        used_mib=_memory(values, "vram Total Used Memory"),
        utilisation_percent=number(first(values, "GPU use (%)", "DCU use (%)", "HCU use (%)")),
        temperature_c=number(next((item for item in temperatures if item is not None), None)),
        power_w=number(first(values, *_POWERS)),
        driver_version=str(first(values, "Driver version") or version).strip(),
    )


def _memory(values: dict[str, Any], name: str) -> int | None:
    in_bytes = first(values, f"{name} (B)")
    return mib(in_bytes, "b") if in_bytes is not None else mib(first(values, f"{name} (MiB)"))
