"""This machine as the server hears of it: the node and its devices."""

from __future__ import annotations

import logging
import os
import platform
import socket
import time
from importlib.metadata import PackageNotFoundError, version

import psutil

from node_agent.address import data_address
from node_agent.devices import Devices, report_of
from node_agent.drivers.base import Device, Measurement
from node_agent.drivers.machine_meter import CpuMeter
from node_agent.drivers.registry import device_drivers_load, slice_drivers_load
from node_agent.protocol.fields import DEVICES_PER_NODE
from node_agent.protocol.join import DeviceReport, NodeInfo
from node_agent.release import running_release
from node_agent.remote_config import Configured
from node_agent.runtime.containers.available import Containers
from node_agent.runtime.isolation.levels import Isolation
from node_agent.runtime.limits.probe import host_held_by
from node_agent.runtime.network.available import Networking
from node_agent.runtime.scratch_disk import scratch_disk_mib
from node_agent.runtime.volumes.folders import Volumes
from node_agent.sessions.available import torch_version
from node_agent.web.vscode import server_find

ADDRESS_S = 60.0
HOST_UNHELD = (
    "nobody lets this agent write control groups: the processor that work on a card asked for of its host is not held, "
    "and its main memory is watched; run the agent as root, or delegate the controllers memory and cpu to it"
)
_MIB = 1024 * 1024

log = logging.getLogger("weir.agent")


class Node:
    """The facts of this node. Its devices may come and go while it runs (POOL-12.25)."""

    def __init__(
        self,
        configured: Configured,
        isolation: Isolation | None = None,
        containers: Containers | None = None,
        packages: str = "",
        networking: Networking | None = None,
    ) -> None:
        """`isolation`: how work is kept apart here; None: it is not told, and no volumes are mounted. `containers`:
        whether work runs in images; None: it is not told. `packages`: for which Python packages are installed for
        work; "" for none. `networking`: which network work has; None: it is not told."""
        self._configured, self._isolation = configured, isolation
        self._containers, self._packages = containers or Containers(), packages
        self._networking = networking or Networking("")
        is_walled = isolation is not None and isolation.level == "namespaces"
        self._volumes = Volumes(configured.settings.storage_dir if is_walled else ())
        settings = configured.settings
        self._meter = CpuMeter()
        self._scratch_disk_mib = scratch_disk_mib(settings.home, settings.scratch_disk_mib)
        self._addressed_s, self._last_address = float("-inf"), ""
        self._host_held_by: str | None = None
        self._devices = Devices(device_drivers_load(settings), slice_drivers_load(settings))

    def device(self, uid: str) -> Device | None:
        """A device by its uid."""
        return self._devices.device(uid)

    def info(self) -> NodeInfo:
        """The machine itself."""
        settings = self._configured.settings
        power = self._power()
        return NodeInfo(
            name=settings.name,
            hostname=socket.gethostname() or "unknown",
            agent_version=agent_version(),
            os=platform.platform()[:200],
            cpu_count=os.cpu_count() or 1,
            memory_mib=psutil.virtual_memory().total // _MIB,
            labels=settings.labels,
            components=self._components(),
            address=self._address(),
            power_w=power.power_w,
            power_source=power.power_source,
            config_generation=self._configured.generation,
            config_problem=self._configured.problem,
            isolation=self._isolation.word if self._isolation else "",
            isolation_problem=self._isolation.problem if self._isolation else "",
            filter_problem=self._isolation.filter_problem if self._isolation else "",
            network=self._networking.level,
            network_problem=self._networking.problem,
            storage=self._volumes.mark(),
            storage_held=self._volumes.held_by(),
            containers=self._containers.architecture,
            containers_problem=self._containers.problem,
            packages=self._packages,
            scratch_disk_mib=self._scratch_disk_mib,
            host_held_by=self._host_held(),
        )

    def _host_held(self) -> str:
        """Found out once there is a card: of a device that is the processor the host is held as one with the share."""
        if not any(found.device.is_card for found in self._devices.last):
            return ""
        if self._host_held_by is None:
            self._host_held_by = host_held_by()
            if not self._host_held_by:
                log.warning("%s", HOST_UNHELD)
        return self._host_held_by or "nothing"

    def _address(self) -> str:
        """Looked up once a minute: asking for it may ask a name server."""
        settings, now_s = self._configured.settings, time.monotonic()
        if now_s - self._addressed_s > ADDRESS_S:
            self._last_address = data_address(settings.address, settings.server)
            self._addressed_s = now_s
        return self._last_address

    def _power(self) -> Measurement:
        """The CPU and every real card together; measured only if all of it is."""
        cards = [found.measured for found in self._devices.last if found.device.is_card]
        parts = [self._meter.measure_all(), *(card for card in cards if card.power_w is not None)]
        is_measured = all(part.power_source == "measured" for part in parts)
        return Measurement(
            power_w=round(sum(part.power_w or 0.0 for part in parts), 2),
            power_source="measured" if is_measured else "modelled",
        )

    def _components(self) -> dict[str, str]:
        torch = torch_version()
        served = {"session_server": agent_version(), "torch": torch} if torch else {}
        editor = os.path.basename(server_find())
        return {"agent": agent_version(), **served, **({"vscode": editor} if editor else {})}

    def reports(self) -> tuple[DeviceReport, ...]:
        """All devices as last measured, a second ago at most unless their driver hangs."""
        reports = map(report_of, self._devices.look())
        return tuple(report for report in reports if report is not None)[:DEVICES_PER_NODE]


def agent_version() -> str:
    """The release that runs; else the installed version, or `source` where it runs from its source tree."""
    if running_release():
        return running_release()
    try:
        return version("weir-node-agent")
    except PackageNotFoundError:
        return "source"
