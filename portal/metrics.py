"""What `/metrics` tells Prometheus, read from the database when it is asked: any web process gives the same."""

from collections.abc import Iterator

from django.db.models import Count, Sum
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.billing.models import Bill, UsageRecord
from apps.fleet.models import Device, Node, Slice
from apps.scheduling.models import Workload
from apps.telemetry.models import Alarm
from apps.tenancy.selectors import tenant_active_list


class PortalCollector(Collector):
    """Gauges of the pool, the queues, the money still to be rated, and the alarms."""

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("weir_tenants", "Active tenants.", value=tenant_active_list().count())
        yield _counts("weir_nodes", "Nodes by state.", "state", Node.objects.values_list("state"))
        yield from self._devices()
        yield _counts(
            "weir_workloads", "Workloads by state.", "state", Workload.objects.across().values_list("state")
        )
        yield _counts("weir_slices", "Slices by state.", "state", Slice.objects.across().values_list("state"))
        firing = Alarm.objects.exclude(state="resolved")
        yield _counts("weir_alarms", "Alarms not resolved, by level.", "level", firing.values_list("level"))
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
        for row in Device.objects.select_related("node"):
            labels = [row.node.name, row.uid, row.vendor]
            percent.add_metric(labels, row.held_percent)
            held.add_metric(labels, row.held_mib * 1024 * 1024)
            total.add_metric(labels, row.memory_mib * 1024 * 1024)
        yield from (percent, held, total)
        sums = Device.objects.aggregate(held=Sum("held_percent"))
        yield GaugeMetricFamily(
            "weir_pool_held_percent", "Compute held over all devices.", value=sums["held"] or 0
        )


def _counts(name: str, text: str, label: str, rows: object) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, count in rows.annotate(count=Count("pk")).order_by():
        family.add_metric([value], count)
    return family
