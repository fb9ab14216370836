"""Submit and stop workloads, and follow what their slices report."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.selectors import slice_list
from apps.fleet.services.slices import slice_stop
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound, WeirError
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.engine.types import QueueState
from apps.scheduling.events import WorkloadChanged, WorkloadEnded, WorkloadStarted, WorkloadSubmitted
from apps.scheduling.locks import slices_lock, workload_lock
from apps.scheduling.models import Queue, Workload
from apps.scheduling.services.queues import DEFAULT_QUEUE
from apps.scheduling.states import FLOW, AllocationState, WorkloadState
from apps.tenancy.models import Tenant

MAX_SHARES = 512
PINS = frozenset({"vendor", "model", "node", "device"})


@service()
def workload_submit(
    *,
    actor: Actor,
    tenant: Tenant,
    order_uid: UUID,
    order_no: str,
    name_en: str,
    name_zh: str,
    shares: int,
    compute_percent: int,
    memory_mib: int,
    work: Mapping[str, Any],
    run_timeout_s: int | None = None,
    queue: str = DEFAULT_QUEUE,
    priority: int = 0,
    labels: Mapping[str, str] | None = None,
    pins: Mapping[str, str] | None = None,
) -> Workload:
    """Put work in a queue; asking again for the same order gives the same workload.

    Amounts are per share: whole percent of one device and MiB of its memory. `pins` may name vendor, model,
    node or device (uids).
    """
    found = Workload.plain.filter(tenant=tenant, order_uid=order_uid).first()
    if found:
        return found
    _amounts_check(shares, compute_percent, memory_mib, pins or {})
    row = Workload.plain.create(
        tenant=tenant,
        order_uid=order_uid,
        no=f"W-{order_no}",
        name_en=name_en,
        name_zh=name_zh,
        queue=_open_queue(queue),
        priority=priority,
        shares=shares,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
        work=dict(work),
        run_timeout_s=run_timeout_s,
        labels=dict(labels or {}),
        pins=dict(pins or {}),
    )
    act_subject("workload", row.uid, order=order_no)
    emit(WorkloadSubmitted(schema=tenant.schema_name, workload_uid=row.uid), actor=actor)
    return row


def _amounts_check(shares: int, compute_percent: int, memory_mib: int, pins: Mapping[str, str]) -> None:
    wrong = {}
    if not 1 <= shares <= MAX_SHARES:
        wrong["shares"] = _("1 to %(most)s") % {"most": MAX_SHARES}
    if not 1 <= compute_percent <= 100:
        wrong["compute_percent"] = _("1 to 100")
    if not 1 <= memory_mib < 2**31:
        wrong["memory_mib"] = _("at least 1")
    if set(pins) - PINS:
        wrong["pins"] = _("one of %(pins)s") % {"pins": ", ".join(sorted(PINS))}
    if wrong:
        raise InvalidInput(fields=wrong)


def _open_queue(code: str) -> Queue:
    queue = Queue.objects.filter(code=code).first()
    if queue is None:
        raise InvalidInput(_("There is no queue %(code)s.") % {"code": code}, fields={"queue": code})
    if queue.state not in (QueueState.UP, QueueState.DOWN):
        raise Conflict(
            _("Queue %(code)s is %(state)s and takes no work.") % {"code": code, "state": queue.state},
            cure=_("Choose another queue or wait until it is UP."),
        )
    return queue


@service()
def workload_stop(*, actor: Actor, tenant: Tenant, workload_uid: UUID, reason: str) -> Workload:
    """Stop it: at once while it waits, else its slices stop and the end follows. Stopping twice changes nothing."""
    slices_lock(workload_uid)
    row = workload_lock(workload_uid)
    if row is None or row.tenant_id != tenant.pk:
        raise NotFound()
    act_subject("workload", row.uid, reason=reason)
    if row.state == WorkloadState.PENDING:
        _end(row, actor, timezone.now(), WorkloadState.FINISHED, "stopped", reason)
    elif row.state in (WorkloadState.PLACED, WorkloadState.RUNNING):
        FLOW.move(row, WorkloadState.STOPPING, actor=actor, reason_code="stopped", reason={"text": reason})
        _slices_stop(row, actor, reason)
        _changed(row, actor)
        # A slice that no node was told of ends at once, and with the last of them the workload.
        row.refresh_from_db()
    return row


def _slices_stop(row: Workload, actor: Actor, reason: str) -> None:
    for allocation in row.allocations.filter(state=AllocationState.ACTIVE):
        slice_stop(actor=actor, slice_uid=allocation.slice_uid, reason=reason)


@service(recorded=False)
def slice_started(*, actor: Actor, workload_uid: UUID, at: datetime) -> None:
    """A slice of the workload runs; with the last of them the workload runs."""
    row = workload_lock(workload_uid)
    if row is None or row.state != WorkloadState.PLACED:
        return
    starts = list(slice_list(workload_uids=[workload_uid]).values_list("started_at", flat=True))
    if len(starts) < row.shares or None in starts:
        return
    # Its start may be told after that of a slice which began later: the last of them counts.
    at = max([at, *starts])
    FLOW.move(
        row, WorkloadState.RUNNING, actor=actor, started_at=at, reason_code="", reason={}, position=None
    )
    event = WorkloadStarted(row.tenant.schema_name, row.uid, row.order_uid, at)
    emit(event, actor=actor)
    _changed(row, actor)


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
) -> None:
    """A slice has ended. A workload is a gang: the others are stopped, and with the last one it has ended."""
    row = workload_lock(workload_uid)
    if row is None or row.is_final:
        return
    row.allocations.filter(slice_uid=slice_uid, state=AllocationState.ACTIVE).update(
        state=AllocationState.RELEASED, released_at=timezone.now()
    )
    if row.allocations.filter(state=AllocationState.ACTIVE).exists():
        if row.state != WorkloadState.STOPPING:
            text = {"text": reason, "failed": failed}
            FLOW.move(row, WorkloadState.STOPPING, actor=actor, reason_code=reason_code, reason=text)
        _slices_stop(row, actor, reason)
        return
    was_asked = "failed" not in row.reason
    if row.state == WorkloadState.STOPPING and not (was_asked and reason_code == "lost"):
        # The first cause counts, not the stopping of the rest that followed from it.
        failed = bool(row.reason.get("failed"))
        reason_code, reason = row.reason_code or reason_code, row.reason.get("text", reason)
    final = (
        WorkloadState.LOST
        if reason_code == "lost"
        else WorkloadState.FAILED
        if failed
        else WorkloadState.FINISHED
    )
    _end(row, actor, _last_end(row, at), final, reason_code, reason)


def _last_end(row: Workload, at: datetime) -> datetime:
    """The slice that is told of last need not have ended last: what the others ran until then is charged too."""
    ends = slice_list(workload_uids=[row.uid]).exclude(ended_at=None).values_list("ended_at", flat=True)
    return max([at, *ends])


def workload_refuse(row: Workload, actor: Actor, error: WeirError) -> None:
    """End work that no node could run; its owner reads why."""
    _end(row, actor, timezone.now(), WorkloadState.FAILED, error.code, str(error.message))


def _end(row: Workload, actor: Actor, at: datetime, final: str, reason_code: str, reason: str) -> None:
    FLOW.move(
        row, final, actor=actor, ended_at=at, reason_code=reason_code, reason={"text": reason}, position=None
    )
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
    _changed(row, actor)


def _changed(row: Workload, actor: Actor) -> None:
    emit(WorkloadChanged(schema=row.tenant.schema_name, workload_uid=row.uid), actor=actor)
