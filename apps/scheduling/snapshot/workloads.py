"""What runs and what waits, as the engine reads it, and the whole as one snapshot."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from apps.billing.selectors.charges import charge_prices
from apps.centre.selectors import centre_zone
from apps.fleet.models import Slice
from apps.kernel.prepared_queries import ArrayParam, PreparedQuery
from apps.scheduling.engine.model import types as engine
from apps.scheduling.models import (
    Allocation,
    NominatedRoom,
    Queue,
    Reservation,
    ValidityPeriod,
    ValidityUser,
    Workload,
)
from apps.scheduling.models.oversubscription import terms_of
from apps.scheduling.snapshot.cluster import devices_read, nodes_read, rules_read, windows_of
from apps.scheduling.states import (
    HOLDING_STATES,
    NOT_HELD_BACK,
    AllocationState,
    WorkKind,
    WorkloadState,
)
from apps.tenancy.models import Tenant

# The most urgent so many are read at once; the engine takes about a kilobyte for each.
MAX_WAITING = 200_000


def snapshot_get(*, with_work: bool = True) -> engine.Snapshot:
    """The whole pool as one snapshot; without work only what does not depend on it."""
    requests, running = work_read() if with_work else ({}, {})
    return engine.Snapshot(
        nodes=tuple(nodes_read().values()),
        devices=tuple(devices_read().values()),
        running=tuple(running.values()),
        requests=tuple(requests.values()),
        holds=tuple(nominated_room_read().values()) if with_work else (),
        **rules_read(),
    )


# --- the work ----------------------------------------------------------------------------------------------------


_WORK_FIELDS = (
    "uid", "tenant_id", "queue_id", "kind", "state", "created_at", "compute_percent", "memory_mib", "shares",
    "priority", "run_timeout_s", "pins", "any_models", "whole_cards", "distinct_devices", "single_node", "placing",
    "local_node", "resource_group", "affinity", "anti_affinity", "min_shares", "shares_per_replica", "active_shares",
    "wanted_shares", "preemptible", "urgent", "host_cpu_milli", "host_memory_mib", "earliest_start_at",
    "scratch_disk_mib", "not_before_at", "deadline_at", "driver", "reservation_id", "started_at", "placed_at",
    "checkpoint_at", "preemptions", "scaled_at", "reason_code", "purpose", "submitted_by_id", "attempt",
    "oversubscribe", *NOT_HELD_BACK,
)  # fmt: skip


Requests, Runs = dict[int, engine.Request], dict[int, engine.RunningWorkload]


@dataclass(slots=True)
class AllocatedShares:
    """What a workload holds: (device, node, percent, MiB, exclusive) of each share, and the places of those that are
    being moved away. What such a one moves to stands right behind it."""

    grants: list[tuple[Any, ...]] = field(default_factory=list)
    moving: set[int] = field(default_factory=set)
    _share: int | None = None

    def add(self, share: int, grant: tuple[Any, ...]) -> None:
        """In the order in which they were made."""
        if share == self._share:
            self.moving.add(len(self.grants) - 1)
        self._share = share
        self.grants.append(grant)


def work_read() -> tuple[Requests, Runs]:
    """What waits for room (the most urgent MAX_WAITING, of equals the oldest) and what holds something, by key."""
    rows = Workload.objects.across().only(*_WORK_FIELDS)
    by_urgency = rows.filter(state=WorkloadState.PENDING, **NOT_HELD_BACK).order_by(
        "-urgent", "-queue__priority", "-priority", "pk"
    )
    waiting = by_urgency[:MAX_WAITING]
    held = _allocated_shares(Q())
    holders = {row.pk: row for row in rows.filter(state__in=HOLDING_STATES) if row.pk in held}
    strays = [pk for pk in held if pk not in holders]
    if strays:
        holders |= {row.pk: row for row in rows.filter(pk__in=strays)}
    return _work(list(waiting), holders.values(), held, Names())


_WORK = PreparedQuery(lambda: Workload.objects.across().filter(pk=ArrayParam("pks")), fields=_WORK_FIELDS)


def work_read_again(pks: Iterable[int], names: "Names") -> tuple[Requests, Runs]:
    """What of these workloads (keys) waits, and what of them holds something. What was only submitted takes one
    statement: it holds nothing yet."""
    found = _WORK.all(pks=list(pks))
    waiting = [row for row in found if row.state == WorkloadState.PENDING and not row.is_held_back]
    # What was never placed holds nothing.
    older = [row.pk for row in found if row.state != WorkloadState.PENDING or row.attempt > 1]
    held = _allocated_shares(Q(workload_id__in=older)) if older else {}
    return _work(waiting, [row for row in found if row.pk in held], held, names)


def _work(
    waiting: Collection[Workload],
    holders: Collection[Workload],
    held: Mapping[int, AllocatedShares],
    names: "Names",
) -> tuple[Requests, Runs]:
    names.learn([*waiting, *holders])
    prices = prices_read(holders)
    return (
        {row.pk: request_of(row, names) for row in waiting},
        {
            row.pk: running_of(row, held[row.pk], request_of(row, names), prices.get(row.uid, 0))
            for row in holders
        },
    )


def prices_read(rows: Iterable[Workload]) -> dict[UUID, int]:
    """What a share of each costs an hour, in millionths: of what is stopped for others, the cheaper goes first."""
    uids = [row.uid for row in rows]
    return charge_prices(uids) if uids else {}


def nominated_room_read() -> dict[int, engine.Hold]:
    """The room that is kept, by the key of the work that it is kept for; that need not wait any more."""
    rows = list(NominatedRoom.objects.order_by("pk").values_list("workload_id", "since_at", "grants"))
    # Apart: most times there is none, and a join would read all work there ever was.
    named = Workload.objects.across().filter(pk__in=[pk for pk, _since, _grants in rows])
    uids = dict(named.values_list("pk", "uid")) if rows else {}
    return {
        pk: engine.Hold(
            str(uids[pk]),
            int(since.timestamp()),
            tuple(map(_kept_grant, grants)),
            engine.HoldKind.NOMINATED,
        )
        for pk, since, grants in rows
    }


def _kept_grant(values: Sequence[Any]) -> engine.Grant:
    """A grant as it was written down: words are plain there."""
    grant = engine.Grant(*values)
    return grant._replace(alone=engine.Alone(grant.alone))


_HELD_FIELDS = (
    "workload_id", "share", "slice_uid", "device__uid", "device__node__uid", "compute_percent", "memory_mib",
    "is_exclusive",
)  # fmt: skip


def _allocated_shares(named: Q) -> dict[int, AllocatedShares]:
    held: dict[int, AllocatedShares] = defaultdict(AllocatedShares)
    active = Allocation.objects.filter(named, state=AllocationState.ACTIVE)
    rows = list(active.order_by("workload_id", "share", "pk").values_list(*_HELD_FIELDS))
    surplus = _surplus([row[2] for row in rows])
    for workload_id, share, slice_uid, device, node, percent, mib, whole in rows:
        more_percent, more_mib = surplus.get(slice_uid, (0, 0))
        held[workload_id].add(share, (device, node, percent + more_percent, mib + more_mib, whole))
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
    """What tenants and queues are called in the engine, by their keys, which never changes; and, as of when this was
    made, with whom work of a queue shares its devices, and when whose work may start."""

    def __init__(self) -> None:
        self.tenants: dict[int, str] = {}
        self.queues = _modes()
        self._now = timezone.now()
        self.periods = _periods()
        self.day = self._now.astimezone(centre_zone()).date()

    def learn(self, rows: Iterable[Workload]) -> None:
        """Read the names that occur in the rows and are not known yet."""
        keys = {(row.tenant_id, row.queue_id) for row in rows}
        tenants = {tenant for tenant, _queue in keys} - self.tenants.keys()
        queues = {queue for _tenant, queue in keys} - self.queues.keys()
        if tenants:
            self.tenants |= Tenant.objects.filter(pk__in=tenants).values_list("pk", "schema_name")
        if queues:
            self.queues |= _modes(queues)

    def windows(self, row: Workload) -> tuple[engine.Window, ...]:
        """When work of this user and purpose may start (PLAT-AICFG-31); () is always."""
        spans = self.periods.get((row.submitted_by_id, row.purpose))
        return windows_of(spans, self._now) if spans else ()


class Mode(NamedTuple):
    """A queue's code, and with whom its work shares devices."""

    code: str
    oversubscribe: str
    max_jobs: int | None


def _modes(pks: Collection[int] | None = None) -> dict[int, Mode]:
    rows = Queue.objects.all() if pks is None else Queue.objects.filter(pk__in=pks)
    return {pk: Mode(*mode) for pk, *mode in rows.values_list("pk", *Mode._fields)}


def _periods() -> dict[tuple[int, str], list[Any]]:
    rules: dict[int, list[int]] = defaultdict(list)
    for rule_id, user_id in ValidityUser.objects.values_list("rule_id", "user_id"):
        rules[rule_id].append(user_id)
    found: dict[tuple[int, str], list[Any]] = defaultdict(list)
    spans = ValidityPeriod.objects.filter(rule__in=rules).order_by("pk") if rules else ()
    for span in spans and spans.values_list(*_SPAN_FIELDS, named=True):
        for user_id in rules[span.rule_id]:
            found[(user_id, span.purpose)].append(span)
    return found


_SPAN_FIELDS = ("rule_id", "purpose", "weekday", "from_minute", "to_minute")


def request_of(row: Workload, names: Names | None = None) -> engine.Request:
    """The workload, saved or not, as the engine reads it."""
    starts = [at for at in (row.earliest_start_at, row.not_before_at) if at is not None]
    queue = names.queues[row.queue_id] if names else row.queue
    terms = terms_of(queue.oversubscribe, queue.max_jobs, said=row.oversubscribe)
    return engine.Request(
        id=str(row.uid),
        tenant_id=names.tenants[row.tenant_id] if names else row.tenant.schema_name,
        queue_id=queue.code,
        submitted_seq=row.pk or 2**62,
        submitted_at_s=int((row.created_at or timezone.now()).timestamp()),
        compute_percent=row.compute_percent,
        memory_mib=row.memory_mib,
        shares=_most(row),
        priority=row.priority,
        duration_s=row.run_timeout_s,
        vendor=row.pins.get("vendor"),
        model=row.pins.get("model"),
        node_id=row.pins.get("node"),
        device_id=row.pins.get("device"),
        storage=row.pins.get("storage", ""),
        containers=row.pins.get("containers", ""),
        packages="packages" in row.pins,
        program=row.pins.get("program", ""),
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
        scratch_disk_mib=row.scratch_disk_mib,
        earliest_start_s=_second(max(starts)) if starts else None,
        deadline_s=_second(row.deadline_at),
        models=_words(tuple(row.any_models)),
        driver=row.driver or None,
        reservation_id=_reservation(row.reservation_id) if row.reservation_id else None,
        windows=names.windows(row) if names else (),
        shares_per_replica=row.shares_per_replica,
        alone=terms.alone,
        max_on_device=terms.most,
    )


def running_of(
    row: Workload, held: AllocatedShares, asks: engine.Request, share_micros: int = 0
) -> engine.RunningWorkload:
    """The workload with what it holds; `share_micros` is what one of its shares costs an hour."""
    # Of work that was queued again the first start is kept: its present run began when it was placed last.
    since = max(filter(None, (row.started_at, row.placed_at)), default=row.created_at)
    shares = len(held.grants) - len(held.moving)
    grants = tuple(
        engine.Grant(
            *grant,
            affinity=asks.affinity,
            anti_affinity=asks.anti_affinity,
            host_cpu_milli=row.host_cpu_milli,
            host_memory_mib=row.host_memory_mib,
            alone=asks.alone,
            max_on_device=asks.max_on_device,
        )
        for grant in held.grants
    )
    if row.scratch_disk_mib:
        grants = tuple(grant._replace(scratch_disk_mib=row.scratch_disk_mib) for grant in grants)
    return engine.RunningWorkload(
        id=asks.id,
        tenant_id=asks.tenant_id,
        queue_id=asks.queue_id,
        grants=grants,
        ends_at_s=int(since.timestamp()) + row.run_timeout_s if row.run_timeout_s else None,
        priority=row.priority,
        preemptible=row.preemptible,
        started_at_s=int(since.timestamp()),
        # One of an earlier run says nothing of what this one would lose.
        checkpoint_at_s=_second(row.checkpoint_at)
        if row.checkpoint_at and row.checkpoint_at > since
        else None,
        cost_per_hour_micros=share_micros * shares,
        shares=_most(row),
        min_shares=row.min_shares,
        target_shares=row.active_shares if row.min_shares and row.active_shares != shares else None,
        resized_at_s=_second(row.scaled_at),
        movable=row.kind == WorkKind.SESSION and row.state == WorkloadState.RUNNING and not row.whole_cards,
        moving=frozenset(held.moving),
        preempted=row.state == WorkloadState.STOPPING,
        preempted_count=row.preemptions,
        asks=asks,
    )


def _most(row: Workload) -> int:
    """How many shares it may have: elastic work has a bound by its scaling rules too (ELA-907)."""
    if row.min_shares is None or row.wanted_shares is None:
        return row.shares
    return max(row.min_shares, min(row.shares, row.wanted_shares))


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
