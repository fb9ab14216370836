"""Replicas as the centres' remote tasks: asked for, asked to end, looked at; internal to the app's services."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from apps.centers.adapters.base import JobMessage
from apps.centers.models import SpecOffer
from apps.centers.selectors import remote_tasks_named
from apps.centers.services.remote_tasks import remote_task_request, remote_task_stop
from apps.centers.states import RemoteState
from apps.jointcloud.models import Job, Replica, Task
from apps.jointcloud.states import ReplicaState
from apps.kernel.actor import Actor
from apps.kernel.errors import WeirError

OWNER = "job:"
_STATES = {
    RemoteState.NEW: ReplicaState.PENDING,
    RemoteState.SENDING: ReplicaState.PENDING,
    RemoteState.WAITING: ReplicaState.PENDING,
    RemoteState.RUNNING: ReplicaState.RUNNING,
    RemoteState.SUCCEEDED: ReplicaState.COMPLETED,
    RemoteState.FAILED: ReplicaState.FAILED,
    RemoteState.STOPPED: ReplicaState.STOPPED,
    RemoteState.REFUSED: ReplicaState.REFUSED,
    RemoteState.LOST: ReplicaState.LOST,
}


class RemoteRefused(Exception):
    """A centre does not take a replica of a task; its text is the cause."""

    def __init__(self, task_id: str, ai_center_id: str, why: str) -> None:
        self.task_id, self.ai_center_id = task_id, ai_center_id
        super().__init__(why)


class Seen(NamedTuple):
    """How an attempt stands at its centre, and what that says of it."""

    state: ReplicaState
    reason: str
    started_at: datetime | None
    ended_at: datetime | None


def remote_request(job: Job, task: Task, row: Replica, offer: SpecOffer, *, actor: Actor) -> None:
    """Ask for an attempt at its centre (table 9), in the caller's transaction. Raises RemoteRefused."""
    message = JobMessage(
        command=task.command,
        quantities=offer.spec.quantities,
        environment={
            "WEIR_JOB_ID": job.job_id,
            "WEIR_TASK_NAME": task.name,
            "WEIR_TASK_INDEX": str(task.number),
            "WEIR_REPLICA_INDEX": str(row.number),
            "WEIR_REPLICA_NUMBER": str(task.replicas),
            "WEIR_RESOURCESPEC_ID": task.resourcespec,
        },
        image=task.image_id,
    )
    try:
        remote_task_request(
            actor=actor, center=offer.center, key=row.key, message=message, owner=f"{OWNER}{job.job_id}"
        )
    except WeirError as error:
        why = " ".join([str(error.message), *(str(text) for text in error.fields.values())])
        raise RemoteRefused(str(task.pk), row.ai_center_id, why) from error


def remote_stop(key: str, *, actor: Actor) -> None:
    """Ask that an attempt ends; one that is over, or to end already, stays as it is."""
    found = remote_tasks_named([key]).get(key)
    if found is not None:
        remote_task_stop(actor=actor, remote_task=found)


def remote_seen(keys: Sequence[str]) -> dict[str, Seen]:
    """How attempts stand, by key."""
    return {
        key: Seen(_STATES[RemoteState(row.state)], row.cause, row.started_at, row.ended_at)
        for key, row in remote_tasks_named(keys).items()
    }
