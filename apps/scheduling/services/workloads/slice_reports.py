"""What follows for work when its slices start and end: it runs, it ends, or it waits again."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.fleet.selectors import slice_list
from apps.fleet.services.work_folders import folders_keep
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.events import WorkloadPreempted, WorkloadStarted
from apps.scheduling.locks import workload_lock
from apps.scheduling.models import Workload
from apps.scheduling.services.decisions import decided, submitted
from apps.scheduling.services.workloads.checkpoints import lost_card_seconds
from apps.scheduling.services.workloads.ending import (
    STOPPED,
    awaited_tell,
    workload_changed,
    workload_end,
    workload_left_s,
    workload_put_aside,
)
from apps.scheduling.services.workloads.funds import funds_asked_again
from apps.scheduling.services.workloads.resizing.elastic_size import (
    share_is_spare,
    share_left,
    share_started,
    shares_go_on,
    shares_outliving,
)
from apps.scheduling.services.workloads.stopping import slices_stop, stop_begin
from apps.scheduling.states import FLOW, AfterStop, AllocationState, DecisionKind, WorkloadState


@service(recorded=False)
def slice_started(*, actor: Actor, workload_uid: UUID, at: datetime) -> None:
    """A slice of the workload runs; with the last of them the workload runs. It keeps its first start."""
    row = workload_lock(workload_uid)
    if row is not None and row.state == WorkloadState.RUNNING:
        share_started(row, actor)
    if row is None or row.state != WorkloadState.PLACED:
        return
    held = row.allocations.filter(state=AllocationState.ACTIVE, is_beside=False).values("slice_uid")
    slices = slice_list(workload_uids=[workload_uid]).filter(uid__in=held)
    starts = list(slices.values_list("started_at", flat=True))
    if len(starts) < (row.active_shares or row.shares) or None in starts:
        return
    # Its start may be told after that of a slice which began later: the last of them counts.
    at = row.started_at or max([at, *starts])
    FLOW.move(
        row, WorkloadState.RUNNING, actor=actor, started_at=at, reason_code="", reason={}, position=None
    )
    decided(row, DecisionKind.STARTED, actor, attempt=row.attempt)
    emit(WorkloadStarted(row.tenant.schema_name, row.uid, row.order_uid, at), actor=actor)
    awaited_tell(row, actor)
    workload_changed(row, actor)


@service(recorded=False)
def slice_ended(
    *,
    actor: Actor,
    workload_uid: UUID,
    slice_uid: str,
    at: datetime,
    failed: bool,
    reason_code: str,
    reason: str,
    goes_on: bool = False,
    requeue: bool = False,
) -> None:
    """A slice has ended. A workload is a gang: the others are stopped, and with the last one it has ended; elastic work
    that listens goes on without what it lost with a node (ELA-901).

    `goes_on`: the share lives on in another slice (POOL-12.23). `requeue`: it was lost and is to be tried again.
    """
    row = workload_lock(workload_uid)
    if row is None or row.is_final:
        return
    known = row.allocations.filter(slice_uid=slice_uid)
    ended = known.filter(state=AllocationState.ACTIVE)
    part = ended.first()
    is_spare = share_is_spare(row, part, reason_code)
    outliving = shares_outliving(row, part) if reason_code == "lost" and not goes_on else []
    if not ended.update(state=AllocationState.RELEASED, released_at=timezone.now()) and known.exists():
        # Told before: whatever became of the work since then is no end of this slice's.
        return
    left = row.allocations.filter(state=AllocationState.ACTIVE)
    if outliving:
        shares_go_on(row, outliving, actor)
        workload_changed(row, actor)
        return
    goes_on = goes_on or is_spare
    if goes_on and row.state != WorkloadState.STOPPING and left.filter(is_beside=False).exists():
        if is_spare:
            share_left(row, actor)
        return
    if left.exists():
        if row.state != WorkloadState.STOPPING:
            after = AfterStop.FAIL if failed else AfterStop.FINISH
            stop_begin(row, actor, AfterStop.REQUEUE if requeue else after, reason_code, reason)
        slices_stop(row, actor, reason)
        return
    if not _after_stop(
        row, actor, at, requeue=requeue, has_completed=reason_code == "completed" and not failed
    ):
        _over(row, actor, at, failed, reason_code, reason)


def _over(row: Workload, actor: Actor, at: datetime, failed: bool, reason_code: str, reason: str) -> None:
    """Its last slice has ended by itself: it is tried again, or has ended."""
    # Of a gang the first that failed says why: the others are only stopped with it.
    cause = row.reason_code if row.after_stop == AfterStop.FAIL else reason_code if failed else ""
    # Who asked for its end does not want it tried again, whatever became of its last slice.
    if row.after_stop != AfterStop.STOP and cause in _TRIED_AGAIN and row.attempt < _attempts(row, cause):
        _retry(row, actor, cause)
        return
    _end_by(row, actor, at, failed, reason_code, reason)


# Failures of the work itself; what its owner or its limits ended is not tried again (ELA-509).
_TRIED_AGAIN = frozenset({"crashed", "memory_exceeded", "disk_exceeded", "refused", "lost"})
_BACK_OFF_MOST_S = 6 * 3600
# So often a start that its node refused is tried, whatever the work itself may be tried.
_STARTS = 3


def _attempts(row: Workload, cause: str) -> int:
    """How often it may be tried: what never ran because its node could not take it goes back to its queue (ELA-706)."""
    return (
        max(row.max_attempts, _STARTS) if cause == "refused" and row.started_at is None else row.max_attempts
    )


def _after_stop(row: Workload, actor: Actor, at: datetime, *, requeue: bool, has_completed: bool) -> bool:
    """Whether it does not end with its last slice, but waits again or is put aside."""
    if row.state != WorkloadState.STOPPING:
        if requeue:
            _requeue(row, actor)
        return requeue
    after = row.after_stop
    if has_completed and after in (AfterStop.PREEMPT, AfterStop.SUSPEND):
        # It was done before the notice reached it.
        row.after_stop, row.reason_code, row.reason = AfterStop.FINISH, "completed", {"text": ""}
        return False
    if after == AfterStop.SUSPEND:
        workload_put_aside(row, actor, row.reason_code, row.reason.get("text", ""))
        return True
    if after == AfterStop.PREEMPT:
        _preempted(row, actor, at)
        return True
    if after == AfterStop.REQUEUE:
        # Its owner asked for it, or one of its nodes was lost and the rest was stopped with that.
        _requeue(row, actor, "owner" if row.reason_code == "requeued" else "lost")
        return True
    return False


def _retry(row: Workload, actor: Actor, code: str) -> None:
    """It failed and may be tried again: it waits, longer after each failure (ELA-509)."""
    delay_s = min(row.retry_delay_s * 2 ** (row.attempt - 1), _BACK_OFF_MOST_S)
    _requeue(row, actor, code, not_before_at=timezone.now() + timedelta(seconds=delay_s))


def _preempted(row: Workload, actor: Actor, at: datetime) -> None:
    """It made room for other work: it waits again in its old place, and what it lost is made good (ELA-811)."""
    lost = lost_card_seconds(row)
    decided(
        row, DecisionKind.PREEMPTED, actor, row.preemption_cause,
        beneficiary=str(row.preempted_by), lost_card_seconds=lost,
    )  # fmt: skip
    event = WorkloadPreempted(
        schema=row.tenant.schema_name,
        workload_uid=row.uid,
        user_id=row.submitted_by_id,
        at=at,
        card_seconds=lost,
        times=row.preemptions + 1,
    )
    emit(event, actor=actor)
    _requeue(row, actor, "preempted", preemptions=row.preemptions + 1)


_OWN_ENDS = frozenset({"lost", "idle_timeout", "run_timeout"})


def _end_by(row: Workload, actor: Actor, at: datetime, failed: bool, reason_code: str, reason: str) -> None:
    was_asked = row.after_stop == AfterStop.STOP
    if row.state == WorkloadState.STOPPING and not (was_asked and reason_code in _OWN_ENDS):
        # The first cause counts, not the stopping of the rest that followed from it; and a stop that came when the
        # work had ended already was no cause.
        failed = row.after_stop == AfterStop.FAIL
        reason_code, reason = row.reason_code or reason_code, row.reason.get("text", reason)
    final = WorkloadState.FAILED if failed else WorkloadState.FINISHED
    if reason_code == "lost":
        final = WorkloadState.LOST
    workload_end(row, actor, _last_end(row, at), final, reason_code, reason)


def _requeue(row: Workload, actor: Actor, code: str = "lost", **changes: Any) -> None:
    """It waits again in its old place, with its quota, its charge and its first start (ELA-811); where its money does
    not reach for another start, that is asked for before it is placed (ELA-1911)."""
    FLOW.move(
        row,
        WorkloadState.PENDING,
        actor=actor,
        attempt=row.attempt + 1,
        run_timeout_s=workload_left_s(row),
        placed_at=None,
        active_shares=None,
        reason_code="",
        reason={},
        position=None,
        waits_for_funds=funds_asked_again(row, actor),
        **STOPPED,
        **changes,
    )
    folders_keep(actor=actor, workload_uid=row.uid)
    decided(row, DecisionKind.REQUEUED, actor, code, attempt=row.attempt)
    emit(submitted(row), actor=actor)
    workload_changed(row, actor)


def _last_end(row: Workload, at: datetime) -> datetime:
    """The slice that is told of last need not have ended last: what the others ran until then is charged too."""
    ends = slice_list(workload_uids=[row.uid]).exclude(ended_at=None).values_list("ended_at", flat=True)
    return max([at, *ends])
