"""What a plan changes of running work: some is stopped to make room, some grows or shrinks, some is moved."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from itertools import count
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.fleet.selectors import slice_share_numbers
from apps.fleet.services.slices.moves import slice_move_begin
from apps.fleet.services.slices.slice_allocation import ShareRequest, devices_room, gang_take, slices_desire
from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many
from apps.kernel.errors import WeirError
from apps.kernel.service import service
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import ElasticChange, Move, Placement, Placing, Preemption
from apps.scheduling.locks import slices_lock, workload_lock
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.services.cycle.apply_plan import notices_of, share_requests_of
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.decisions import decided
from apps.scheduling.services.quota.batch import QuotaUse, quotas_use
from apps.scheduling.services.quota.models import models_refused
from apps.scheduling.services.workloads.ending import workload_changed
from apps.scheduling.services.workloads.resizing.elastic_size import shares_quota, size_change
from apps.scheduling.services.workloads.slice_reports import slice_started
from apps.scheduling.services.workloads.stopping import slices_stop, stop_begin
from apps.scheduling.states import AfterStop, AllocationState, DecisionKind, PreemptionCause, WorkloadState

log = logging.getLogger(__name__)
_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})


def changes_apply(*, actor: Actor, cache: ClusterCache, plan: Plan) -> None:
    """Each change is a transaction of its own; what cannot be done any more is left for the next pass."""
    for preemption in plan.preemptions:
        _try(lambda each=preemption: workload_preempt(actor=actor, preemption=each))
        cache.work_read({cache.keys[preemption.running_id]})
    for change in plan.resizes:
        _try(lambda each=change: workload_elastic(actor=actor, change=each))
        cache.work_read({cache.keys[change.running_id]})
    for move in plan.moves:
        _try(lambda each=move: workload_move(actor=actor, move=each))
        cache.work_read({cache.keys[move.running_id]})


def _try(work: Callable[[], object]) -> None:
    try:
        with transaction.atomic():
            work()
    except WeirError as error:
        log.info("left for the next pass: %s", error)


@service(recorded=False)
def workload_preempt(*, actor: Actor, preemption: Preemption) -> None:
    """Stop work that makes room for other work (ELA-810): its slices get notice and their grace, and when the last
    has ended it waits again in its old place (ELA-811)."""
    row = _running(preemption.running_id)
    if row is None or not (row.preemptible or preemption.reason == PreemptionCause.RECLAIM):
        return
    stop_begin(
        row, actor, AfterStop.PREEMPT, "preempted",
        preempted_by=UUID(preemption.for_request_id), preemption_cause=preemption.reason,
    )  # fmt: skip
    decided(
        row, DecisionKind.PREEMPTING, actor, preemption.reason,
        beneficiary=preemption.for_request_id, lost_card_seconds=preemption.lost_card_seconds,
        lost_micros=preemption.lost_micros,
    )  # fmt: skip
    slices_stop(row, actor, "", reason_code="preempted")
    workload_changed(row, actor)


def _running(uid: str) -> Workload | None:
    slices_lock(UUID(uid))
    row = workload_lock(UUID(uid))
    return row if row is not None and row.state in _RUNS else None


# --- elastic work ------------------------------------------------------------------------------------------------


@service(recorded=False)
def workload_elastic(*, actor: Actor, change: ElasticChange) -> None:
    """Bring elastic work to another number of shares (ELA-901): what it gives up ends with grace, what it gains
    starts beside what runs."""
    row = _running(change.running_id)
    if row is None or row.min_shares is None or not row.min_shares <= change.shares <= row.shares:
        return
    if change.shares % row.shares_per_replica:
        return
    held = row.allocations.filter(state=AllocationState.ACTIVE, is_beside=False).order_by("share")
    parts = list(held)
    if change.shares < len(parts):
        shares_drop(row, parts, change.shares, actor, cause="plan")
    elif new := _shares_add(row, parts, change, actor):
        shares_note(row, change.shares, actor, now=timezone.now(), cause="plan")
        size_change(row, actor, new=new)


def shares_drop(row: Workload, parts: list[Allocation], shares: int, actor: Actor, *, cause: str) -> None:
    """Let running elastic work go on with the first so many of its shares; the others leave (ELA-906)."""
    row.allocations.filter(pk__in=[part.pk for part in parts[shares:]]).update(is_beside=True)
    shares_note(row, shares, actor, now=timezone.now(), cause=cause)
    size_change(row, actor)
    if row.state == WorkloadState.PLACED and row.placed_at is not None:
        # What it still waited for may be what leaves.
        slice_started(actor=actor, workload_uid=row.uid, at=row.placed_at)


def _shares_add(row: Workload, parts: list[Allocation], change: ElasticChange, actor: Actor) -> list[UUID]:
    """The slices of the shares that it gains; none where the pool or its tenant's quota has no room for them."""
    placement = Placement(
        change.running_id, row.tenant.schema_name, row.queue.code, change.grants, Placing.SPREAD
    )
    share_requests = _with_free_shares(row, share_requests_of(row, placement, notices_of([row])[row.pk]))
    rooms = devices_room(actor=actor, uids=[share_request.device_uid for share_request in share_requests])
    if len(parts) + len(share_requests) != change.shares or not gang_take(rooms, share_requests):
        return []
    if row.is_direct:
        amounts = shares_quota([*parts, *share_requests])
        use = QuotaUse(row.tenant_id, row.uid, row.organization_id, amounts)
        if quotas_use(actor=actor, wanted=[use]):
            return []
    if models_refused([(row, share_requests)]):
        return []
    first = 1 + max((part.share for part in parts), default=-1)
    slices = slices_desire(actor=actor, rooms=rooms, share_requests=share_requests)
    insert_many(
        [
            Allocation(
                workload=row,
                share=first + number,
                device_id=part.device_id,
                compute_percent=part.compute_percent,
                memory_mib=part.memory_mib,
                is_exclusive=part.is_exclusive,
                slice_uid=part.uid,
            )
            for number, part in enumerate(slices)
        ]
    )
    return [part.uid for part in slices]


def _with_free_shares(row: Workload, share_requests: list[ShareRequest]) -> list[ShareRequest]:
    """With numbers that none of its slices has: shares are counted anew after a loss, the folders of those that run
    keep their names."""
    held = row.allocations.filter(state=AllocationState.ACTIVE).values_list("slice_uid", flat=True)
    taken = slice_share_numbers(held)
    free = (number for number in count() if number not in taken)
    return [
        replace(share_request, share=number)
        for share_request, number in zip(share_requests, free, strict=False)
    ]


def shares_note(row: Workload, shares: int, actor: Actor, *, now: datetime, cause: str) -> None:
    """Write down with how many shares it goes on."""
    before, row.active_shares, row.scaled_at = row.active_shares, shares, now
    row.save(update_fields=["active_shares", "scaled_at", "updated_at"])
    decided(row, DecisionKind.SCALED, actor, cause, shares=shares, before=before)
    workload_changed(row, actor)


# --- moves -------------------------------------------------------------------------------------------------------


@service(recorded=False)
def workload_move(*, actor: Actor, move: Move) -> None:
    """Begin to move a share of a session so that a whole card becomes free (POOL-12.23)."""
    row = _running(move.running_id)
    if row is None:
        return
    held = row.allocations.filter(state=AllocationState.ACTIVE, is_beside=False, share=move.share)
    part = held.filter(device__uid=move.from_device_id).first()
    if part is None:
        return
    slice_move_begin(actor=actor, slice_uid=part.slice_uid, device_uid=move.to.device_id)
    decided(
        row, DecisionKind.MOVED, actor, "consolidation", source=move.from_device_id, target=move.to.device_id
    )
