"""What the pool had, what was held of it and what was delivered.

What is held comes from the allocations and is exact; what was delivered from the hourly sums, by whole hours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, FloatField, Q, Sum, Value
from django.db.models.functions import Coalesce, Extract, Greatest, Least

from apps.console.reports.base import HOUR_S, DeviceRow, Period, Row, devices_read, report_form
from apps.fleet.states import NodeState
from apps.scheduling.models import Allocation
from apps.telemetry.models import PastShare
from apps.telemetry.selectors import rollup_list


def resources(over: Period) -> Row:
    """What the pool had, what was held of it and what was delivered: percent of a device and MiB, times hours."""
    rows: dict[str, dict[str, Row]] = defaultdict(lambda: defaultdict(lambda: defaultdict(float)))
    devices = devices_read()
    for device in devices:
        _capacity_add(rows, device, over)
    for part in _allocations(over):
        for section, name in _places(part["device__node__name"], part["device__vendor"], part["device__uid"]):
            _allocations_add(rows[section][name], part)
        _allocations_add(rows["tenants"][part["workload__tenant__schema_name"]], part)
    _resized_add(rows, over)
    _delivered_add(rows, devices, over)
    totals = _summed(rows["nodes"].values())
    sections = {name: _named(rows[name], _utilised) for name in ("nodes", "vendors", "devices", "tenants")}
    labels = {row.uid: row.label for row in devices}
    sections["devices"] = [
        row | {"name": labels[row["name"]], "subject": row["name"]} for row in sections["devices"]
    ]
    return report_form("resources", over, _utilised(totals), sections)


def _places(node: str, vendor: str, uid: str) -> tuple[tuple[str, str], ...]:
    return ("nodes", node), ("vendors", vendor), ("devices", uid)


def _capacity_add(rows: Any, device: DeviceRow, over: Period) -> None:
    """A device counts from when it was found until it left."""
    begin = max(device.created_at, over.from_at)
    gone_at = device.node_updated_at if device.node_state == NodeState.REMOVED else None
    end = min(device.left_at or gone_at or over.end_at, over.end_at)
    hours = max((end - begin).total_seconds(), 0.0) / HOUR_S
    if not hours:
        return
    for section, name in _places(device.node_name, device.vendor, device.uid):
        rows[section][name]["capacity_percent_hours"] += 100 * hours
        rows[section][name]["capacity_mib_hours"] += device.memory_mib * hours


def _allocations(over: Period) -> Iterable[Row]:
    """What allocations hold within the period, by device and tenant: percent-seconds and MiB-seconds."""
    end = Value(over.end_at)
    begin_at = Greatest("created_at", Value(over.from_at))
    end_at = Least(Coalesce("released_at", end), end)
    held_s = Extract(ExpressionWrapper(end_at - begin_at, output_field=DurationField()), "epoch")
    rows = Allocation.objects.filter(created_at__lt=over.end_at)
    rows = rows.filter(Q(released_at=None) | Q(released_at__gt=over.from_at)).order_by()
    groups = rows.values(
        "device__uid", "device__node__name", "device__vendor", "workload__tenant__schema_name"
    )
    return groups.annotate(
        percent_s=Sum(held_s * F("compute_percent"), output_field=FloatField()),
        mib_s=Sum(held_s * F("memory_mib"), output_field=FloatField()),
        shares=Count("pk"),
    )


def _resized_add(rows: Any, over: Period) -> None:
    """An allocation says what its share holds now: for the time before a resize the difference is added."""
    past = list(PastShare.objects.filter(until_at__gt=over.from_at))
    wanted = Allocation.objects.filter(slice_uid__in={row.slice_uid for row in past})
    parts = {row.slice_uid: row for row in wanted.select_related("device__node", "workload__tenant")}
    for row in past:
        part = parts.get(row.slice_uid)
        if part is None:
            continue
        begin = max(row.from_at or part.created_at, over.from_at)
        hours = (min(row.until_at, over.end_at) - begin).total_seconds() / HOUR_S
        if hours <= 0:
            continue
        device = part.device
        places = (
            *_places(device.node.name, device.vendor, device.uid),
            ("tenants", part.workload.tenant.schema_name),
        )
        for section, name in places:
            found = rows[section][name]
            found["held_percent_hours"] += hours * (row.compute_percent - part.compute_percent)
            found["held_mib_hours"] += hours * (row.memory_mib - part.memory_mib)


def _allocations_add(row: Row, part: Row) -> None:
    row["held_percent_hours"] += part["percent_s"] / HOUR_S
    row["held_mib_hours"] += part["mib_s"] / HOUR_S
    row["shares"] += part["shares"]


def _delivered_add(rows: Any, devices: Iterable[DeviceRow], over: Period) -> None:
    places = {row.uid: _places(row.node_name, row.vendor, row.uid) for row in devices}
    for uid, weighted in _weighted("delivered_percent", "device", over):
        for section, name in places.get(uid, ()):
            rows[section][name]["delivered_percent_hours"] += weighted / HOUR_S
    for schema, weighted in _weighted("delivered_percent", "tenant", over):
        rows["tenants"][schema]["delivered_percent_hours"] += weighted / HOUR_S


def _weighted(series: str, kind: str, over: Period) -> Iterable[tuple[str, float]]:
    rows = rollup_list(series=series, kind=kind, from_at=over.from_at, to_at=over.to_at).order_by()
    return rows.values("subject").annotate(sum=Sum("weighted")).values_list("subject", "sum")


_RESOURCES = (
    "capacity_percent_hours", "held_percent_hours", "delivered_percent_hours", "capacity_mib_hours",
    "held_mib_hours", "shares",
)  # fmt: skip


def _utilised(row: Row) -> Row:
    """All figures of a row, with the part of the capacity that was held."""
    found = {name: round(row.get(name, 0), 6) for name in _RESOURCES}
    capacity = found["capacity_percent_hours"]
    found["held_of_capacity_percent"] = (
        round(100 * found["held_percent_hours"] / capacity, 3) if capacity else None
    )
    return found


def _summed(rows: Iterable[Row]) -> Row:
    total: Row = defaultdict(float)
    for row in rows:
        for name, value in row.items():
            total[name] += value
    return total


def _named(rows: Mapping[str, Row], figures: Callable[[Row], Row]) -> list[Row]:
    return [{"name": name} | figures(rows[name]) for name in sorted(rows)]
