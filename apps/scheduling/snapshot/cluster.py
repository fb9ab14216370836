"""The pool, the queues, quotas, reservations and the policy, as the engine reads them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from apps.centre.selectors import centre_zone, quotas_are_kept
from apps.fleet.models import Device, Node
from apps.kernel.prepared_queries import PreparedQuery
from apps.scheduling.engine.model import types as engine
from apps.scheduling.engine.queueing.tenant_shares import BY_TENANT
from apps.scheduling.models import (
    PastUse,
    Queue,
    QueueTenant,
    QueueWindow,
    Reservation,
    SchedulingPolicy,
    TenantQuota,
    TenantShare,
)
from apps.scheduling.states import QuotaItem

# Windows of the week are told to the engine for so many days.
_AHEAD_DAYS = 8

# --- the pool ----------------------------------------------------------------------------------------------------


def nodes_read(pks: Iterable[int] | None = None) -> dict[int, engine.Node]:
    """The nodes that have not left, or those of `pks` that have not, by key."""
    rows = Node.objects.exclude(state="removed")
    return {row.pk: _node(row) for row in (rows if pks is None else rows.filter(pk__in=list(pks)))}


def devices_read(pks: Iterable[int] | None = None) -> dict[int, engine.Device]:
    """The devices that have not left, or those of `pks` that have not, by key."""
    rows = Device.objects.filter(left_at=None)
    named = rows if pks is None else rows.filter(pk__in=list(pks))
    # Values, not models: ten thousand of these are read for one answer.
    return {row.pk: _device(row) for row in named.values_list(*_DEVICE_FIELDS, named=True)}


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
        # A node of a release that does not say offers none: what nobody keeps is not sold.
        scratch_disk_mib=int(row.info.get("scratch_disk_mib") or 0),
        rack=str(labels.get("rack", "")),
        storage=str(row.info.get("storage") or ""),
        containers=str(row.info.get("containers") or ""),
        packages=bool(row.info.get("packages")),
        programs=frozenset(map(str, row.info.get("components") or ())),
    )


_DEVICE_FIELDS = (
    "pk", "uid", "node__uid", "memory_mib", "vendor", "model", "is_enabled", "is_leaving", "missing_at", "health",
    "oversubscribe_permille", "memory_oversubscribe_permille", "is_sliced", "group__code", "numa_node",
    "slice_drivers", "slice_sizes",
)  # fmt: skip


def _device(row: Any) -> engine.Device:
    return engine.Device(
        id=row.uid,
        node_id=row.node__uid,
        memory_mib=row.memory_mib,
        vendor=row.vendor,
        model=row.model,
        enabled=row.is_enabled and not row.is_leaving and row.missing_at is None,
        healthy=row.health == "ok",
        oversubscription_permille=row.oversubscribe_permille,
        memory_oversubscription_permille=row.memory_oversubscribe_permille,
        sliced=row.is_sliced,
        resource_group=row.group__code,
        numa="" if row.numa_node is None else str(row.numa_node),
        drivers=frozenset(row.slice_drivers) or None,
        sizes=tuple(
            engine.Size(size["compute_percent"], size["memory_mib"], size["count"])
            for size in row.slice_sizes
        ),
    )


# --- the rules ---------------------------------------------------------------------------------------------------


def rules_read() -> dict[str, Any]:
    """Queues, quotas, reservations, past use and the policy, by their names in a snapshot."""
    now = timezone.now()
    return {
        "queues": queues_read(now),
        "tenant_quotas": _tenant_quotas(),
        "policy": policy_read(),
        "reservations": _reservations(now),
        "past_use": past_use_read(now),
        "tenant_weights": tuple(TenantShare.objects.across().values_list("tenant__schema_name", "share")),
    }


def queues_read(now: datetime, days: int = _AHEAD_DAYS) -> tuple[engine.Queue, ...]:
    """The queues; their windows as instants of the next `days`."""
    admitted: dict[int, set[str]] = defaultdict(set)
    for queue_id, schema in QueueTenant.objects.across().values_list("queue_id", "tenant__schema_name"):
        admitted[queue_id].add(schema)
    weekly: dict[int, list[QueueWindow]] = defaultdict(list)
    for window in QueueWindow.objects.all():
        weekly[window.queue_id].append(window)
    rows, policy = Queue.objects.filter(retired_at=None).select_related("parent"), policy_get()
    return tuple(_queue(row, policy, admitted[row.pk], windows_of(weekly[row.pk], now, days)) for row in rows)


def _preempts(row: Queue, policy: SchedulingPolicy) -> bool:
    """Whether the queue's work preempts: where tenants are served by their shares, that has a say too (ELA-1009)."""
    is_fair = engine.Ordering(row.ordering or policy.ordering) in BY_TENANT
    return row.preempts and (policy.fair_share_preempts or not is_fair)


def _queue(
    row: Queue, policy: SchedulingPolicy, admitted: set[str], windows: tuple[engine.Window, ...]
) -> engine.Queue:
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
        preempts=_preempts(row, policy),
        reclaim=row.reclaims,
    )


def windows_of(spans: Sequence[Any], now: datetime, days: int = _AHEAD_DAYS) -> tuple[engine.Window, ...]:
    """Spans of the week as instants of the next days, neighbouring ones as one; days are the centre's."""
    zone = centre_zone()
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[tuple[int, int]] = []
    for step in range(-1, days):
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
    if not quotas_are_kept():
        return ()
    limits: dict[str, dict[str, dict[str, int]]] = {}
    rows = TenantQuota.objects.across().values_list("tenant__schema_name", "model", "item", "total")
    for schema, model, item, total in rows:
        limits.setdefault(schema, {}).setdefault(model, {})[item] = total
    return tuple((schema, _tenant_quota(by_model)) for schema, by_model in limits.items())


def _tenant_quota(by_model: Mapping[str, Mapping[str, int]]) -> engine.Quota:
    own = tuple((model, _limit(by_model[model])) for model in sorted(by_model) if model)
    return engine.Quota(nominal=_limit(by_model.get("", {})), by_model=own)


def _limit(totals: Mapping[str, int]) -> engine.Limit:
    return engine.Limit(
        compute_percent=totals.get(QuotaItem.COMPUTE_PERCENT),
        memory_mib=totals.get(QuotaItem.GPU_MEMORY_MIB),
        shares=totals.get(QuotaItem.INSTANCES),
    )


def _reservations(now: datetime) -> tuple[engine.Reservation, ...]:
    rows = Reservation.objects.filter(cancelled_at=None, to_at__gt=now).select_related("tenant", "queue")
    return tuple(map(reservation_of, rows))


def reservation_of(row: Reservation) -> engine.Reservation:
    return engine.Reservation(
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
    return _POLICY.first() or SchedulingPolicy(pk=1)


def guarantees_reclaimed() -> bool:
    """Whether any queue may take a guarantee back, so that any other's work may be stopped for it."""
    queues = Queue.objects.filter(retired_at=None, reclaims=True)
    kept = queues.filter(Q(guaranteed_compute_percent__gt=0) | Q(guaranteed_memory_mib__gt=0))
    return policy_get().has_reclaim and kept.exists()


_POLICY = PreparedQuery(lambda: SchedulingPolicy.objects.filter(pk=1))


def policy_read() -> engine.Policy:
    """The operators' scheduling policy, as the engine takes it."""
    row = policy_get()
    return engine.Policy(
        ordering=engine.Ordering(row.ordering),
        placing=engine.Placing(row.placing),
        backfill=row.has_backfill,
        patience_s=row.patience_s,
        reserved_starts=row.reserved_starts,
        aging_s=row.aging_s,
        preemption=row.has_preemption,
        reclaim=row.has_reclaim,
        grace_s=row.grace_s,
        min_run_s=row.min_run_s,
        preempt_limit=row.max_preemptions,
        consolidate=row.consolidates,
        max_moves=row.max_moves,
        elastic=row.grows_elastic,
        hysteresis_s=row.hysteresis_s,
        half_life_s=row.half_life_s or 0,
        ahead_s=row.ahead_s,
    )
