"""How work ends, and who hears of it. Internal to the app's services."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from apps.billing.services.funds import funds_end
from apps.fleet.services.work_folders import folders_end
from apps.kernel.actor import Actor
from apps.kernel.errors import WeirError
from apps.kernel.events import emit
from apps.scheduling.events import WorkloadChanged, WorkloadEnded
from apps.scheduling.models import Workload
from apps.scheduling.services.decisions import decided
from apps.scheduling.services.workloads.notifications import workload_notify
from apps.scheduling.services.workloads.submit import direct_ended
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
    has_run = row.placed_at is not None
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
    if not has_run:
        funds_end(actor=actor, workload_uid=row.uid, at=at, has_run=False)
    workload_changed(row, actor)


def workload_changed(row: Workload, actor: Actor) -> None:
    """Pages that show it look again."""
    emit(WorkloadChanged(schema=row.tenant.schema_name, workload_uid=row.uid), actor=actor)
