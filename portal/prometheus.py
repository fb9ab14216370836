"""What `/metrics` tells Prometheus, read from the database when it is asked: any web process gives the same."""

from collections.abc import Iterator

from django.db.models import Count, Sum
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.billing.models import Bill, UsageRecord
from apps.console.alarms.readings import device_power, node_power, pool_now
from apps.fleet.models import Device, Node, Slice
from apps.fleet.selectors import device_list, slice_open_list
from apps.scheduling.selectors.usage.statistics import decision_counts, figures_get, workload_counts
from apps.telemetry.models import Alarm, Rollup
from apps.tenancy.selectors import tenant_active_list

_MIB = 1024 * 1024


class PortalCollector(Collector):
    """Gauges of the pool, the queues, the money still to be rated, and the alarms."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("weir_tenants", "Active tenants.", value=tenant_active_list().count())
        yield _counts("weir_nodes", "Nodes by state.", "state", Node.objects.values_list("state"))
        yield from self._devices()
        yield from self._slices()
        yield from self._power()
        works = GaugeMetricFamily("weir_workloads", "Workloads by state.", labels=["state"])
        for state, count in workload_counts().items():
            works.add_metric([state], count)
        yield works
        yield from self._scheduling()
        yield _counts("weir_slices", "Slices by state.", "state", Slice.objects.across().values_list("state"))
        firing = Alarm.objects.exclude(state="resolved")
        yield _counts("weir_alarms", "Alarms not resolved, by level.", "level", firing.values_list("level"))
        yield _counts(
            "weir_alarms_firing",
            "Alarms not resolved, by rule.",
            "rule",
            firing.filter(rule__isnull=False).values_list("rule__code"),
        )
        yield _counts("weir_bills", "Bills by state.", "state", Bill.objects.across().values_list("state"))
        waiting = UsageRecord.objects.across().filter(rated_at=None).count()
        yield GaugeMetricFamily("weir_usage_unrated", "Usage records that wait for rating.", value=waiting)

    @staticmethod
    def _devices() -> Iterator[Metric]:
        """Per device: what is sold and what is held of it; labels are bounded by the number of devices."""
        names = ["node", "device", "vendor"]
        percent = GaugeMetricFamily(
            "weir_device_held_percent", "Compute held on a device, in percent of it.", labels=names
        )
        held = GaugeMetricFamily(
            "weir_device_memory_held_bytes", "Accelerator memory held on a device.", labels=names
        )
        total = GaugeMetricFamily("weir_device_memory_bytes", "Accelerator memory of a device.", labels=names)
        room = GaugeMetricFamily(
            "weir_device_capacity_percent",
            "Compute that may be held on a device, with oversubscription.",
            labels=names,
        )
        memory_room = GaugeMetricFamily(
            "weir_device_memory_capacity_bytes", "Memory that may be held on a device.", labels=names
        )
        for row in device_list():
            labels = [row.node.name, row.uid, row.vendor]
            percent.add_metric(labels, row.held_percent)
            held.add_metric(labels, row.held_mib * _MIB)
            total.add_metric(labels, row.memory_mib * _MIB)
            room.add_metric(labels, row.room_percent)
            memory_room.add_metric(labels, row.room_mib * _MIB)
        yield from (percent, held, total, room, memory_room)
        sums = Device.objects.aggregate(held=Sum("held_percent"))
        yield GaugeMetricFamily(
            "weir_pool_held_percent", "Compute held over all devices.", value=sums["held"] or 0
        )

    @staticmethod
    def _scheduling() -> Iterator[Metric]:
        """The scheduler (ELA-1101, ELA-2108): capacity, queues, and decisions by kind."""
        now = figures_get()
        for name, text, value in (
            ("weir_scheduler_capacity_percent", "Compute of usable devices.", now.total_percent),
            ("weir_scheduler_held_percent", "Compute held of it.", now.held_percent),
            ("weir_scheduler_available_percent", "Compute free of it.", now.available_percent),
            ("weir_scheduler_utilisation", "Held by total, 0 to 1.", now.utilisation),
            ("weir_scheduler_pending", "Workloads that wait.", now.pending),
            ("weir_scheduler_running", "Workloads that hold devices.", now.running),
        ):
            yield GaugeMetricFamily(name, text, value=value)
        for name, figure, scale, text in (
            ("pending", "pending", 1, "Workloads that wait."),
            ("running", "running", 1, "Workloads that hold devices."),
            ("oldest_wait_seconds", "oldest_wait_s", 1, "How long the first has waited."),
            ("used_percent", "used_percent", 1, "Compute held."),
            ("used_memory_bytes", "used_mib", 2**20, "Accelerator memory held."),
            ("max_percent", "max_percent", 1, "Most compute."),
            ("guaranteed_percent", "guaranteed_percent", 1, "Compute guaranteed."),
        ):
            family = GaugeMetricFamily(f"weir_queue_{name}", f"By queue. {text}", labels=["queue"])
            for queue in now.queues:
                if (value := getattr(queue, figure)) is not None:
                    family.add_metric([queue.code], value * scale)
            yield family
        made = GaugeMetricFamily("weir_scheduler_decisions", "Decisions ever made, by kind.", labels=["kind"])
        for kind, count in decision_counts().items():
            made.add_metric([kind], count)
        yield made

    @staticmethod
    def _power() -> Iterator[Metric]:
        """Power of devices and nodes now, and energy of the nodes since it is counted: measured or modelled."""
        device = GaugeMetricFamily(
            "weir_device_power_watts", "Power of a device.", labels=["node", "device", "source"]
        )
        node = GaugeMetricFamily("weir_node_power_watts", "Power of a node.", labels=["node", "source"])
        now = pool_now(timezone.now())
        for row in now.devices:
            if power := device_power(row, now.at):
                device.add_metric([row.node.name, row.uid, power.source], power.watts)
        for each in now.nodes:
            devices = [row for row in now.devices if row.node_id == each.pk]
            if power := node_power(each, devices, now.at):
                node.add_metric([each.name, power.source], power.watts)
        energy = CounterMetricFamily("weir_energy_joules", "Energy of all nodes.", labels=["source"])
        sums = Rollup.objects.filter(series="power_w", kind="node").order_by().values("source")
        for row in sums.annotate(joules=Sum("weighted")):
            energy.add_metric([row["source"]], row["joules"])
        yield from (device, node, energy)

    @staticmethod
    def _slices() -> Iterator[Metric]:
        """Per slice that holds a share now: what was sold, and what is delivered and used of it."""
        names = ["tenant", "node", "device", "slice", "kind"]
        families = {
            "compute_percent": ("weir_slice_sold_percent", "Compute sold, in percent of the device.", 1),
            "delivered_percent": ("weir_slice_delivered_percent", "Compute delivered of it, measured.", 1),
            "memory_mib": ("weir_slice_memory_sold_bytes", "Accelerator memory sold.", _MIB),
            "memory_used_mib": ("weir_slice_memory_used_bytes", "Accelerator memory used, measured.", _MIB),
            "host_cpu_milli": ("weir_slice_host_cores_sold", "Cores of its node sold beside it.", 0.001),
            "host_cpu_used_milli": ("weir_slice_host_cores_used", "Cores of its node used beside it.", 0.001),
            "host_memory_mib": ("weir_slice_host_memory_sold_bytes", "Main memory sold beside it.", _MIB),
            "host_memory_used_mib": (
                "weir_slice_host_memory_used_bytes",
                "Main memory used beside it.",
                _MIB,
            ),
        }
        rows = list(slice_open_list())
        for field, (name, text, unit) in families.items():
            family = GaugeMetricFamily(name, text, labels=names)
            for row in rows:
                value = getattr(row, field)
                if value is not None:
                    labels = [row.tenant.schema_name, row.node.name, row.device.uid, str(row.uid), row.kind]
                    family.add_metric(labels, value * unit)
            yield family


def _counts(name: str, text: str, label: str, rows: object) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, count in rows.annotate(count=Count("pk")).order_by():
        family.add_metric([value], count)
    return family
