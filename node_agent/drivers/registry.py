"""Which drivers there are: ours by name, and those that outsiders install under an entry-point group."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DeviceDriver, SizedSliceDriver, SliceDriver, SliceSize
from node_agent.protocol.fields import HOST_DRIVER

ENTRY_POINT_GROUP = "weir.node_agent.drivers"
DEVICE_DRIVERS = {
    "cpu": "node_agent.drivers.cpu:CpuDriver",
    "nvidia": "node_agent.drivers.nvidia:NvidiaDriver",
    "ascend": "node_agent.drivers.ascend:AscendDriver",
    "cambricon": "node_agent.drivers.cambricon:CambriconDriver",
    "hygon": "node_agent.drivers.hygon:HygonDriver",
    "amd": "node_agent.drivers.amd:AmdDriver",
    "kunlunxin": "node_agent.drivers.kunlunxin:KunlunxinDriver",
    "enflame": "node_agent.drivers.enflame:EnflameDriver",
    "iluvatar": "node_agent.drivers.iluvatar:IluvatarDriver",
    "biren": "node_agent.drivers.biren:BirenDriver",
    "mthreads": "node_agent.drivers.mthreads:MthreadsDriver",
    "metax": "node_agent.drivers.metax:MetaxDriver",
    "simulated": "node_agent.drivers.simulated:SimulatedDriver",
}
SLICE_DRIVERS = {
    "cpu": "node_agent.drivers.slices.cpu:CpuSlices",
    "time-slice": "node_agent.drivers.slices.time_slice:TimeSlices",
    "session": "node_agent.drivers.slices.session:SessionSlices",
    "mps": "node_agent.drivers.slices.mps:MpsSlices",
    "mig": "node_agent.drivers.slices.mig:MigSlices",
    "hami": "node_agent.drivers.slices.hami:HamiSlices",
    HOST_DRIVER: "node_agent.drivers.slices.host:HostSlices",
}
"""In order of preference: a slice that asks for none gets the first that serves its kind of work. `host` serves work on
the host alone, and no other."""

log = logging.getLogger("weir.agent")


def device_drivers_load(settings: AgentSettings) -> dict[str, DeviceDriver]:
    """All device drivers by vendor. One that cannot be loaded is named in the log and left out."""
    outside = {point.name: point.load for point in entry_points(group=ENTRY_POINT_GROUP)}
    ours = {vendor: _loader(path) for vendor, path in DEVICE_DRIVERS.items()}
    return _load_all(outside | ours, settings)


def slice_drivers_load(settings: AgentSettings) -> dict[str, SliceDriver]:
    """All slice drivers by name."""
    return _load_all({name: _loader(path) for name, path in SLICE_DRIVERS.items()}, settings)


def supported(drivers: Mapping[str, SliceDriver], device: Device) -> tuple[str, ...]:
    """The names of the slice drivers that can cut this device."""
    cutting = preferred(drivers, device)
    return tuple(
        name
        for name, driver in drivers.items()
        if (name == HOST_DRIVER or name in cutting) and not driver.refusal(device)
    )


def preferred(drivers: Mapping[str, SliceDriver], device: Device) -> tuple[str, ...]:
    """What a slice that asks for no driver is tried with, in this order. A card in MIG mode runs work in its instances
    and nowhere else."""
    if "mig" in drivers and not drivers["mig"].refusal(device):
        return ("mig",)
    return tuple(name for name in drivers if name != HOST_DRIVER)


def sizes_of(drivers: Mapping[str, SliceDriver], device: Device) -> tuple[SliceSize, ...]:
    """The only sizes in which the device gives shares; none where it gives any."""
    driver = drivers.get("mig")
    return driver.sizes(device) if isinstance(driver, SizedSliceDriver) and not driver.refusal(device) else ()


def _load_all(sources: Mapping[str, Callable[[], Any]], settings: AgentSettings) -> dict[str, Any]:
    loaded: dict[str, Any] = {}
    for name, load in sources.items():
        try:
            loaded[name] = load()(settings)
        except Exception as error:  # an outsider's module may raise anything; the node must still start
            log.error("driver %s cannot be loaded and is left out: %s", name, error)
    return loaded


def _loader(path: str) -> Callable[[], Any]:
    def load() -> Any:
        module, _, name = path.partition(":")
        return getattr(importlib.import_module(module), name)

    return load
