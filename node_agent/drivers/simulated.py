"""Devices of any vendor that only pretend: their work runs on the CPU, and they say so (`simulated`)."""

from __future__ import annotations

import platform

import psutil

from node_agent.config import AgentSettings, SimulatedPlan
from node_agent.drivers.base import Device, Measurement
from node_agent.drivers.cpu import device_uid
from node_agent.drivers.machine_meter import CpuMeter


class SimulatedDriver:
    """As WEIR_AGENT_SIMULATE says; nothing without it."""

    def __init__(self, settings: AgentSettings) -> None:
        self._plans, self._name = settings.simulate, settings.name
        self._first = settings.devices.count
        self._meter = CpuMeter()

    def discover(self) -> tuple[Device, ...]:
        places = [(plan, index) for plan in self._plans for index in range(plan.count)]
        return tuple(
            self._device(plan, index, self._first + place) for place, (plan, index) in enumerate(places)
        )

    def _device(self, plan: SimulatedPlan, index: int, place: int) -> Device:
        total = sum(other.count for other in self._plans)
        return Device(
            uid=device_uid(plan.vendor, self._name, index),
            index=place,
            vendor=plan.vendor,
            model=plan.model,
            memory_mib=plan.memory_mib,
            cores=max((psutil.cpu_count() or 1) // total, 1),
            driver_version=f"simulated on {platform.release()}"[:64],
            simulated=True,
            is_verified=False,
            apis={"simulated": "CPU"},
        )

    def measure(self, device: Device) -> Measurement:
        return self._meter.measure(device.cores)
