"""What nodes say of their devices, set against what we know. Internal to the app's services."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from apps.fleet.events import DeviceFound, DeviceMeasured, DeviceMismatch, DeviceMissing, DeviceReturned
from apps.fleet.models import Device, Node
from apps.fleet.services.changed_rows import ChangedRows
from apps.fleet.states import Health
from apps.kernel.actor import Actor
from apps.kernel.events import Event, emit
from node_agent.protocol.join import DeviceReport

_OBSERVED = [
    "index",
    "vendor",
    "model",
    "reported_mib",
    "cores",
    "driver_version",
    "slice_drivers",
    "slice_sizes",
    "is_simulated",
    "is_verified",
    "apis",
    "numa_node",
    "missing_at",
    "is_leaving",
    "left_at",
    "health",
    "health_reason",
    "measured",
    "measured_at",
]
MEASURE_EVERY = timedelta(seconds=5)
# A device of which its node says nothing for so long leaves the pool; it is back when it is reported again.
MISSING_MAX = timedelta(seconds=60)
_MISSING = "the node no longer reports this device"


def device_new(node: Node, report: DeviceReport) -> Device:
    """A device seen for the first time, not saved."""
    row = Device(uid=report.uid, node=node, memory_mib=report.memory_mib)
    _facts_set(row, report)
    row.health, row.health_reason = report.health, report.health_reason
    return row


def devices_observe(node: Node, reports: Sequence[DeviceReport], *, actor: Actor, now: datetime) -> None:
    """Bring a node's devices to what it reports.

    New ones appear by themselves (POOL-12.25). Less memory than known, or no word of a device, makes it degraded;
    more is not believed. Each is told once. A device that is another node's stays there.
    """
    # A device that the scheduler holds just now is left for the next report: measuring waits for nobody.
    rows = Device.objects.filter(node=node).select_for_update(no_key=True, skip_locked=True).order_by("pk")
    known = {device.uid: device for device in rows}
    found = {report.uid: report for report in reports}
    changes = ChangedRows(known.values(), _OBSERVED)
    events = [event for device in known.values() for event in _observe(node, device, found, now)]
    changes.save(Device.objects)
    new = [report for uid, report in found.items() if uid not in known]
    if new:
        events += _found(node, new)
    for event in events:
        emit(event, actor=actor)


def _found(node: Node, reports: Sequence[DeviceReport]) -> list[Event]:
    uids = [report.uid for report in reports]
    elsewhere = set(Device.objects.filter(uid__in=uids).values_list("uid", flat=True))
    mine = [device_new(node, report) for report in reports if report.uid not in elsewhere]
    Device.objects.bulk_create(mine, ignore_conflicts=True)
    return [DeviceFound(device_uid=row.uid, node_uid=node.uid, node=node.name) for row in mine]


def _observe(node: Node, device: Device, found: dict[str, DeviceReport], now: datetime) -> list[Event]:
    report = found.get(device.uid)
    if report is None:
        return _miss(node, device, now)
    events: list[Event] = []
    if device.missing_at is not None:
        _return(device)
        events.append(DeviceReturned(device_uid=device.uid, node=node.name))
    if report.memory_mib not in (device.memory_mib, device.reported_mib):
        events.append(
            DeviceMismatch(
                device_uid=device.uid, node=node.name, old_mib=device.memory_mib, new_mib=report.memory_mib
            )
        )
    _facts_set(device, report)
    device.measured = _measured(report)
    device.health, device.health_reason = _health(device, report)
    if device.measured_at is None or now - device.measured_at >= MEASURE_EVERY:
        device.measured_at = now
        events.append(_device_measured(node, device, now))
    return events


def _miss(node: Node, device: Device, now: datetime) -> list[Event]:
    """No word of it: ill at once, and leaving when it stays away."""
    device.health, device.health_reason, device.measured = Health.DEGRADED, _MISSING, {}
    if device.left_at is not None:
        return []
    if device.missing_at is None:
        device.missing_at = now
        return [DeviceMissing(device_uid=device.uid, node=node.name)]
    device.is_leaving |= now - device.missing_at >= MISSING_MAX
    return []


def _return(device: Device) -> None:
    """It is plugged in again: what had left because it was missing, or was taken out and is put in anew, is back."""
    device.missing_at = None
    device.is_leaving, device.left_at = False, None


def _device_measured(node: Node, device: Device, now: datetime) -> DeviceMeasured:
    figures = device.measured
    return DeviceMeasured(
        device_uid=device.uid,
        node_uid=node.uid,
        at=now,
        utilisation_percent=figures["utilisation_percent"],
        memory_used_mib=figures["memory_used_mib"],
        temperature_c=figures["temperature_c"],
        power_w=figures["power_w"],
        power_source=figures["power_source"],
    )


def _facts_set(device: Device, report: DeviceReport) -> None:
    device.index, device.vendor, device.model = report.index, report.vendor, report.model
    device.reported_mib, device.cores = report.memory_mib, report.cores
    device.driver_version, device.is_simulated = report.driver_version, report.simulated
    device.slice_drivers = list(report.slice_drivers)
    device.slice_sizes = [size.model_dump() for size in report.slice_sizes]
    device.is_verified, device.apis, device.numa_node = (
        report.is_verified,
        dict(report.apis),
        report.numa_node,
    )


def _measured(report: DeviceReport) -> dict[str, Any]:
    names = {"utilisation_percent", "memory_used_mib", "temperature_c", "power_w", "power_source"}
    return report.model_dump(mode="json", include=names)


def _health(device: Device, report: DeviceReport) -> tuple[str, str]:
    if report.health == Health.OK and report.memory_mib < device.memory_mib:
        reason = f"it reports {report.memory_mib} MiB and joined with {device.memory_mib} MiB"
        return Health.DEGRADED, reason
    return report.health, report.health_reason
