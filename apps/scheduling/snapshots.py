"""The pool, the queues, what runs and what waits, as the engine reads them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.fleet.models import Device, Node, Slice
from apps.scheduling.engine import types as engine
from apps.scheduling.models import (
    Allocation,
    PastUse,
    Queue,
    QueueTenant,
    QueueWindow,
    Reservation,
    SchedulingPolicy,
    TenantQuota,
    ValidityPeriod,
    ValidityUser,
    Workload,
)
from apps.scheduling.states import HOLDING_STATES, AllocationState, QuotaItem, WorkKind, WorkloadState
from apps.tenancy.models import Tenant

# The oldest so many are judged; the engine takes about a kilobyte for each.
MAX_WAITING = 200_000
# Windows of the week are told to the engine for so many days.
_AHEAD_DAYS = 8


def snapshot_get(*, with_work: bool = True) -> engine.Snapshot:
    """The whole pool as one snapshot; without work only what does not depend on it."""
    requests, running = work_read() if with_work else ({}, {})
    return engine.Snapshot(
        nodes=tuple(nodes_read().values()),
        devices=tuple(devices_read().values()),
        running=tuple(running.values()),
        requests=tuple(requests.values()),
        **rules_read(),
    )


# --- the pool ----------------------------------------------------------------------------------------------------


def nodes_read(pks: Iterable[int] | None = None) -> dict[int, engine.Node]:
    """The nodes that have not left, or those of `pks` that have not, by key."""
    rows = Node.objects.exclude(state="removed")
    return {row.pk: _node(row) for row in (rows if pks is None else rows.filter(pk__in=list(pks)))}


def devices_read(pks: Iterable[int] | None = None) -> dict[int, engine.Device]:
    """The devices that have not left, or those of `pks` that have not, by key."""
    rows = Device.objects.filter(left_at=None).select_related("node", "group").defer("measured", "apis")
    return {row.pk: _device(row) for row in (rows if pks is None else rows.filter(pk__in=list(pks)))}


def _node(row: Node) -> engine.Node:
    cpu_count, labels = row.info.get("cpu_count"), row.info.get("labels") or {}
    return engine.Node(
        id=row.uid,
        name=row.name,
        ready=row.state != "lost",
        schedulable=row.is_ready,
        labels=frozenset((str(name), str(value)) for name, value in labels.items()),
        host_cpu_milli=cpu_count * 1000 if cpu_count else None,
        host_memory_mib=row.info.get("memory_mib"),
        rack=str(labels.get("rack", "")),
    )


def _device(row: Device) -> engine.Device:
    return engine.Device(
        id=row.uid,
        node_id=row.node.uid,
        memory_mib=row.memory_mib,
        vendor=row.vendor,
        model=row.model,
        enabled=row.is_enabled and not row.is_leaving and row.missing_at is None,
        healthy=row.health == "ok",
        oversubscription_permille=row.oversubscribe_permille,
        memory_oversubscription_permille=row.memory_oversubscribe_permille,
        sliced=row.is_sliced,
        resource_group=row.group.code if row.group else None,
        numa="" if row.numa_node is None else str(row.numa_node),
        drivers=frozenset(row.slice_drivers) or None,
    )


# --- the rules ---------------------------------------------------------------------------------------------------


def rules_read() -> dict[str, Any]:
    """Queues, quotas, reservations, past use and the policy, by their names in a snapshot."""
    now = timezone.now()
    return {
        "queues": queues_read(now),
        "tenant_quotas": _tenant_quotas(),
        "policy": _policy(),
        "reservations": _reservations(now),
        "past_use": past_use_read(now),
    }


def queues_read(now: datetime) -> tuple[engine.Queue, ...]:
    admitted: dict[int, set[str]] = defaultdict(set)
    for queue_id, schema in QueueTenant.objects.across().values_list("queue_id", "tenant__schema_name"):
        admitted[queue_id].add(schema)
    weekly: dict[int, list[QueueWindow]] = defaultdict(list)
    for window in QueueWindow.objects.all():
        weekly[window.queue_id].append(window)
    rows = Queue.objects.filter(retired_at=None).select_related("parent")
    return tuple(_queue(row, admitted[row.pk], windows_of(weekly[row.pk], now)) for row in rows)


def _queue(row: Queue, admitted: set[str], windows: tuple[engine.Window, ...]) -> engine.Queue:
    return engine.Queue(
        id=row.code,
        name=row.code,
        state=engine.QueueState(row.state),
        parent_id=row.parent.code if row.parent else None,
        priority=row.priority,
        ordering=engine.Ordering(row.ordering) if row.ordering else None,
        placing=engine.Placing(row.placing) if row.placing else None,
        resource_group=row.resource_group or None,
        tenants=frozenset(admitted) or None,
        quota=engine.Quota(
            nominal=engine.Limit(compute_percent=row.max_compute_percent, memory_mib=row.max_memory_mib),
            borrow=engine.Amount(row.borrow_compute_percent, row.borrow_memory_mib),
            guaranteed=engine.Amount(row.guaranteed_compute_percent, row.guaranteed_memory_mib),
            lend=engine.Limit(compute_percent=row.lend_compute_percent, memory_mib=row.lend_memory_mib),
        ),
        weight=row.weight,
        windows=windows,
        preempts=row.preempts,
        reclaim=row.reclaims,
    )


def windows_of(
    spans: Sequence[QueueWindow] | Sequence[ValidityPeriod], now: datetime
) -> tuple[engine.Window, ...]:
    """Spans of the week as instants of the next days, neighbouring ones as one; days are the centre's."""
    zone = ZoneInfo(settings.TIME_ZONE)
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[tuple[int, int]] = []
    for step in range(-1, _AHEAD_DAYS):
        day = today + timedelta(days=step)
        for span in spans:
            if span.weekday == day.weekday():
                begin, end = (
                    day + timedelta(minutes=minute) for minute in (span.from_minute, span.to_minute)
                )
                found.append((int(begin.timestamp()), int(end.timestamp())))
    merged: list[tuple[int, int]] = []
    for from_s, to_s in sorted(found):
        if merged and from_s <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(to_s, merged[-1][1]))
        else:
            merged.append((from_s, to_s))
    return tuple(engine.Window(*each) for each in merged)


def _tenant_quotas() -> tuple[tuple[str, engine.Quota], ...]:
    limits: dict[str, dict[str, int]] = {}
    rows = TenantQuota.objects.across().values_list("tenant__schema_name", "item", "total")
    for schema, item, total in rows:
        limits.setdefault(schema, {})[item] = total
    return tuple((schema, engine.Quota(nominal=_limit(totals))) for schema, totals in limits.items())


def _limit(totals: Mapping[str, int]) -> engine.Limit:
    return engine.Limit(
        compute_percent=totals.get(QuotaItem.COMPUTE_PERCENT),
        memory_mib=totals.get(QuotaItem.GPU_MEMORY_MIB),
        shares=totals.get(QuotaItem.INSTANCES),
    )


def _reservations(now: datetime) -> tuple[engine.Reservation, ...]:
    rows = Reservation.objects.filter(cancelled_at=None, to_at__gt=now).select_related("tenant", "queue")
    return tuple(
        engine.Reservation(
            id=str(row.uid),
            from_s=int(row.from_at.timestamp()),
            to_s=int(row.to_at.timestamp()),
            tenant_id=row.tenant.schema_name if row.tenant else None,
            queue_id=row.queue.code if row.queue else None,
            device_ids=frozenset(row.device_uids),
            count=row.count,
            compute_percent=row.compute_percent,
            memory_mib=row.memory_mib,
            models=frozenset({row.model} if row.model else ()),
        )
        for row in rows
    )


def past_use_read(now: datetime) -> tuple[tuple[str, int], ...]:
    """What each tenant used, faded to `now`, in whole card-seconds (ELA-1008)."""
    half_life_s = policy_get().half_life_s
    rows = PastUse.objects.across().values_list("tenant__schema_name", "card_seconds", "as_of_at")
    return tuple((schema, int(used * faded(now - as_of, half_life_s))) for schema, used, as_of in rows)


def faded(gone: timedelta, half_life_s: int | None) -> float:
    """What is left of use after a time: half of it after each half-life; all of it without one."""
    return 0.5 ** (max(0.0, gone.total_seconds()) / half_life_s) if half_life_s else 1.0


def policy_get() -> SchedulingPolicy:
    """The one row, or its defaults where nobody has changed them."""
    return SchedulingPolicy.objects.filter(pk=1).first() or SchedulingPolicy(pk=1)


def _policy() -> engine.Policy:
    row = policy_get()
    return engine.Policy(
        ordering=engine.Ordering(row.ordering),
        placing=engine.Placing(row.placing),
        backfill=row.has_backfill,
        patience_s=row.patience_s,
        aging_s=row.aging_s,
        preemption=row.has_preemption,
        reclaim=row.has_reclaim,
        grace_s=row.grace_s,
        min_run_s=row.min_run_s,
        preempt_limit=row.max_preemptions,
        consolidate=row.consolidates,
        elastic=row.grows_elastic,
        hysteresis_s=row.hysteresis_s,
    )


# --- the work ----------------------------------------------------------------------------------------------------


_WORK_FIELDS = (
    "uid", "tenant_id", "queue_id", "kind", "state", "created_at", "compute_percent", "memory_mib", "shares",
    "priority", "run_timeout_s", "pins", "any_models", "whole_cards", "distinct_devices", "single_node", "placing",
    "local_node", "resource_group", "affinity", "anti_affinity", "min_shares", "active_shares", "preemptible",
    "urgent", "host_cpu_milli", "host_memory_mib", "earliest_start_at", "not_before_at", "deadline_at", "driver",
    "reservation_id", "started_at", "placed_at", "checkpoint_at", "preemptions", "scaled_at", "reason_code",
    "purpose", "submitted_by_id",
)  # fmt: skip


def work_read(
    pks: Iterable[int] | None = None,
) -> tuple[dict[int, engine.Request], dict[int, engine.Running]]:
    """What waits (the oldest MAX_WAITING) and what holds something, by key; of `pks` alone where they are given."""
    named = Q() if pks is None else Q(pk__in=list(pks))
    rows = Workload.objects.across().filter(named).only(*_WORK_FIELDS)
    waiting = list(rows.filter(state=WorkloadState.PENDING).order_by("pk")[:MAX_WAITING])
    held = _held(Q() if pks is None else Q(workload_id__in=list(pks)))
    holders = _holders(rows, held, pks is None)
    names = Names.of([*waiting, *holders])
    return (
        {row.pk: request_of(row, names) for row in waiting},
        {row.pk: running_of(row, held[row.pk], request_of(row, names)) for row in holders},
    )


def _holders(rows: QuerySet[Workload], held: Mapping[int, Any], is_all: bool) -> list[Workload]:
    found = rows.filter(state__in=HOLDING_STATES) if is_all else rows.filter(pk__in=list(held))
    by_pk = {row.pk: row for row in found}
    strays = [pk for pk in held if pk not in by_pk]
    if strays:
        by_pk |= {row.pk: row for row in rows.filter(pk__in=strays)}
    return [row for pk, row in by_pk.items() if pk in held]


_HELD_FIELDS = (
    "workload_id", "share", "slice_uid", "device__uid", "device__node__uid", "compute_percent", "memory_mib",
    "is_exclusive",
)  # fmt: skip


def _held(named: Q) -> dict[int, list[tuple[Any, ...]]]:
    held: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    active = Allocation.objects.filter(named, state=AllocationState.ACTIVE)
    rows = list(active.order_by("workload_id", "share", "pk").values_list(*_HELD_FIELDS))
    surplus = _surplus([row[2] for row in rows])
    for workload_id, _share, slice_uid, device, node, percent, mib, whole in rows:
        more_percent, more_mib = surplus.get(slice_uid, (0, 0))
        held[workload_id].append((device, node, percent + more_percent, mib + more_mib, whole))
    return held


def _surplus(slices: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """By slice, what its device keeps beyond its share until its node has shrunk it (POOL-12.2)."""
    rows = Slice.plain.filter(Q(surplus_percent__gt=0) | Q(surplus_mib__gt=0), final_at=None)
    if len(slices) < _NAMED_MOST:
        rows = rows.filter(uid__in=slices)
    return {uid: (percent, mib) for uid, percent, mib in rows.values_list(*_SURPLUS_FIELDS)}


# More than that are found sooner by reading all: few shrink at any time.
_NAMED_MOST = 1000
_SURPLUS_FIELDS = ("uid", "surplus_percent", "surplus_mib")


class Names:
    """What tenants and queues are called in the engine, by their keys; and when whose work may start."""

    def __init__(
        self, tenants: Mapping[int, str], queues: Mapping[int, str], periods: Mapping[tuple[int, str], Any]
    ) -> None:
        self.tenants, self.queues, self._periods = tenants, queues, periods
        self._now = timezone.now()

    @classmethod
    def of(cls, rows: Sequence[Workload]) -> "Names":
        """Those that occur in the rows."""
        tenants = Tenant.objects.filter(pk__in={row.tenant_id for row in rows})
        queues = Queue.objects.filter(pk__in={row.queue_id for row in rows})
        return cls(
            dict(tenants.values_list("pk", "schema_name")), dict(queues.values_list("pk", "code")), _periods()
        )

    def windows(self, row: Workload) -> tuple[engine.Window, ...]:
        """When work of this user and purpose may start (PLAT-AICFG-31); () is always."""
        spans = self._periods.get((row.submitted_by_id, row.purpose))
        return windows_of(spans, self._now) if spans else ()


def _periods() -> dict[tuple[int, str], list[ValidityPeriod]]:
    rules: dict[int, list[int]] = defaultdict(list)
    for rule_id, user_id in ValidityUser.objects.values_list("rule_id", "user_id"):
        rules[rule_id].append(user_id)
    found: dict[tuple[int, str], list[ValidityPeriod]] = defaultdict(list)
    for period in ValidityPeriod.objects.filter(rule__in=rules):
        for user_id in rules[period.rule_id]:
            found[(user_id, period.purpose)].append(period)
    return found


def request_of(row: Workload, names: Names | None = None) -> engine.Request:
    """The workload, saved or not, as the engine reads it."""
    starts = [at for at in (row.earliest_start_at, row.not_before_at) if at is not None]
    return engine.Request(
        id=str(row.uid),
        tenant_id=names.tenants[row.tenant_id] if names else row.tenant.schema_name,
        queue_id=names.queues[row.queue_id] if names else row.queue.code,
        submitted_seq=row.pk or 2**62,
        submitted_at_s=int((row.created_at or timezone.now()).timestamp()),
        compute_percent=row.compute_percent,
        memory_mib=row.memory_mib,
        shares=row.shares,
        priority=row.priority,
        duration_s=row.run_timeout_s,
        vendor=row.pins.get("vendor"),
        model=row.pins.get("model"),
        node_id=row.pins.get("node"),
        device_id=row.pins.get("device"),
        exclusive=row.whole_cards,
        distinct_devices=row.distinct_devices,
        single_node=row.single_node,
        placing=engine.Placing(row.placing) if row.placing else None,
        local_node_id=row.local_node or None,
        resource_group=row.resource_group or None,
        affinity=_word(row.tenant_id, row.affinity),
        anti_affinity=_word(row.tenant_id, row.anti_affinity),
        min_shares=row.min_shares,
        preemptible=row.preemptible,
        urgent=row.urgent,
        host_cpu_milli=row.host_cpu_milli,
        host_memory_mib=row.host_memory_mib,
        earliest_start_s=_second(max(starts)) if starts else None,
        deadline_s=_second(row.deadline_at),
        models=_words(tuple(row.any_models)),
        driver=row.driver or None,
        reservation_id=_reservation(row.reservation_id) if row.reservation_id else None,
        windows=names.windows(row) if names else (),
    )


def running_of(row: Workload, held: Iterable[tuple[Any, ...]], asks: engine.Request) -> engine.Running:
    """The workload with what it holds: (device, node, percent, MiB, exclusive) of each share."""
    # Of work that was queued again the first start is kept: its present run began when it was placed last.
    since = max(filter(None, (row.started_at, row.placed_at)), default=row.created_at)
    is_elastic = row.min_shares is not None
    grants = tuple(
        engine.Grant(
            *grant,
            affinity=asks.affinity,
            anti_affinity=asks.anti_affinity,
            host_cpu_milli=row.host_cpu_milli,
            host_memory_mib=row.host_memory_mib,
        )
        for grant in held
    )
    return engine.Running(
        id=asks.id,
        tenant_id=asks.tenant_id,
        queue_id=asks.queue_id,
        grants=grants,
        ends_at_s=int(since.timestamp()) + row.run_timeout_s if row.run_timeout_s else None,
        priority=row.priority,
        preemptible=row.preemptible,
        started_at_s=int(since.timestamp()),
        checkpoint_at_s=_second(row.checkpoint_at),
        shares=row.shares,
        min_shares=row.min_shares,
        target_shares=row.active_shares if is_elastic and row.active_shares != len(grants) else None,
        resized_at_s=_second(row.scaled_at),
        movable=row.kind == WorkKind.SESSION and row.state == WorkloadState.RUNNING and not row.whole_cards,
        preempted=row.state == WorkloadState.STOPPING or row.reason_code == "preempting",
        preempted_count=row.preemptions,
        asks=asks,
    )


def _second(at: datetime | None) -> int | None:
    return int(at.timestamp()) if at is not None else None


def _word(tenant_id: int, word: str) -> str:
    """Tenants do not meet in a word: each has its own."""
    return f"{tenant_id}:{word}" if word else ""


@lru_cache(maxsize=1024)
def _words(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words)


def _reservation(pk: int) -> str:
    return str(Reservation.objects.values_list("uid", flat=True).get(pk=pk))
