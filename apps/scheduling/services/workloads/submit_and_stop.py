"""Submit and stop workloads, and follow what their slices report."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.selectors import slice_list
from apps.fleet.services.work_folders import folders_end, folders_keep
from apps.kernel.acts import Actor, act_subject
from apps.kernel.bulk import insert_many
from apps.kernel.errors import Conflict, InvalidInput, NotFound, WeirError
from apps.kernel.events import emit
from apps.kernel.queries import Param, PreparedQuery, pipeline
from apps.kernel.service import service
from apps.scheduling.events import (
    WorkloadChanged,
    WorkloadEnded,
    WorkloadPreempted,
    WorkloadStarted,
)
from apps.scheduling.locks import slices_lock, submissions_lock, workload_lock
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.services.decisions import decided, submitted
from apps.scheduling.services.quota.quotas import quota_release
from apps.scheduling.services.workloads.admission import limit_check
from apps.scheduling.services.workloads.checkpoints import lost_card_seconds
from apps.scheduling.services.workloads.notifications import workload_notify
from apps.scheduling.services.workloads.order_work import order_row
from apps.scheduling.services.workloads.sizes import (
    share_is_spare,
    share_left,
    share_started,
    shares_go_on,
    shares_outliving,
)
from apps.scheduling.services.workloads.stopping import STOPPED, slices_stop, stop_begin
from apps.scheduling.services.workloads.submit import direct_ended
from apps.scheduling.states import FLOW, AfterStop, AllocationState, DecisionKind, WorkloadState
from apps.scheduling.types import Amounts
from apps.tenancy.models import Tenant

_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})
_LATE_AT_ONCE = 500
PINS = frozenset({"vendor", "model", "node", "device"})


_OF_ORDER = PreparedQuery(lambda: Workload.plain.filter(tenant=Param("tenant"), order_uid=Param("order")))


@service()
def workload_submit(
    *,
    actor: Actor,
    tenant: Tenant,
    order_uid: UUID,
    order_no: str,
    name_en: str,
    name_zh: str,
    amounts: Amounts,
    work: Mapping[str, Any],
    run_timeout_s: int | None = None,
    queue: str = "",
    priority: int = 0,
    labels: Mapping[str, str] | None = None,
    pins: Mapping[str, str] | None = None,
    user_id: int | None = None,
) -> Workload:
    """Put work in a queue; asking again for the same order gives the same workload.

    `pins` may name vendor, model, node or device (uids).
    `user_id` is who applied for it, whose limits it counts against. Without a `queue` it goes to the default one
    (PLAT-CLU-50). Raises what `order_row` raises, and QuotaExceeded.
    """
    submissions_lock(tenant)
    if found := _OF_ORDER.first(tenant=tenant.pk, order=order_uid):
        return found
    if set(pins or {}) - PINS:
        raise InvalidInput(fields={"pins": _("one of %(pins)s") % {"pins": ", ".join(sorted(PINS))}})
    row = order_row(
        tenant=tenant,
        user_id=user_id,
        amounts=amounts,
        work=work,
        run_timeout_s=run_timeout_s,
        queue=queue,
        order_uid=order_uid,
        no=f"W-{order_no}",
        name_en=name_en,
        name_zh=name_zh,
        priority=priority,
        labels=dict(labels or {}),
        pins=dict(pins or {}),
    )
    limit_check(row)
    act_subject("workload", row.uid, order=order_no)
    with pipeline():
        insert_many([row])
        decided(row, DecisionKind.SUBMITTED, actor)
        emit(submitted(row), actor=actor)
    return row


@service()
def workload_stop(*, actor: Actor, tenant: Tenant, workload_uid: UUID, reason: str) -> Workload:
    """Stop it: at once while it waits, else its slices stop and the end follows. Stopping twice changes nothing."""
    slices_lock(workload_uid)
    row = workload_lock(workload_uid)
    if row is None or row.tenant_id != tenant.pk:
        raise NotFound()
    act_subject("workload", row.uid, reason=reason)
    if row.state in (WorkloadState.PENDING, WorkloadState.SUSPENDED):
        _end(row, actor, timezone.now(), WorkloadState.FINISHED, "stopped", reason)
    elif row.state in (WorkloadState.PLACED, WorkloadState.RUNNING):
        stop_begin(row, actor, AfterStop.STOP, "stopped", reason)
        slices_stop(row, actor, reason)
        workload_changed(row, actor)
        # A slice that no node was told of ends at once, and with the last of them the workload.
        row.refresh_from_db()
    return row


@service(recorded=False)
def deadlines_keep(*, actor: Actor) -> int:
    """Stop what runs past its deadline: it was to have ended by then. How many were stopped."""
    late = Workload.plain.filter(state__in=_RUNS, deadline_at__lte=timezone.now()).order_by("pk")
    stopped = 0
    for uid in late.values_list("uid", flat=True)[:_LATE_AT_ONCE]:
        slices_lock(uid)
        row = workload_lock(uid)
        if row is not None and row.state in _RUNS:
            stop_begin(row, actor, AfterStop.STOP, "deadline")
            slices_stop(row, actor, "", reason_code="deadline")
            workload_changed(row, actor)
            stopped += 1
    return stopped


@service(P.OPERATE)
def workload_halt(*, actor: Actor, tenant: Tenant, workload_uid: UUID, reason: str) -> Workload:
    """Stop work as somebody who operates resources. What an order stands behind ends by its order, unless an
    operator stops it."""
    row = Workload.plain.filter(uid=workload_uid, tenant=tenant).first()
    if row is not None and not row.is_direct and actor.kind != "operator":
        raise Conflict(
            _("%(no)s belongs to an order.") % {"no": row.no}, cure=_("Terminate the order instead.")
        )
    return workload_stop(actor=actor, tenant=tenant, workload_uid=workload_uid, reason=reason)


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
        _suspended(row, actor)
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


def _suspended(row: Workload, actor: Actor) -> None:
    """Put aside: it holds nothing until it is resumed, and keeps its place (ELA-503)."""
    FLOW.move(
        row,
        WorkloadState.SUSPENDED,
        actor=actor,
        placed_at=None,
        active_shares=None,
        position=None,
        **STOPPED,
    )
    if row.is_direct:
        quota_release(actor=actor, tenant=row.tenant, holder_uid=row.uid)
    folders_keep(actor=actor, workload_uid=row.uid)
    decided(row, DecisionKind.SUSPENDED, actor, "", text=row.reason.get("text", ""))
    workload_changed(row, actor)


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
    _end(row, actor, _last_end(row, at), final, reason_code, reason)


def _requeue(row: Workload, actor: Actor, code: str = "lost", **changes: Any) -> None:
    """It waits again in its old place, with its quota, its charge and its first start (ELA-811)."""
    FLOW.move(
        row,
        WorkloadState.PENDING,
        actor=actor,
        attempt=row.attempt + 1,
        placed_at=None,
        active_shares=None,
        reason_code="",
        reason={},
        position=None,
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


def workload_refuse(row: Workload, actor: Actor, error: WeirError) -> None:
    """End work that no node could run; its owner reads why."""
    _end(row, actor, timezone.now(), WorkloadState.FAILED, error.code, str(error.message))


def _end(row: Workload, actor: Actor, at: datetime, final: str, reason_code: str, reason: str) -> None:
    FLOW.move(
        row, final, actor=actor, ended_at=at, reason_code=reason_code, reason={"text": reason}, position=None,
        **STOPPED,
    )  # fmt: skip
    folders_end(actor=actor, workload_uid=row.uid)
    decided(row, DecisionKind.ENDED, actor, reason_code, state=str(final), text=reason[:500])
    if row.is_direct:
        direct_ended(row, actor)
        workload_notify(row, actor)
    event = WorkloadEnded(
        schema=row.tenant.schema_name,
        workload_uid=row.uid,
        order_uid=row.order_uid,
        at=at,
        started=row.started_at is not None,
        failed=final != WorkloadState.FINISHED,
        reason_code=reason_code,
        reason=reason,
    )
    emit(event, actor=actor)
    workload_changed(row, actor)


def workload_changed(row: Workload, actor: Actor) -> None:
    """Pages that show it look again."""
    emit(WorkloadChanged(schema=row.tenant.schema_name, workload_uid=row.uid), actor=actor)
