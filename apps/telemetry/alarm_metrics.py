"""What alarm rules may watch: each metric with its unit, what it is measured on, and the title of its alarms."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, gettext_noop


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing a rule may watch.

    `is_event`: raised by what happens, not by a figure; such a rule is switched and graded, and has no threshold.
    `title` is an English sentence with places for name, value, threshold and what else a reading brings.
    """

    code: str
    label: str | Promise
    unit: str
    subject_kind: str
    title: str
    is_event: bool = False


NODE_LOST = gettext_noop(
    "Node %(name)s does not answer: what runs there is not billed until it is vouched for."
)
DEVICE_MISMATCH = gettext_noop(
    "Device %(device)s of node %(node)s reports %(new)s MiB instead of %(old)s MiB: the old figure is kept."
)
ORDER_UNTOLD = gettext_noop(
    "Order %(order)s of tenant %(tenant)s did not follow its resource: it is tried again."
)
USAGE_REFUSED = gettext_noop(
    "Usage %(seq)s of slice %(slice)s was not believed (%(reason)s): it is not billed."
)
_FIGURES = (
    ("device_utilisation", gettext_lazy("Device utilisation"), "%", "device",
     gettext_noop("Device %(name)s is used at %(value)s %% (limit %(threshold)s %%).")),
    ("device_memory", gettext_lazy("Device memory in use"), "%", "device",
     gettext_noop("Memory of device %(name)s is used at %(value)s %% (limit %(threshold)s %%).")),
    ("device_temperature", gettext_lazy("Device temperature"), "°C", "device",
     gettext_noop("Device %(name)s is at %(value)s °C (limit %(threshold)s °C).")),
    ("device_power", gettext_lazy("Device power"), "W", "device",
     gettext_noop("Device %(name)s draws %(value)s W, %(power_source)s (limit %(threshold)s W).")),
    ("device_failed", gettext_lazy("Device failed"), "", "device",
     gettext_noop("Device %(name)s has failed: %(reason)s")),
    ("device_missing", gettext_lazy("Device missing"), "s", "device",
     gettext_noop("Nothing is heard of device %(name)s since %(value)s s (limit %(threshold)s s).")),
    ("device_degraded", gettext_lazy("Device degraded"), "", "device",
     gettext_noop("Device %(name)s is degraded: %(reason)s")),
    ("node_utilisation", gettext_lazy("Node utilisation"), "%", "node",
     gettext_noop("The devices of node %(name)s are used at %(value)s %% (limit %(threshold)s %%).")),
    ("node_power", gettext_lazy("Node power"), "W", "node",
     gettext_noop("Node %(name)s draws %(value)s W, %(power_source)s (limit %(threshold)s W).")),
    ("pool_power", gettext_lazy("Pool power"), "W", "pool",
     gettext_noop("The pool draws %(value)s W, %(power_source)s (limit %(threshold)s W).")),
    ("node_silent", gettext_lazy("Node silent"), "s", "node",
     gettext_noop("Node %(name)s was last heard %(value)s s ago (limit %(threshold)s s).")),
    ("node_lost", gettext_lazy("Node lost"), "", "node", NODE_LOST),
    ("node_clock", gettext_lazy("Node clock wrong"), "s", "node",
     gettext_noop("The clock of node %(name)s is off by %(value)s s (limit %(threshold)s s).")),
    ("network_silent", gettext_lazy("Switch or switch port silent"), "s", "network",
     gettext_noop("Nothing behind %(name)s of the network answers since %(value)s s (limit %(threshold)s s).")),
    ("center_silent", gettext_lazy("AI computing centre silent"), "s", "center",
     gettext_noop("AI computing centre %(name)s has not answered well since %(value)s s (limit %(threshold)s s).")),
    ("session_latency", gettext_lazy("Session latency"), "ms", "slice",
     gettext_noop("The session of %(name)s answers in %(value)s ms (limit %(threshold)s ms).")),
    ("share_waiting", gettext_lazy("Share not started"), "s", "slice",
     gettext_noop("A share of %(name)s waits since %(value)s s for its node to start it (limit %(threshold)s s).")),
    ("share_missing", gettext_lazy("Share not delivered"), "%", "slice",
     gettext_noop("%(name)s gets %(value)s points of compute less than it was sold (limit %(threshold)s).")),
    ("queue_wait", gettext_lazy("Longest wait in a queue"), "s", "queue",
     gettext_noop("In queue %(name)s work waits since %(value)s s (limit %(threshold)s s).")),
    ("quota_used", gettext_lazy("Quota in use"), "%", "tenant",
     gettext_noop("%(name)s has %(value)s %% of its quota in use (limit %(threshold)s %%).")),
    ("disk_used", gettext_lazy("Portal disk in use"), "%", "portal",
     gettext_noop("The disk of the portal's data is full to %(value)s %% (limit %(threshold)s %%).")),
)  # fmt: skip
_EVENTS = (
    ("device_mismatch", gettext_lazy("Device reports another memory"), "device", DEVICE_MISMATCH),
    ("order_untold", gettext_lazy("Order not told"), "order", ORDER_UNTOLD),
    ("usage_refused", gettext_lazy("Usage refused"), "slice", USAGE_REFUSED),
    ("usage_doubted", gettext_lazy("Usage doubted"), "slice", USAGE_REFUSED),
)
METRICS = {row[0]: Metric(*row) for row in _FIGURES} | {
    code: Metric(code, label, "", kind, title, is_event=True) for code, label, kind, title in _EVENTS
}
METRIC_CHOICES = [(metric.code, metric.label) for metric in METRICS.values()]
