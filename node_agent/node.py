"""This machine as the server hears of it: the node and its devices, discovered once, measured often."""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

import psutil

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DeviceDriver
from node_agent.drivers.table import device_drivers_load
from node_agent.protocol.join import DeviceReport, NodeInfo
from node_agent.release import running_release

_MIB = 1024 * 1024


class Node:
    """The facts of this node. Its devices are discovered once, at start."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._drivers = device_drivers_load(settings)
        self._devices: list[tuple[DeviceDriver, Device]] = [
            (driver, device) for driver in self._drivers.values() for device in driver.discover()
        ]

    def device(self, uid: str) -> Device | None:
        """A device by its uid."""
        return next((device for _, device in self._devices if device.uid == uid), None)

    def info(self) -> NodeInfo:
        """The machine itself."""
        return NodeInfo(
            name=self._settings.name,
            hostname=socket.gethostname() or "unknown",
            agent_version=agent_version(),
            os=platform.platform()[:200],
            cpu_count=os.cpu_count() or 1,
            memory_mib=psutil.virtual_memory().total // _MIB,
            labels=self._settings.labels,
            components={"agent": agent_version(), "session_server": agent_version()},
        )

    def reports(self) -> tuple[DeviceReport, ...]:
        """All devices, measured now."""
        return tuple(
            DeviceReport.model_validate(asdict(device) | asdict(driver.measure(device)))
            for driver, device in self._devices
        )


def agent_version() -> str:
    """The release that runs; else the installed version, or `source` where it runs from its source tree."""
    if running_release():
        return running_release()
    try:
        return version("weir-node-agent")
    except PackageNotFoundError:
        return "source"
