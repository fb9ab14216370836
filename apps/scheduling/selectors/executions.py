"""Reads: beside which work something may be run, by whom, and where."""

from dataclasses import dataclass
from uuid import UUID

from apps.kernel.actor import Actor
from apps.scheduling.models import Workload
from apps.scheduling.selectors.share_place import share_place
from apps.scheduling.states import WorkKind, WorkloadState


@dataclass(frozen=True, slots=True)
class ExecutionPlace:
    """Where something is run beside a share of running work. `owner_id` is who submitted it."""

    owner_id: int | None
    slice_uid: str
    node_uid: str


def may_execute(actor: Actor, row: Workload) -> bool:
    """Whether the actor may run something beside a workload: it acts as who submitted it, so nobody else may.

    Beside a session nothing is run: its program is ours and no one's to look into.
    """
    is_own = actor.kind == "user" and actor.user_id is not None and row.submitted_by_id == actor.user_id
    return is_own and row.kind == WorkKind.PROGRAM


def execution_place_get(workload_uid: UUID, share: int) -> ExecutionPlace | None:
    """Where a share of anybody's workload runs; None where it does not run. For the gateway, which asks who may."""
    row = Workload.objects.across().filter(uid=workload_uid, state=WorkloadState.RUNNING).first()
    if row is None or row.kind != WorkKind.PROGRAM:
        return None
    slice_uid, node_uid = share_place(row, share)
    return ExecutionPlace(row.submitted_by_id, slice_uid, node_uid) if slice_uid else None
