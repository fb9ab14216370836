"""The operators' home: which parts a role sees, in the order of its work, and what they show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import F, Sum
from django.utils import timezone

from apps.billing.selectors.costs import cost_by, cost_total
from apps.billing.types import CostRow
from apps.cases.permissions import TICKETS
from apps.cases.selectors import case_inbox, case_tickets
from apps.cases.types import CaseKind
from apps.console.operations import selectors as read
from apps.console.reports.base import period
from apps.console.reports.resources import resources
from apps.fleet.models import Device, Node
from apps.fleet.selectors import device_list, node_list
from apps.fleet.states import Health, NodeState
from apps.kernel.actor import SYSTEM, Actor
from apps.scheduling.selectors.workloads import workload_reason
from apps.tenancy.selectors import tenant_list

SHOWN = 6
# By part: who sees it, one of these.
_SEEN_BY = {
    "todo": ("approvals.decide", "tickets.work"),
    "money": ("billing.view",),
    "sold": ("reports.view",),
    "pool": ("fleet.view",),
    "alarms": ("alarms.view",),
    "work": ("resources.view",),
    "cases": ("cases.view",),
}
# Who keeps the machines begins with what is sick; who decides or works on tickets with what waits for him; who only
# looks with how the centre does.
_KEEPS = ("pool", "alarms", "work", "todo", "sold", "money", "cases")
_DECIDES = ("todo", "money", "sold", "work", "alarms", "pool", "cases")
_LOOKS = ("money", "sold", "work", "alarms", "pool", "cases")


def home_parts(actor: Actor) -> list[str]:
    """The parts of the home of the active role, what it is there for first."""
    if actor.may("fleet.manage"):
        order: Sequence[str] = _KEEPS
    else:
        order = _DECIDES if actor.may_any(*_SEEN_BY["todo"]) else _LOOKS
    return [part for part in order if actor.may_any(*_SEEN_BY[part])]


def home_figures(actor: Actor) -> dict[str, Any]:
    """What the parts show that are read with the page; `money` and `sold` are asked for by themselves."""
    parts = home_parts(actor)
    found: dict[str, Any] = {"parts": parts}
    for part in parts:
        found |= _READERS[part](actor) if part in _READERS else {}
    return found


def _todo(actor: Actor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if actor.may("approvals.decide"):
        tasks = case_inbox(actor=actor).order_by("created_at", "pk")
        found |= {"tasks": tasks[:SHOWN], "task_count": tasks.count()}
    if actor.may_any(*TICKETS) and actor.may("tickets.work"):
        tickets = case_tickets(actor=actor, tab="todo").order_by(
            F("due_at").asc(nulls_last=True), "created_at"
        )
        found |= {"tickets": tickets[:SHOWN], "ticket_count": tickets.count()}
    return found


def _alarms(actor: Actor) -> dict[str, Any]:
    rows = read.alarm_open_list()
    return {"alarms": rows[:SHOWN], "alarm_count": rows.count()}


def _work(actor: Actor) -> dict[str, Any]:
    rows = read.waiting_list()
    # By its key, in the order of which work comes in: by the instant all that has ended since would be read first.
    oldest = rows.order_by("pk").values_list("created_at", flat=True).first()
    waiting = [(row, workload_reason(row)) for row in rows[:SHOWN]]
    return {"waiting": waiting, "waiting_count": rows.count(), "waiting_since": oldest}


def _cases(actor: Actor) -> dict[str, Any]:
    return {"counts": read.case_counts(actor, (CaseKind.FORM, CaseKind.ORDER, CaseKind.TICKET))}


@dataclass(frozen=True, slots=True)
class PoolNow:
    """The pool in figures: percent of all devices' compute, MiB of all their memory, and what is not well.

    `sick_nodes` are lost or drained, `sick_devices` degraded or failed on nodes that are not lost: at most `SHOWN` of
    each; the counts are of all.
    """

    node_count: int
    device_count: int
    held_percent: int
    limit_percent: int
    held_mib: int
    limit_mib: int
    sick_nodes: Sequence[Node]
    sick_devices: Sequence[Device]
    sick_node_count: int
    sick_device_count: int

    @property
    def is_sick(self) -> bool:
        """Whether anything of it is not well."""
        return bool(self.sick_node_count or self.sick_device_count)


def pool_now() -> PoolNow:
    """The pool's sums and what is sick of it, in six queries however large it is."""
    devices = device_list()
    sums = devices.order_by().aggregate(
        held_percent=Sum("held_percent"),
        limit_permille=Sum("oversubscribe_permille"),
        held_mib=Sum("held_mib"),
        limit_mib=Sum(F("memory_mib") * F("memory_oversubscribe_permille") / 1000),
    )
    nodes = node_list().exclude(state=NodeState.READY).order_by("state", "name").prefetch_related(None)
    sick = devices.exclude(health=Health.OK).exclude(node__state=NodeState.LOST)
    sick = sick.order_by("node__name", "index")
    return PoolNow(
        node_count=node_list().count(),
        device_count=devices.count(),
        held_percent=sums["held_percent"] or 0,
        limit_percent=(sums["limit_permille"] or 0) // 10,
        held_mib=sums["held_mib"] or 0,
        limit_mib=sums["limit_mib"] or 0,
        sick_nodes=list(nodes[:SHOWN]),
        sick_devices=list(sick[:SHOWN]),
        sick_node_count=nodes.count(),
        sick_device_count=sick.count(),
    )


_READERS = {
    "todo": _todo,
    "alarms": _alarms,
    "work": _work,
    "pool": lambda actor: {"pool": pool_now()},
    "cases": _cases,
}


# --- asked for by themselves -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Revenue:
    """Rated use of this month over all tenants in CNY: by day, in all, of last month up to the same instant, and of the
    tenants that gave most."""

    days: Sequence[dict[str, Any]]
    total: Decimal
    before: Decimal
    tenants: Sequence[CostRow]

    @property
    def change_percent(self) -> int | None:
        """By how much more than last month by now; None where there was nothing then."""
        return round((self.total / self.before - 1) * 100) if self.before else None


def revenue_now() -> Revenue:
    """What this month has brought until now."""
    begin = read.month_begin()
    days, total = read.revenue_days()
    earlier = (begin - timedelta(days=1)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    until = min(earlier + (timezone.now() - begin), begin)
    before = cost_total(actor=SYSTEM, tenant=None, since=earlier, until=until)
    tenants = cost_by(actor=SYSTEM, tenant=None, dimension="tenant", since=begin)
    return Revenue(days, total, before, [row for row in tenants if row.exact][:SHOWN])


@dataclass(frozen=True, slots=True)
class Sold:
    """Device hours of the last seven days: what the pool had, what tenants held of it, what their work used of that,
    and the same of those that held most: `(name, code, held, used)`."""

    had: float
    held: float
    used: float
    tenants: Sequence[tuple[str, str, float, float]]


def sold_lately() -> Sold:
    """Sold against used over the last seven days."""
    report = resources(period())
    names = dict(tenant_list().values_list("schema_name", "name"))
    rows = sorted(report["sections"]["tenants"], key=lambda row: -row["held_percent_hours"])
    tenants = [
        (
            names.get(row["name"], row["name"]),
            row["name"],
            row["held_percent_hours"] / 100,
            row["delivered_percent_hours"] / 100,
        )
        for row in rows[:SHOWN]
        if row["held_percent_hours"]
    ]
    total = report["totals"]
    return Sold(
        total["capacity_percent_hours"] / 100,
        total["held_percent_hours"] / 100,
        total["delivered_percent_hours"] / 100,
        tenants,
    )
