"""Stopping work: it says at once what it will become, and its slices get their notice."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict
from apps.kernel.service import service
from apps.scheduling.locks import slices_lock, work_take, workload_lock
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.permissions import work_reached
from apps.scheduling.services.workloads.ending import workload_changed, workload_end
from apps.scheduling.states import FLOW, AfterStop, AllocationState, WorkloadState
from apps.tenancy.models import Tenant

_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})
_LATE_AT_ONCE = 500


@service()
def workload_stop(
    *, actor: Actor, tenant: Tenant, workload_uid: UUID, reason: str, reason_code: str = "stopped"
) -> Workload:
    """Stop it: at once while it waits, else its slices stop and the end follows. Stopping twice changes nothing."""
    row = work_take(actor, tenant, workload_uid)
    act_subject("workload", row.uid, reason=reason)
    if row.state in (WorkloadState.PENDING, WorkloadState.SUSPENDED):
        workload_end(row, actor, timezone.now(), WorkloadState.FINISHED, reason_code, reason)
    elif row.state in (WorkloadState.PLACED, WorkloadState.RUNNING):
        stop_begin(row, actor, AfterStop.STOP, reason_code, reason)
        slices_stop(row, actor, reason, reason_code=reason_code)
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
    row = Workload.plain.filter(work_reached(actor), uid=workload_uid, tenant=tenant).first()
    if row is not None and not row.is_direct and actor.kind != "operator":
        raise Conflict(
            _("%(no)s belongs to an order.") % {"no": row.no}, cure=_("Terminate the order instead.")
        )
    return workload_stop(actor=actor, tenant=tenant, workload_uid=workload_uid, reason=reason)


def stop_begin(
    row: Workload, actor: Actor, after: AfterStop, reason_code: str, reason: str = "", **changes: Any
) -> None:
    """From now on it stops; `after`: what it becomes when its last slice has ended."""
    FLOW.move(
        row, WorkloadState.STOPPING, actor=actor, after_stop=after, reason_code=reason_code,
        reason={"text": reason}, **changes,
    )  # fmt: skip


def slices_stop(row: Workload, actor: Actor, reason: str, *, reason_code: str = "stopped") -> None:
    """Want all its slices stopped; those that no node was told of end at once, and with the last of them the work."""
    for allocation in row.allocations.filter(state=AllocationState.ACTIVE):
        slice_stop(actor=actor, slice_uid=allocation.slice_uid, reason=reason, reason_code=reason_code)
