"""How work ends, and who hears of it. Internal to the app's services."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, Min, Q
from django.utils import timezone

from apps.billing.services.funds import funds_end
from apps.fleet.selectors import slice_list
from apps.fleet.services.folder_uploads import upload_release
from apps.fleet.services.work_folders import folders_end, folders_keep
from apps.fleet.states import SliceState
from apps.kernel.actor import Actor
from apps.kernel.errors import WeirError
from apps.kernel.events import emit
from apps.scheduling.events import ArrayFreed, WorkloadAwaited, WorkloadChanged, WorkloadEnded
from apps.scheduling.models import Workload, WorkloadDependency
from apps.scheduling.services.decisions import decided
from apps.scheduling.services.quota.quotas import quota_release
from apps.scheduling.services.workloads.notifications import workload_notify
from apps.scheduling.services.workloads.submission.submit import direct_ended
from apps.scheduling.states import FLOW, DecisionKind, WorkloadState

STOPPED: Mapping[str, Any] = {"after_stop": "", "preempted_by": None, "preemption_cause": ""}
"""What every move away from stopping sets."""


def workload_refuse(row: Workload, actor: Actor, error: WeirError) -> None:
    """End work that no node could run; its owner reads why."""
    workload_end(row, actor, timezone.now(), WorkloadState.FAILED, error.code, str(error.message))


def workload_end(
    row: Workload, actor: Actor, at: datetime, final: str, reason_code: str, reason: str
) -> None:
    """It has ended, as `final` says: its charge and quota are settled, its owner and the apps above hear of it."""
    FLOW.move(
        row, final, actor=actor, ended_at=at, reason_code=reason_code, reason={"text": reason}, position=None,
        **STOPPED,
    )  # fmt: skip
    if row.outputs is None:
        # Those of outputs end when these are fetched: storage hears of it.
        folders_end(actor=actor, workload_uid=row.uid)
    if row.folder:
        upload_release(actor=actor, workload_uid=row.uid)
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
        outputs=row.outputs,
        reason_code=reason_code,
        reason=reason,
    )
    emit(event, actor=actor)
    _funds_end(row, actor)
    awaited_tell(row, actor)
    _turn_tell(row, actor)
    workload_changed(row, actor)


def workload_put_aside(row: Workload, actor: Actor, reason_code: str, reason: str) -> None:
    """It holds nothing until it is resumed, and keeps its place (ELA-503). Direct work may run as long again, an
    order's for what is left of the time that was bought."""
    FLOW.move(
        row,
        WorkloadState.SUSPENDED,
        actor=actor,
        reason_code=reason_code,
        reason={"text": reason},
        run_timeout_s=workload_left_s(row),
        placed_at=None,
        active_shares=None,
        position=None,
        waits_for_funds=False,
        **STOPPED,
    )
    if row.is_direct:
        quota_release(actor=actor, tenant=row.tenant, holder_uid=row.uid)
    _funds_end(row, actor)
    folders_keep(actor=actor, workload_uid=row.uid)
    # What somebody asked for says why in his words.
    decided(
        row, DecisionKind.SUSPENDED, actor, "" if reason_code == "suspended" else reason_code, text=reason
    )
    _turn_tell(row, actor)
    workload_changed(row, actor)


def workload_left_s(row: Workload) -> int | None:
    """For how long it may run when it starts again: direct work as long as before, an order's for what is left of the
    time that was bought. Of what was lost with its node nobody knows for how long it ran, and nobody pays for it."""
    if row.is_direct or row.run_timeout_s is None or row.placed_at is None:
        return row.run_timeout_s
    # By the portal's clock, for a node's may be another; they are made in the transaction that places it.
    since = row.placed_at - timedelta(seconds=5)
    ran = slice_list(workload_uids=[row.uid]).filter(
        created_at__gte=since, started_at__isnull=False, ended_at__isnull=False
    )
    times = ran.order_by().aggregate(first=Min("started_at"), last=Max("ended_at"))
    if times["first"] is None:
        return row.run_timeout_s
    return max(1, row.run_timeout_s - int((times["last"] - times["first"]).total_seconds()))


def _turn_tell(row: Workload, actor: Actor) -> None:
    """Of an array with a bound the next has its turn."""
    if row.array_id is not None and row.array is not None and row.array.at_once is not None:
        emit(ArrayFreed(array_pk=row.array_id), actor=actor)


def _funds_end(row: Workload, actor: Actor) -> None:
    """What it ran in any of its attempts is still to be paid, though it may have waited since; of one that was lost
    with its node nobody knows whether it ran."""
    ran = slice_list(workload_uids=[row.uid]).filter(Q(started_at__isnull=False) | Q(state=SliceState.LOST))
    last = ran.order_by().aggregate(at=Max("ended_at"))["at"]
    funds_end(actor=actor, workload_uid=row.uid, at=last or timezone.now(), has_run=last is not None)


def awaited_tell(row: Workload, actor: Actor) -> None:
    """It has started or ended: if other work waits for that, it is looked at after this transaction."""
    if WorkloadDependency.objects.filter(on=row, is_open=True).exists():
        emit(WorkloadAwaited(workload_uid=row.uid), actor=actor)


def workload_changed(row: Workload, actor: Actor) -> None:
    """Pages that show it look again."""
    emit(WorkloadChanged(schema=row.tenant.schema_name, workload_uid=row.uid), actor=actor)
