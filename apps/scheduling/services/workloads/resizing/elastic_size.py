"""Elastic work learns its size and confirms it; what it holds follows that (ELA-906).

A change is told in a step of its own. Of a shrink all shares are told at once; the shares that leave are stopped when
those that listen have confirmed, or when the notice is over. Of a growth the new shares are told as they start, the
others when all of these run. A share listens when it has ever confirmed a size: one that never did is not waited for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from apps.fleet.models import GangSize, Slice
from apps.fleet.services.slices.gangs import (
    Places,
    gang_sizes_forget,
    gang_sizes_tell,
    meeting_places,
)
from apps.fleet.services.slices.slice_allocation import ShareRequest
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.fleet.states import Desired, SliceState
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.events import WorkloadChanged, WorkloadSized
from apps.scheduling.locks import slices_lock, workload_lock
from apps.scheduling.models import Allocation, Workload, WorkloadSize
from apps.scheduling.selectors.workloads import policy_get
from apps.scheduling.services.decisions import decided
from apps.scheduling.services.quota.quotas import quota_keep
from apps.scheduling.states import (
    FINAL_STATES,
    AllocationState,
    DecisionKind,
    QuotaItem,
    WorkKind,
    WorkloadState,
)

_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})
_BATCH = 5000


@dataclass(slots=True)
class _Gang:
    """The shares of running elastic work as they stand, locked. `leaving` ones are held until they have ended."""

    row: Workload
    size: WorkloadSize
    parts: list[Allocation]
    slices: dict[UUID, Slice]
    places: Places

    @classmethod
    def of(cls, row: Workload) -> "_Gang":
        parts = list(row.allocations.filter(state=AllocationState.ACTIVE).order_by("is_beside", "share"))
        staying = sum(not part.is_beside for part in parts)
        size, _is_new = WorkloadSize.objects.get_or_create(
            workload=row, defaults={"shares": staying, "confirmed": staying, "step": 0}
        )
        told = GangSize.objects.filter(workload_uid=row.uid).values_list("places", flat=True).first()
        slices = Slice.plain.filter(uid__in=[part.slice_uid for part in parts])
        return cls(row, size, parts, {each.uid: each for each in slices}, told or {})

    def staying(self) -> list[Slice]:
        return [self.slices[part.slice_uid] for part in self.parts if not part.is_beside]

    def leaving(self) -> list[Slice]:
        return [self.slices[part.slice_uid] for part in self.parts if part.is_beside]

    def runs(self) -> bool:
        """Whether every share that stays has started."""
        return all(each.started_at is not None for each in self.staying())

    def untold(self) -> bool:
        """Whether somebody has not been told of the newest step."""
        return any(
            self.places.get(str(uid), {}).get("step", 0) < self.size.step
            for uid, each in self.slices.items()
            if each.desired == Desired.RUNNING
        )

    def waited_for(self) -> bool:
        """Whether a share that listens has not confirmed the newest step."""
        return any(
            0 < each.size_step < self.size.step
            for each in self.slices.values()
            if each.desired == Desired.RUNNING and not each.is_final
        )

    def tell(self, actor: Actor, uids: Sequence[UUID] | None = None) -> None:
        """Give these slices, or all, their place at the newest step."""
        [meeting] = meeting_places([self.staying() or self.leaving()])
        now = {
            str(part.slice_uid): meeting
            | _place(
                self.row,
                part.share if not part.is_beside else max(part.share, self.size.shares),
                self.size.shares,
                self.size.step,
            )
            for part in self.parts
            if uids is None or part.slice_uid in uids
        }
        known = {str(part.slice_uid) for part in self.parts}
        self.places = {uid: place for uid, place in self.places.items() if uid in known} | now
        gang_sizes_tell(actor=actor, places={self.row.uid: self.places})


# --- what is told ------------------------------------------------------------------------------------------------


def _place(row: Workload, share: int, shares: int, step: int) -> dict[str, int]:
    """What a share is told of its number (see `DesiredSize`)."""
    return {"share": share, "shares": shares, "step": step, "shares_per_replica": row.shares_per_replica}


def sizes_begin(placed: Sequence[tuple[Workload, Sequence[Slice]]], actor: Actor) -> None:
    """A gang or elastic work was placed: its shares are told their places as they start. What has one share alone is
    told nothing."""
    placed = [(row, slices) for row, slices in placed if _has_places(row)]
    if not placed:
        return
    known = WorkloadSize.objects.filter(workload__in=[row for row, _slices in placed])
    steps = dict(known.values_list("workload_id", "step"))
    sizes = {
        row.uid: WorkloadSize(
            workload=row, shares=len(slices), confirmed=len(slices), step=steps.get(row.pk, 0) + 1
        )
        for row, slices in placed
    }
    WorkloadSize.objects.bulk_create(
        sizes.values(),
        update_conflicts=True,
        unique_fields=["workload"],
        update_fields=["shares", "confirmed", "step", "is_open", "due_at"],
    )
    meetings = meeting_places([slices for _row, slices in placed])
    gang_sizes_tell(
        actor=actor,
        places={
            row.uid: {
                str(each.uid): meeting | _place(row, share, len(slices), sizes[row.uid].step)
                for share, each in enumerate(slices)
            }
            for (row, slices), meeting in zip(placed, meetings, strict=True)
        },
    )


def size_change(row: Workload, actor: Actor, *, new: Sequence[UUID] = ()) -> None:
    """Tell running elastic work of the number of shares that stay; the others leave when it has confirmed, or at the
    end of its notice. `new`: slices that are about to start, which the others hear of when they run.

    Of a session it is the client who is told, when its connection ends: its shares leave at once."""
    if not _follows(row):
        for part in row.allocations.filter(state=AllocationState.ACTIVE, is_beside=True):
            slice_stop(actor=actor, slice_uid=part.slice_uid, reason="", reason_code="scaled")
        return
    gang = _Gang.of(row)
    size = gang.size
    size.shares, size.step = len(gang.staying()), size.step + 1
    size.is_open, size.due_at = True, None
    if new:
        gang.tell(actor, new)
    else:
        _tell_all(gang, actor, timezone.now())
    size.save()
    _settle(gang, actor, timezone.now())


def _tell_all(gang: _Gang, actor: Actor, now: datetime) -> None:
    gang.size.due_at = now + timedelta(seconds=policy_get().grace_s)
    gang.tell(actor)


# --- what comes back ---------------------------------------------------------------------------------------------


@service(recorded=False)
def size_settle(*, actor: Actor, workload_uid: UUID) -> None:
    """Go on with an open change of size as far as its shares have started, confirmed and ended. Any number may call
    this at any time."""
    slices_lock(workload_uid)
    row = workload_lock(workload_uid)
    if row is None or not WorkloadSize.objects.filter(workload=row, is_open=True).exists():
        return
    if row.state in _RUNS:
        _settle(_Gang.of(row), actor, timezone.now())
    else:
        WorkloadSize.objects.filter(workload=row).update(is_open=False, due_at=None)


def _settle(gang: _Gang, actor: Actor, now: datetime) -> None:
    size = gang.size
    if gang.untold() and gang.runs():
        _tell_all(gang, actor, now)
        size.save(update_fields=["due_at"])
    is_overdue = size.due_at is not None and now >= size.due_at
    if gang.waited_for() and not is_overdue:
        return
    for each in gang.leaving():
        slice_stop(actor=actor, slice_uid=each.uid, reason="", reason_code="scaled")
    still_leaving = gang.row.allocations.filter(state=AllocationState.ACTIVE, is_beside=True).exists()
    if gang.untold() or not gang.runs() or still_leaving:
        return
    before, size.confirmed = size.confirmed, size.shares
    size.is_open, size.due_at = False, None
    size.save()
    # By its own word, by its silence at the end of the notice, or as far as its nodes can tell.
    heard = any(each.size_step >= size.step for each in gang.staying())
    code = "overdue" if gang.waited_for() else "confirmed" if heard else "delivered"
    decided(gang.row, DecisionKind.SCALED, actor, code, shares=size.shares, before=before)
    emit(WorkloadChanged(schema=gang.row.tenant.schema_name, workload_uid=gang.row.uid), actor=actor)


@service(recorded=False)
def sizes_prune(*, actor: Actor) -> int:
    """Forget what the shares of ended work were told; how many works that were."""
    sized = Q(min_shares__isnull=False) | Q(shares__gt=1)
    ended = Workload.objects.across().filter(sized, state__in=FINAL_STATES)
    told = list(
        GangSize.objects.filter(workload_uid__in=ended.values("uid")).values_list("pk", flat=True)[:_BATCH]
    )
    return gang_sizes_forget(actor=actor, pks=told)


def share_started(row: Workload, actor: Actor) -> None:
    """A share of running elastic work runs: the change that it is of goes on."""
    if _follows(row):
        emit(WorkloadSized(workload_uid=row.uid), actor=actor)


def share_is_spare(row: Workload, part: Allocation | None, reason_code: str) -> bool:
    """Whether elastic work goes on without this share, which has ended: it was leaving, or never came to run as the
    work grew."""
    if part is None or not _follows(row):
        return part is not None and row.min_shares is not None and reason_code == "scaled"
    size = WorkloadSize.objects.filter(workload=row).first()
    is_growth = row.state == WorkloadState.RUNNING and size is not None and size.is_open
    if part.is_beside or not is_growth or part.share < size.confirmed:
        return part.is_beside
    return not Slice.plain.filter(uid=part.slice_uid, started_at__isnull=False).exists()


def shares_outliving(row: Workload, lost: Allocation | None) -> list[Allocation]:
    """With which shares work goes on that loses this one with its node; none: it is lost with it.

    Work that listens goes on with the whole replicas that run, if those are its least number or more. Work that does
    not would wait for the lost share for ever.
    """
    size = WorkloadSize.objects.filter(workload=row).first()
    if (
        lost is None
        or lost.is_beside
        or size is None
        or row.state != WorkloadState.RUNNING
        or not _follows(row)
    ):
        return []
    staying = list(row.allocations.filter(state=AllocationState.ACTIVE, is_beside=False).order_by("share"))
    slices = Slice.plain.in_bulk([part.slice_uid for part in staying], field_name="uid")
    # A node takes several with it, of those that are told of later it is known already; and what has not started yet
    # may never do so.
    gone = {
        part.share
        for part in staying
        if part.pk == lost.pk
        or slices[part.slice_uid].state == SliceState.LOST
        or slices[part.slice_uid].started_at is None
    }
    broken = {share // row.shares_per_replica for share in gone}
    kept = [part for part in staying if part.share // row.shares_per_replica not in broken]
    # Those it has grown by may not have had the time to say so.
    steps = [slices[part.slice_uid].size_step for part in kept if part.share < size.confirmed]
    return kept if steps and all(steps) and len(kept) >= (row.min_shares or 0) else []


def shares_go_on(row: Workload, kept: Sequence[Allocation], actor: Actor) -> None:
    """Running elastic work has lost shares and goes on with these: they are counted anew, without a gap, and told so.
    What is left of a replica that lost one, or has not started, leaves."""
    size = WorkloadSize.objects.get(workload=row)
    size.confirmed = sum(part.share < size.confirmed for part in kept)
    size.save(update_fields=["confirmed"])
    held = list(row.allocations.filter(state=AllocationState.ACTIVE).order_by("is_beside", "share", "pk"))
    pks = {part.pk for part in kept}
    leaving = [part for part in held if part.pk not in pks]
    for part in leaving:
        part.is_beside = True
    # Those that leave come last: equal numbers would be a session's move.
    for share, part in enumerate([*kept, *leaving]):
        part.share = share
    Allocation.objects.bulk_update([*kept, *leaving], ["share", "is_beside"])
    if row.is_direct:
        quota_keep(actor=actor, tenant=row.tenant, holder_uid=row.uid, amounts=shares_quota(held))
    before, row.active_shares = row.active_shares, len(kept)
    row.save(update_fields=["active_shares", "updated_at"])
    decided(row, DecisionKind.SCALED, actor, "lost", shares=len(kept), before=before)
    size_change(row, actor)


def share_left(row: Workload, actor: Actor) -> None:
    """A share has ended and elastic work goes on: what it held is free, of the tenant's quota too."""
    held = [
        part
        for part in row.allocations.filter(state=AllocationState.ACTIVE)
        # Beside a session's share is where it moves to: that is not held of the quota.
        if not part.is_beside or _follows(row)
    ]
    staying = sorted((part for part in held if not part.is_beside), key=lambda part: part.share)
    if row.is_direct:
        quota_keep(actor=actor, tenant=row.tenant, holder_uid=row.uid, amounts=shares_quota(held))
    if row.active_shares is not None and len(staying) < row.active_shares:
        whole = _whole(row, staying)
        row.allocations.filter(pk__in=[part.pk for part in staying[whole:]]).update(is_beside=True)
        before, row.active_shares = row.active_shares, whole
        row.save(update_fields=["active_shares", "updated_at"])
        decided(row, DecisionKind.SCALED, actor, "failed", shares=whole, before=before)
        size_change(row, actor)
    emit(WorkloadSized(workload_uid=row.uid), actor=actor)


def _whole(row: Workload, staying: Sequence[Allocation]) -> int:
    """With how many of these shares work goes on whose growth lost one: those before it, in whole replicas. What grew
    behind it leaves too, so that shares stay counted without a gap."""
    confirmed = WorkloadSize.objects.values_list("confirmed", flat=True).get(workload=row)
    kept = confirmed
    while kept < len(staying) and staying[kept].share == staying[kept - 1].share + 1:
        kept += 1
    return kept - (kept - confirmed) % row.shares_per_replica


def _follows(row: Workload) -> bool:
    """Whether it is work whose size can change while it runs: an elastic program."""
    return row.min_shares is not None and row.kind == WorkKind.PROGRAM


def _has_places(row: Workload) -> bool:
    """Whether its shares are told which they are of how many."""
    return row.kind == WorkKind.PROGRAM and (row.min_shares is not None or row.shares > 1)


def shares_quota(parts: Sequence[Allocation | ShareRequest]) -> dict[str, int]:
    """What these shares, held or wanted, take of a tenant's quota."""
    return {
        QuotaItem.INSTANCES.value: len(parts),
        QuotaItem.COMPUTE_PERCENT.value: sum(part.compute_percent for part in parts),
        QuotaItem.GPU_MEMORY_MIB.value: sum(part.memory_mib for part in parts),
    }
