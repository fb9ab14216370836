"""Which drivers there are: ours by name, and those that outsiders install under an entry-point group."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import cast

from node_agent.config import AgentSettings
from node_agent.drivers.base import DeviceDriver

ENTRY_POINT_GROUP = "weir.node_agent.drivers"
DEVICE_DRIVERS = {
    "cpu": "node_agent.drivers.cpu:CpuDriver",
    "nvidia": "node_agent.drivers.nvidia:NvidiaDriver",
}

log = logging.getLogger("weir.agent")


def device_drivers_load(settings: AgentSettings) -> dict[str, DeviceDriver]:
    """All device drivers by vendor. One that cannot be loaded is named in the log and left out."""
    loaded: dict[str, DeviceDriver] = {}
    for vendor, load in _sources().items():
        try:
            loaded[vendor] = load()(settings)
        except Exception as error:  # an outsider's module may raise anything; the node must still start
            log.error("driver %s cannot be loaded and is left out: %s", vendor, error)
    return loaded


def _sources() -> dict[str, Callable[[], Callable[[AgentSettings], DeviceDriver]]]:
    outside = {point.name: point.load for point in entry_points(group=ENTRY_POINT_GROUP)}
    ours = {vendor: _loader(path) for vendor, path in DEVICE_DRIVERS.items()}
    return outside | ours


def _loader(path: str) -> Callable[[], Callable[[AgentSettings], DeviceDriver]]:
    def load() -> Callable[[AgentSettings], DeviceDriver]:
        module, _, name = path.partition(":")
        return cast(Callable[[AgentSettings], DeviceDriver], getattr(importlib.import_module(module), name))

    return load
