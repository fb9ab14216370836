"""What the operator pages read: figures that join several apps, over all tenants."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Count, DateTimeField, Func, IntegerField, QuerySet, Value
from django.utils import timezone

from apps.approvals.states import TaskState
from apps.billing.selectors.costs import cost_by_day
from apps.cases.selectors import case_list
from apps.cases.types import CaseKind
from apps.fleet.models import Device, Node, Slice
from apps.fleet.selectors import slice_open_list
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.money import ZERO
from apps.orders.states import FormState, OrderState
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import workload_list_across
from apps.scheduling.states import WorkloadState
from apps.telemetry.models import Alarm
from apps.telemetry.selectors import alarm_words
from apps.telemetry.states import AlarmLevel, AlarmState
from apps.tickets.states import TicketState

STATES = {
    CaseKind.FORM: FormState,
    CaseKind.ORDER: OrderState,
    CaseKind.TICKET: TicketState,
    CaseKind.TASK: TaskState,
}
# In the order of their lives, of whatever kind.
STATES_IN_ORDER = tuple(dict.fromkeys(state for states in STATES.values() for state in states.values))


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many cases of a kind are in a state."""

    kind: str
    state: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device and the slices that hold it now."""

    device: Device
    slices: Sequence[Slice]

    @property
    def limit_percent(self) -> int:
        return self.device.oversubscribe_permille // 10

    @property
    def limit_mib(self) -> int:
        return self.device.memory_mib * self.device.memory_oversubscribe_permille // 1000

    @property
    def delivered_percent(self) -> int:
        return round(sum(row.delivered_percent or 0 for row in self.slices))

    @property
    def used_mib(self) -> int:
        return sum(row.memory_used_mib or 0 for row in self.slices)


@dataclass(frozen=True, slots=True)
class NodeUse:
    """A node with what is held of it: percent of all its devices' compute, MiB of all their memory."""

    node: Node
    devices: Sequence[DeviceUse]

    @property
    def held_percent(self) -> int:
        return sum(use.device.held_percent for use in self.devices)

    @property
    def limit_percent(self) -> int:
        return sum(use.limit_percent for use in self.devices)

    @property
    def held_mib(self) -> int:
        return sum(use.device.held_mib for use in self.devices)

    @property
    def limit_mib(self) -> int:
        return sum(use.limit_mib for use in self.devices)

    @property
    def slice_count(self) -> int:
        return sum(len(use.slices) for use in self.devices)


def state_label(kind: str, state: str) -> str:
    """The word for a case's state in the reader's language."""
    return str(dict(STATES[CaseKind(kind)].choices).get(state, state))


def case_counts(actor: Actor, kinds: Iterable[str]) -> dict[str, list[StateCount]]:
    """How many cases of each kind are in each state, in the order of their life (PLAT-OPS-23)."""
    groups = case_list(actor=actor).filter(kind__in=list(kinds)).order_by().values("kind", "state")
    found = {(row["kind"], row["state"]): row["count"] for row in groups.annotate(count=Count("pk"))}
    return {
        kind: [
            StateCount(kind, state, str(label), found.get((kind, state), 0))
            for state, label in STATES[CaseKind(kind)].choices
            if (kind, state) in found
        ]
        for kind in kinds
    }


def pool_use(nodes: Sequence[Node]) -> list[NodeUse]:
    """Nodes, with their devices, and the slices that hold these."""
    slices: dict[int, list[Slice]] = defaultdict(list)
    for row in slice_open_list().filter(node__in=nodes).order_by("pk"):
        slices[row.device_id].append(row)
    return [
        NodeUse(node, [DeviceUse(device, slices[device.pk]) for device in node.devices.all()])
        for node in nodes
    ]


def pool_named(nodes: Sequence[Node]) -> list[NodeUse]:
    """`pool_use()` with the number of its workload on each slice, as `workload_no`."""
    uses = pool_use(nodes)
    slices = [row for use in uses for part in use.devices for row in part.slices]
    wanted = Workload.objects.across().filter(uid__in={row.workload_uid for row in slices})
    numbers = dict(wanted.values_list("uid", "no"))
    for row in slices:
        row.workload_no = numbers.get(row.workload_uid, "–")
    return uses


def waiting_list() -> QuerySet[Workload]:
    """What waits for the pool, the next first."""
    rows = workload_list_across().filter(state=WorkloadState.PENDING)
    return rows.order_by("position", "created_at", "pk")


def month_begin() -> datetime:
    """The first instant of the present month in the centre's zone."""
    return timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def revenue_days() -> tuple[list[dict[str, Any]], Decimal]:
    """CNY of rated use by day of this month over all tenants, and its sum."""
    days = cost_by_day(actor=SYSTEM, tenant=None, since=month_begin())
    return days, sum((day["exact"] for day in days), ZERO)


def alarm_open_list() -> QuerySet[Alarm]:
    """Alarms that are not resolved, the newest first."""
    return Alarm.objects.exclude(state=AlarmState.RESOLVED).select_related("acknowledged_by")


def alarm_filtered(*, search: str, level: str, state: str, days: int) -> QuerySet[Alarm]:
    """Alarms by keyword, level, state and time; an open one shows however old it is (PLAT-OBS-12)."""
    rows = Alarm.objects.select_related("acknowledged_by")
    if state == "open":
        rows = rows.exclude(state=AlarmState.RESOLVED)
    else:
        rows = rows.filter(fired_at__gte=timezone.now() - timedelta(days=days))
        rows = rows if state == "all" else rows.filter(state=state)
    if level:
        rows = rows.filter(level=level)
    rows = rows.filter(alarm_words(search)) if search else rows
    return rows.order_by("-fired_at", "-pk")


def alarm_days(rows: QuerySet[Alarm]) -> dict[str, dict[str, int]]:
    """How many of `rows` fired on each day of the zone that is set, by level: `{day: {level: count}}` (PLAT-OBS-11)."""
    oldest = rows.order_by("fired_at").values_list("fired_at", flat=True).first()
    if oldest is None:
        return {}
    first, zone = timezone.localdate(oldest), timezone.get_current_timezone()
    days = [first + timedelta(days=n) for n in range((timezone.localdate() - first).days + 1)]
    # The server finds an instant among those that begin days sooner than it converts each to a date of the zone.
    begins = [datetime.combine(day, time.min, zone) for day in days]
    place = Func(
        "fired_at",
        Value(begins, output_field=ArrayField(DateTimeField())),
        function="width_bucket",
        output_field=IntegerField(),
    )
    groups = rows.order_by().values("level", place=place).annotate(count=Count("*"))
    found: dict[str, dict[str, int]] = {}
    for row in sorted(groups, key=lambda row: row["place"]):
        found.setdefault(days[row["place"] - 1].isoformat(), {})[row["level"]] = row["count"]
    return found


def alarm_counts() -> list[tuple[str, str, int]]:
    """Open alarms by level: code, word, count; the gravest first."""
    groups = alarm_open_list().order_by().values("level").annotate(count=Count("pk"))
    found = {row["level"]: row["count"] for row in groups}
    return [(code, str(label), found.get(code, 0)) for code, label in AlarmLevel.choices]
