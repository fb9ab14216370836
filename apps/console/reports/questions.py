"""What five questions are answered from: what was used, by whom, what it earned, what waited, what failed.

Each figure is one of the whole centre or of one tenant alone, over a period, out of the rows that work itself leaves:
allocations, hourly sums, rated use, the time lines of workloads.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, Sum

from apps.billing.selectors.costs import cost_by, cost_by_day
from apps.billing.types import CostRow
from apps.console.reports.base import HOUR_S, Percentile, Period, devices_read, seconds, within
from apps.console.reports.stretches import Stretches
from apps.console.reports.waiting_causes import CAUSE_OF, FIRST
from apps.fleet.states import NodeState
from apps.kernel.actor import SYSTEM
from apps.scheduling.selectors.queues.waiting import first_runnable_at
from apps.scheduling.selectors.usage.past_work import (
    BROKEN_STATES,
    broken_reasons,
    share_list,
    tenant_parts,
    waiting_causes,
    work_across,
)
from apps.telemetry.selectors import past_share_list, rollup_list
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_list

_DEVICE = 100.0


@dataclass(frozen=True, slots=True)
class Use:
    """Device hours: by stretch what the pool had, what was held of it and what work used of that; by tenant what was
    held and used."""

    had: Sequence[float]
    held: Sequence[float]
    used: Sequence[float]
    tenants: Mapping[Tenant, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Earned:
    """CNY of rated use: by stretch, in all, in as long a time before, and by tenant, most first."""

    parts: Sequence[Decimal]
    total: Decimal
    before: Decimal
    tenants: Sequence[CostRow]


@dataclass(frozen=True, slots=True)
class Waited:
    """How long work waited: `started` pieces of it, half of which waited `half_s` at most and 95 of 100 `most_s`;
    `causes`: hours and pieces of work by cause, most hours first; what waits still counts until the end."""

    started: int
    half_s: float
    most_s: float
    causes: Sequence[tuple[str, float, int]]

    @property
    def hours(self) -> float:
        return sum(hours for _cause, hours, _count in self.causes)


@dataclass(frozen=True, slots=True)
class Failed:
    """How much work ended, how much of it failed or was lost, the same of as long a time before, and by reason the
    number and the number of tenants it met, most first."""

    ended: int
    failed: int
    ended_before: int
    failed_before: int
    reasons: Sequence[tuple[str, int, int]]


def before(over: Period) -> Period:
    """As long a time just before what of the period has happened."""
    return Period(over.from_at - (over.end_at - over.from_at), over.from_at)


# --- used, and by whom -----------------------------------------------------------------------------------------


def use_read(over: Period, cut: Stretches) -> Use:
    """What the pool had, what was held of it and what was used of that."""
    held, tenants = _held(over, cut)
    delivered = _delivered(over, cut)
    by_schema = _delivered_by_tenant(over)
    known = {row.pk: row for row in tenant_list().filter(pk__in=tenants)}
    return Use(
        _had(cut),
        held,
        delivered,
        {known[pk]: (hours, by_schema.get(known[pk].schema_name, 0.0)) for pk, hours in tenants.items()},
    )


def _had(cut: Stretches) -> list[float]:
    """A device counts from when it was found until it left, or until its node was removed."""
    found = [0.0] * (len(cut.edges) - 1)
    for device in devices_read():
        gone_at = device.node_updated_at if device.node_state == NodeState.REMOVED else None
        left_at = device.left_at or gone_at or cut.edges[-1]
        for place, hours in _spread(cut, device.created_at, left_at):
            found[place] += hours
    return found


def _spread(cut: Stretches, begin: datetime, end: datetime) -> Iterable[tuple[int, float]]:
    """How many hours of [begin, end) lie in which stretch."""
    for place, (since, till) in enumerate(zip(cut.edges, cut.edges[1:], strict=False)):
        hours = (min(end, till) - max(begin, since)).total_seconds() / HOUR_S
        if hours > 0:
            yield place, hours


def _held(over: Period, cut: Stretches) -> tuple[list[float], dict[int, float]]:
    """Device hours held, by stretch and by tenant; what shares were before a resize is put right."""
    parts, tenants = [0.0] * (len(cut.edges) - 1), defaultdict[int, float](float)
    for part in tenant_parts(cut.edges):
        hours = part.percent_s / _DEVICE / HOUR_S
        parts[part.stretch] += hours
        tenants[part.tenant_id] += hours
    past = list(past_share_list(since=over.from_at))
    shares = {row.slice_uid: row for row in share_list({row.slice_uid for row in past})}
    for row in past:
        share = shares.get(row.slice_uid)
        if share is None:
            continue
        more = (row.compute_percent - share.compute_percent) / _DEVICE
        for place, hours in _spread(cut, row.from_at or share.created_at, row.until_at):
            parts[place] += hours * more
            tenants[share.workload.tenant_id] += hours * more
    return parts, dict(tenants)


def _delivered(over: Period, cut: Stretches) -> list[float]:
    """Device hours by stretch, by whole hours: an hour is of the stretch in which it begins."""
    parts = [0.0] * (len(cut.edges) - 1)
    for hour, weighted in _weighted("device", over).values_list("hour", "sum"):
        parts[max(0, bisect_right(cut.edges, hour) - 1)] += weighted / _DEVICE / HOUR_S
    return parts


def _delivered_by_tenant(over: Period) -> dict[str, float]:
    rows = _weighted("tenant", over, by="subject").values_list("subject", "sum")
    return {subject: weighted / _DEVICE / HOUR_S for subject, weighted in rows}


def _weighted(kind: str, over: Period, by: str = "hour") -> Any:
    rows = rollup_list(series="delivered_percent", kind=kind, from_at=over.from_at, to_at=over.end_at)
    return rows.order_by().values(by).annotate(sum=Sum("weighted"))


# --- earned ----------------------------------------------------------------------------------------------------


def earned_read(over: Period, cut: Stretches) -> Earned:
    """Rated use in CNY, of all tenants but those with books of their own. `cut` has days or weeks: money is summed by
    day."""
    parts = [Decimal(0)] * (len(cut.edges) - 1)
    asked: dict[str, Any] = {"actor": SYSTEM, "tenant": None}
    for row in cost_by_day(**asked, since=over.from_at, until=over.to_at):
        parts[cut.place(row["day"])] += row["exact"]
    earlier = before(over)
    past = cost_by_day(**asked, since=earlier.from_at, until=earlier.to_at)
    tenants = cost_by(**asked, dimension="tenant", since=over.from_at, until=over.to_at)
    return Earned(
        parts,
        sum(parts, Decimal(0)),
        sum((row["exact"] for row in past), Decimal(0)),
        [row for row in tenants if row.exact],
    )


# --- waited ----------------------------------------------------------------------------------------------------


def waited_read(over: Period, tenant: Tenant | None = None) -> Waited:
    """How long work waited and why, of the centre or of one tenant.

    Waits are told of what started in the period; hours of waiting are those inside of it, by the reason that stood on
    the work's time line at the time.
    """
    rows = work_across(tenant).annotate(runnable_at=first_runnable_at())
    inside = {"gte": over.from_at, "lt": over.to_at}
    waited = seconds("runnable_at", "started_at")
    found = rows.filter(within("started_at", inside)).aggregate(
        started=Count("pk"), half=Percentile(waited, 0.5), most=Percentile(waited, 0.95)
    )
    return Waited(found["started"], found["half"] or 0.0, found["most"] or 0.0, _causes(over, tenant))


def _causes(over: Period, tenant: Tenant | None) -> list[tuple[str, float, int]]:
    rows = waiting_causes(
        from_at=over.from_at, end_at=over.end_at, causes=CAUSE_OF, otherwise=FIRST, tenant=tenant
    )
    causes = [(row.cause, row.waited_s / HOUR_S, row.count) for row in rows]
    return sorted(causes, key=lambda each: (-each[1], each[0]))


# --- failed ----------------------------------------------------------------------------------------------------


def failed_read(over: Period, tenant: Tenant | None = None) -> Failed:
    """What ended in the period, how much of it failed or was lost, and why, of the centre or of one tenant."""
    earlier = before(over)
    now = within("ended_at", {"gte": over.from_at, "lt": over.to_at})
    past = within("ended_at", {"gte": earlier.from_at, "lt": earlier.to_at})
    broken = Q(state__in=BROKEN_STATES)
    found = (
        work_across(tenant)
        .filter(now | past)
        .aggregate(
            ended=Count("pk", filter=now),
            failed=Count("pk", filter=now & broken),
            ended_before=Count("pk", filter=past),
            failed_before=Count("pk", filter=past & broken),
        )
    )
    reasons = [(row.code, row.count, row.tenants) for row in broken_reasons(now, tenant)]
    return Failed(**found, reasons=reasons)
