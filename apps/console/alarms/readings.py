"""What the pool is now, in the words of telemetry: for the alarm rules, the hourly sums and the charts.

Power is the node's own figure where its agent tells one, else the sum of its devices. A task's part of a device's
power is the part of the device it holds; what nobody holds is nobody's.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Case, F, Min, Sum, When

from apps.centers.selectors import center_list
from apps.console.reports.base import device_label
from apps.fleet.models import Device, Node, Slice
from apps.fleet.selectors import slice_open_list
from apps.fleet.states import Desired, Health, NodeState, SliceState
from apps.scheduling.models import QuotaHold, TenantQuota, Workload
from apps.scheduling.selectors.queues.waiting import runnable_at
from apps.scheduling.states import HoldState, QuotaItem, WorkloadState
from apps.telemetry.states import PowerSource
from apps.telemetry.types import Measured, Metered, Reading

ANSWERING = (NodeState.READY, NodeState.DRAINED)
# What was measured longer ago says nothing of now.
MEASURE_MAX_AGE = timedelta(seconds=60)
MISSING_TOLD = timedelta(days=1)
SAMPLE_EVERY_S = 30
POOL = "pool"
ALL_POOLS = "*"
"""All devices together, beside the codes of resource groups, which have no such sign."""


@dataclass(frozen=True, slots=True)
class Power:
    """Watts, and whether all of them were measured."""

    watts: float
    source: str


@dataclass(frozen=True, slots=True)
class PoolNow:
    """The pool's rows as they were at `at`."""

    at: datetime
    nodes: tuple[Node, ...]
    devices: tuple[Device, ...]
    slices: tuple[Slice, ...]
    numbers: Mapping[object, str]


def pool_now(at: datetime) -> PoolNow:
    """Read nodes, devices, open slices and their workloads' numbers, in four queries."""
    nodes = tuple(Node.objects.exclude(state=NodeState.REMOVED))
    devices = tuple(Device.objects.exclude(node__state=NodeState.REMOVED).select_related("node", "group"))
    slices = tuple(slice_open_list())
    wanted = Workload.objects.across().filter(uid__in={row.workload_uid for row in slices})
    return PoolNow(at, nodes, devices, slices, dict(wanted.values_list("uid", "no")))


# --- readings for the rules ------------------------------------------------------------------------------------


def readings(now: PoolNow) -> list[Reading]:
    """What each metric is on each subject; what is not known now is not told."""
    parts = (
        _devices(now),
        _nodes(now),
        _network(now),
        _centers(now.at),
        _slices(now),
        _queues(now.at),
        _quotas(),
        _disk(),
    )
    return [reading for part in parts for reading in part]


def _is_heard(device: Device) -> bool:
    return device.node.state in ANSWERING and device.left_at is None


def _figures(device: Device, at: datetime) -> Mapping[str, float | None]:
    """What was measured of a device lately; nothing when that was too long ago."""
    is_fresh = device.measured_at is not None and at - device.measured_at <= MEASURE_MAX_AGE
    return device.measured if is_fresh and _is_heard(device) else {}


def _devices(now: PoolNow) -> Iterator[Reading]:
    for device in now.devices:
        name, uid = device_label(device), device.uid
        figures = _figures(device, now.at)
        for metric, figure in (
            ("device_utilisation", "utilisation_percent"),
            ("device_temperature", "temperature_c"),
        ):
            if (value := figures.get(figure)) is not None:
                yield Reading(metric, uid, name, float(value))
        if (used := figures.get("memory_used_mib")) is not None and device.memory_mib:
            yield Reading("device_memory", uid, name, 100 * used / device.memory_mib)
        if power := device_power(device, now.at):
            yield Reading("device_power", uid, name, power.watts, {"power_source": power.source})
        yield from _health(device, name, now.at)


def _health(device: Device, name: str, at: datetime) -> Iterator[Reading]:
    if device.missing_at is not None and at - device.missing_at < MISSING_TOLD:
        yield Reading("device_missing", device.uid, name, (at - device.missing_at).total_seconds())
    elif _is_heard(device):
        why = {"reason": device.health_reason or device.get_health_display()}
        yield Reading("device_failed", device.uid, name, float(device.health == Health.FAILED), why)
        yield Reading("device_degraded", device.uid, name, float(device.health == Health.DEGRADED), why)


def _nodes(now: PoolNow) -> Iterator[Reading]:
    devices = _by_node(now)
    for node in now.nodes:
        silent_s = max((now.at - node.last_seen_at).total_seconds(), 0.0)
        yield Reading("node_silent", node.uid, node.name, silent_s)
        yield Reading("node_lost", node.uid, node.name, float(node.state == NodeState.LOST))
        if node.state not in ANSWERING:
            continue
        yield Reading("node_clock", node.uid, node.name, abs(node.clock_offset_s))
        used = [
            float(value)
            for device in devices[node.pk]
            if (value := _figures(device, now.at).get("utilisation_percent")) is not None
        ]
        if used:
            yield Reading("node_utilisation", node.uid, node.name, sum(used) / len(used))
        if power := node_power(node, devices[node.pk], now.at):
            yield Reading("node_power", node.uid, node.name, power.watts, {"power_source": power.source})
    if power := pool_power(now):
        yield Reading("pool_power", POOL, POOL, power.watts, {"power_source": power.source})


def _network(now: PoolNow) -> Iterator[Reading]:
    """How long nothing behind a switch, or one of its ports, was heard: nodes say where they are plugged in by
    their labels `switch` and `switch_port` (POOL-11d)."""
    silent: dict[str, float] = {}
    for node in now.nodes:
        labels = node.info.get("labels") or {}
        if not labels.get("switch"):
            continue
        names = [labels["switch"]]
        if labels.get("switch_port"):
            names.append(f"{labels['switch']}/{labels['switch_port']}")
        for name in names:
            node_s = max((now.at - node.last_seen_at).total_seconds(), 0.0)
            silent[name] = min(silent.get(name, node_s), node_s)
    return (Reading("network_silent", name, name, value) for name, value in silent.items())


def _centers(at: datetime) -> Iterator[Reading]:
    """How long each AI computing centre of the network has given no answer that can be believed."""
    for center in center_list():
        since = center.answered_at or center.created_at
        silent_s = max((at - since).total_seconds(), 0.0)
        yield Reading("center_silent", center.ai_center_id, center.name, silent_s)


def _slices(now: PoolNow) -> Iterator[Reading]:
    for row in now.slices:
        uid, name = str(row.uid), now.numbers.get(row.workload_uid, str(row.workload_uid))
        if row.node.state not in ANSWERING or row.desired != Desired.RUNNING:
            continue
        if row.state in (SliceState.DESIRED, SliceState.STARTING):
            yield Reading("share_waiting", uid, name, (now.at - row.created_at).total_seconds())
        if row.state == SliceState.RUNNING and row.delivered_percent is not None:
            short = max(row.compute_percent - row.delivered_percent, 0.0)
            yield Reading("share_missing", uid, name, short)
        if (latency_us := (row.session or {}).get("latency_us")) is not None:
            yield Reading("session_latency", uid, name, latency_us / 1000)


def _queues(at: datetime) -> Iterator[Reading]:
    waiting = Workload.objects.across().filter(state=WorkloadState.PENDING).order_by()
    for row in waiting.values("queue__code").annotate(first=Min(runnable_at())):
        code = row["queue__code"]
        yield Reading("queue_wait", code, code, max(0.0, (at - row["first"]).total_seconds()))


def _quotas() -> Iterator[Reading]:
    """How much of each tenant's quota is in use, in process with it (ELA-104)."""
    holds = QuotaHold.objects.across().exclude(state=HoldState.RELEASED).order_by()
    sums = {
        (row["tenant"], row["item"]): row["sum"]
        for row in holds.values("tenant", "item").annotate(sum=Sum("amount"))
    }
    labels = dict(QuotaItem.choices)
    for row in TenantQuota.objects.across().filter(total__gt=0, model="").select_related("tenant"):
        held = sums.get((row.tenant_id, row.item), 0)
        schema = row.tenant.schema_name
        params = {"tenant": schema, "item": str(labels.get(row.item, row.item)), "held": held}
        name = f"{row.tenant.name} ({row.item})"
        yield Reading("quota_used", f"{schema}:{row.item}", name, 100 * held / row.total, params)


def _disk() -> Iterator[Reading]:
    try:
        usage = shutil.disk_usage(settings.MEDIA_ROOT.parent)
    except OSError:
        return
    yield Reading("disk_used", "portal", "portal", 100 * usage.used / usage.total)


# --- power -----------------------------------------------------------------------------------------------------


def device_power(device: Device, at: datetime) -> Power | None:
    """What a device draws now, None where nobody says. What is not said to be measured is modelled."""
    figures = _figures(device, at)
    watts = figures.get("power_w")
    return None if watts is None else Power(float(watts), _source(figures.get("power_source")))


def node_power(node: Node, devices: Iterable[Device], at: datetime) -> Power | None:
    """What a node draws: what is measured at its supply, else its own figure or that of its devices together,
    whichever is more: a model of a node may leave its cards out."""
    if node.state not in ANSWERING:
        return None
    own = None if node.power_w is None else Power(node.power_w, _source(node.power_source))
    if own and own.source == PowerSource.MEASURED:
        return own
    parts = _together(device_power(device, at) for device in devices)
    return max(filter(None, (own, parts)), key=lambda power: power.watts, default=None)


def pool_power(now: PoolNow) -> Power | None:
    devices = _by_node(now)
    return _together(node_power(node, devices[node.pk], now.at) for node in now.nodes)


def _source(source: object) -> str:
    return PowerSource.MEASURED if source == PowerSource.MEASURED else PowerSource.MODELLED


def _together(parts: Iterable[Power | None]) -> Power | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    is_measured = all(part.source == PowerSource.MEASURED for part in known)
    return Power(
        sum(part.watts for part in known), PowerSource.MEASURED if is_measured else PowerSource.MODELLED
    )


def _by_node(now: PoolNow) -> Mapping[int, list[Device]]:
    found: dict[int, list[Device]] = defaultdict(list)
    for device in now.devices:
        found[device.node_id].append(device)
    return found


# --- figures that are summed over time -------------------------------------------------------------------------


def meters(now: PoolNow) -> list[Metered]:
    """Power, what is held, what is delivered and who answers; each subject once for each way of knowing."""
    sums: dict[tuple[str, str, str, str, str], float] = defaultdict(float)
    by_device: dict[int, list[Slice]] = defaultdict(list)
    for row in now.slices:
        by_device[row.device_id].append(row)
    devices = _by_node(now)
    for node in now.nodes:
        sums["up", "node", node.uid, "", ""] = float(node.state in ANSWERING)
        if power := node_power(node, devices[node.pk], now.at):
            sums["power_w", "node", node.uid, "", power.source] += power.watts
    for device in now.devices:
        if _is_heard(device):
            _device_meter(sums, device, by_device[device.pk], now.at)
    _pools_meter(sums, now)
    return [
        Metered(series, kind, subject, value, tenant=tenant, source=source)
        for (series, kind, subject, tenant, source), value in sums.items()
    ]


def _pools_meter(sums: dict[tuple[str, str, str, str, str], float], now: PoolNow) -> None:
    """Of each resource group, and of all devices: how much there is, and how much is held or waited for (ELA-102)."""
    pools = {device.pk: _pools_of(device) for device in now.devices}
    for device in now.devices:
        for subject in pools[device.pk]:
            sums["demand_percent", "pool", subject, "", ""] += 0
            sums["capacity_percent", "pool", subject, "", ""] += device.room_percent if device.is_open else 0
    for row in now.slices:
        for subject in pools.get(row.device_id, (ALL_POOLS,)):
            sums["demand_percent", "pool", subject, "", ""] += row.compute_percent
    waiting = Workload.objects.across().filter(state=WorkloadState.PENDING).order_by()
    group = Case(When(resource_group="", then=F("queue__resource_group")), default=F("resource_group"))
    asked = waiting.annotate(pool=group).values("pool").annotate(sum=Sum(F("shares") * F("compute_percent")))
    for each in asked:
        for subject in {ALL_POOLS, each["pool"] or ALL_POOLS}:
            sums["demand_percent", "pool", subject, "", ""] += each["sum"]


def _pools_of(device: Device) -> tuple[str, ...]:
    return (ALL_POOLS, device.group.code) if device.group else (ALL_POOLS,)


def _device_meter(
    sums: dict[tuple[str, str, str, str, str], float], device: Device, slices: list[Slice], at: datetime
) -> None:
    power = device_power(device, at)
    held = sum(row.compute_percent for row in slices)
    if power:
        sums["power_w", "device", device.uid, "", power.source] += power.watts
    sums["held_percent", "device", device.uid, "", ""] += held
    sums["delivered_percent", "device", device.uid, "", ""] += sum(map(_delivered, slices))
    for row in slices:
        schema, task = row.tenant.schema_name, str(row.workload_uid)
        for kind, subject in (("workload", task), ("tenant", schema)):
            sums["held_percent", kind, subject, schema, ""] += row.compute_percent
            sums["delivered_percent", kind, subject, schema, ""] += _delivered(row)
            if power:
                part = power.watts * row.compute_percent / max(held, 100)
                sums["power_w", kind, subject, schema, power.source] += part


def _delivered(row: Slice) -> float:
    return row.delivered_percent or 0.0 if row.state == SliceState.RUNNING else 0.0


# --- points of charts ------------------------------------------------------------------------------------------


def samples(now: PoolNow) -> list[Measured]:
    """Power and use of devices, nodes and pool, twice a minute: the same half-minute again is the same point."""
    at = datetime.fromtimestamp(now.at.timestamp() // SAMPLE_EVERY_S * SAMPLE_EVERY_S, now.at.tzinfo)
    kinds = {"device_power": "power_w", "node_power": "power_w", "pool_power": "power_w"}
    kinds["device_utilisation"] = "utilisation_percent"
    points = [
        Measured(kinds[reading.metric], reading.subject, at, reading.value)
        for part in (_devices(now), _nodes(now))
        for reading in part
        if reading.metric in kinds
    ]
    held = {POOL: 0.0} | {device.uid: 0.0 for device in now.devices if _is_heard(device)}
    for row in now.slices:
        held[row.device.uid] = held.get(row.device.uid, 0.0) + row.compute_percent
        held[POOL] += row.compute_percent
    return points + [Measured("held_percent", subject, at, value) for subject, value in held.items()]
