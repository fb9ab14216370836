"""What nodes say of their devices, set against what we know. Internal to the app's services."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apps.fleet.events import DeviceMismatch
from apps.fleet.models import Device, Node
from apps.fleet.states import Health
from apps.kernel.acts import Actor
from apps.kernel.events import emit
from node_agent.protocol.join import DeviceReport

_OBSERVED = [
    "index",
    "vendor",
    "model",
    "reported_mib",
    "cores",
    "driver_version",
    "slice_drivers",
    "is_simulated",
    "health",
    "health_reason",
    "measured",
    "measured_at",
]
_MISSING = "the node no longer reports this device"


def device_new(node: Node, report: DeviceReport) -> Device:
    """A device seen for the first time, not saved."""
    row = Device(uid=report.uid, node=node, memory_mib=report.memory_mib)
    _facts_set(row, report)
    row.health, row.health_reason = report.health, report.health_reason
    return row


def devices_observe(node: Node, reports: Sequence[DeviceReport], *, actor: Actor, now: datetime) -> None:
    """Bring a node's devices to what it reports.

    Less memory than known, or no word of a device, makes it degraded; more is not believed. Both are told once.
    A device that is another node's stays there.
    """
    # A device that the scheduler holds just now is left for the next report: measuring waits for nobody.
    rows = Device.objects.filter(node=node).select_for_update(no_key=True, skip_locked=True).order_by("pk")
    known = {device.uid: device for device in rows}
    told = {report.uid: report for report in reports}
    mismatches = [found for device in known.values() if (found := _observe(node, device, told, now))]
    Device.objects.bulk_update(known.values(), _OBSERVED)
    new = [report for uid, report in told.items() if uid not in known]
    if new:
        elsewhere = set(Device.objects.filter(uid__in=[r.uid for r in new]).values_list("uid", flat=True))
        Device.objects.bulk_create(
            [device_new(node, report) for report in new if report.uid not in elsewhere],
            ignore_conflicts=True,
        )
    for event in mismatches:
        emit(event, actor=actor)


def _observe(
    node: Node, device: Device, told: dict[str, DeviceReport], now: datetime
) -> DeviceMismatch | None:
    report = told.get(device.uid)
    if report is None:
        device.health, device.health_reason, device.measured = Health.DEGRADED, _MISSING, {}
        return None
    is_news = report.memory_mib not in (device.memory_mib, device.reported_mib)
    _facts_set(device, report)
    device.measured = _measured(report)
    device.measured_at = now
    device.health, device.health_reason = _health(device, report)
    if not is_news:
        return None
    return DeviceMismatch(
        device_uid=device.uid, node=node.name, old_mib=device.memory_mib, new_mib=report.memory_mib
    )


def _facts_set(device: Device, report: DeviceReport) -> None:
    device.index, device.vendor, device.model = report.index, report.vendor, report.model
    device.reported_mib, device.cores = report.memory_mib, report.cores
    device.driver_version, device.is_simulated = report.driver_version, report.simulated
    device.slice_drivers = list(report.slice_drivers)


def _measured(report: DeviceReport) -> dict[str, Any]:
    names = {"utilisation_percent", "memory_used_mib", "temperature_c", "power_w"}
    return report.model_dump(mode="json", include=names)


def _health(device: Device, report: DeviceReport) -> tuple[str, str]:
    if report.health == Health.OK and report.memory_mib < device.memory_mib:
        reason = f"it reports {report.memory_mib} MiB and joined with {device.memory_mib} MiB"
        return Health.DEGRADED, reason
    return report.health, report.health_reason
