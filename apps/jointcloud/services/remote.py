"""Replicas as the centres' remote tasks: asked for, asked to end, looked at; internal to the app's services."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from django.utils import translation
from django.utils.translation import gettext_noop

from apps.centers.adapters.base import JobMessage
from apps.centers.models import Center, RemoteTask, SpecOffer
from apps.centers.selectors import (
    remote_tasks_awaiting,
    remote_tasks_named,
    usages_believed,
    usages_doubted,
)
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

# What only a job's own report brings about: its cause is what the job, or the engine, says of it.
_REPORTED = (RemoteState.WAITING, RemoteState.RUNNING, RemoteState.SUCCEEDED, RemoteState.FAILED)
# Kept in English, and said in the reader's language when they are shown (`cause_text`).
UNANSWERED = gettext_noop("The centre has not answered yet; it is asked again.")
REFUSED = gettext_noop("The centre does not take it.")
LOST = gettext_noop("Nothing is known of it any more at the centre.")
OFFERED_NO_MORE = gettext_noop("It offers the specification no more, or takes no new work.")
_HIDDEN = "(...)"
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
# What may be an IP address, in brackets or not, with a port or without; a time of day is none.
_MAYBE_IP = re.compile(
    r"\[?((?<![0-9a-z.:])[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]*[0-9a-f]|(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9]))"
    r"(?:\]?:[0-9]{1,5}|\])?",
    re.IGNORECASE,
)
_HOST_LENGTH = 3


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
    # By the portal's own clock: since when it was seen to run, and since when it is as it is.
    seen_from: datetime | None = None
    seen_at: datetime | None = None


class Account(NamedTuple):
    """What is known of the use of an attempt that is over. `is_final`: nothing more is waited for; `seen_at`: since
    when the portal has known it to be over, None where its centre has gone; `told`: when it ran
    by its centre's accounts, None where they say nothing that is believed; `is_doubted`: they said what is not."""

    is_final: bool
    seen_at: datetime | None
    told: tuple[datetime, datetime] | None
    is_doubted: bool


def remote_account(key: str) -> Account:
    """What is known of the use of an attempt; final where its centre has gone."""
    found, row = usages_believed([key]).get(key), remote_tasks_named([key]).get(key)
    told = None if found is None else (found.started_at, found.ended_at)
    is_final = told is not None or row is None or row.is_accounted
    return Account(
        is_final, None if row is None else row.state_at, told, told is None and key in usages_doubted([key])
    )


def remote_awaited(keys: Collection[str]) -> dict[str, datetime]:
    """Those of these attempts of which their centre's accounts may still tell, and since when the portal has known each
    to be over; what they have told and is not taken over yet is none."""
    found = remote_tasks_awaiting(keys)
    told = usages_believed(found.keys())
    return {key: at for key, at in found.items() if key not in told}


def remote_request(
    job: Job, task: Task, row: Replica, offer: SpecOffer, data: Mapping[str, str], *, actor: Actor
) -> None:
    """Ask for an attempt at its centre (table 9), in the caller's transaction; `data`: where what it reads lies there,
    by variable. Raises RemoteRefused."""
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
            **data,
        },
        image=task.image_id,
    )
    owner = f"{OWNER}{job.job_id}"
    try:
        # What it comes to is kept for readers of all languages.
        with translation.override("en"):
            remote_task_request(
                actor=actor,
                center=offer.center,
                key=row.key,
                message=message,
                owner=owner,
                tenant=job.tenant.schema_name,
            )
    except WeirError as error:
        with translation.override("en"):
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
        key: Seen(
            _STATES[RemoteState(row.state)],
            reason_shown(row),
            row.started_at,
            row.ended_at,
            row.running_at,
            row.state_at,
        )
        for key, row in remote_tasks_named(keys).items()
    }


def remote_there(keys: Sequence[str]) -> dict[str, datetime | None]:
    """Of those attempts that are not over, by key: since when their centre has them as they stand now; None while it is
    not known to have them."""
    not_there = (RemoteState.NEW, RemoteState.SENDING)
    return {
        key: None if row.state in not_there else row.state_at
        for key, row in remote_tasks_named(keys).items()
        if not row.is_over
    }


def reason_shown(row: RemoteTask) -> str:
    """The cause of a remote task as its tenant reads it: what the job's own report says, or a refusal that names no
    address. Of a call that failed a tenant reads a fixed sentence: its cause names the centre's address, and is the
    operators'."""
    if not row.cause:
        return ""
    state = RemoteState(row.state)
    if state in _REPORTED or (state == RemoteState.STOPPED and row.seen_at is not None):
        return addresses_hidden(row.cause, row.center)
    if state == RemoteState.REFUSED:
        return row.cause if addresses_hidden(row.cause, row.center) == row.cause else REFUSED
    if state == RemoteState.LOST:
        return LOST
    return "" if row.is_over else UNANSWERED


def addresses_hidden(text: str, center: Center) -> str:
    """A text with the addresses in it, the centre's own and any others, left out."""
    for name in _names_of(center):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", _HIDDEN, text, flags=re.IGNORECASE)
    return _MAYBE_IP.sub(_ip_hidden, _URL.sub(_HIDDEN, text))


def _ip_hidden(found: re.Match[str]) -> str:
    try:
        ip_address(found[1])
    except ValueError:
        return found[0]
    return _HIDDEN


def _names_of(center: Center) -> list[str]:
    """How the settings of a centre call where it is, the longest first."""
    found: set[str] = set()
    for value in center.settings.values():
        try:
            parts = urlsplit(str(value).strip())
            host = parts.hostname if parts.scheme and parts.netloc else None
        except ValueError:
            continue
        if host:
            found |= {str(value).strip().rstrip("/"), parts.netloc, host}
    return sorted((name for name in found if len(name) >= _HOST_LENGTH), key=len, reverse=True)
