"""What became of replicas at their centres.

Told by an event of each remote task, and looked for by a sweep: both read what the remote tasks say now, so that one
that comes late, or twice, changes nothing.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centers.errors import ResourceSpecInUse
from apps.centers.selectors import centers_lost
from apps.jointcloud.errors import JobEnded
from apps.jointcloud.models import Decision, Job, Replica, Task
from apps.jointcloud.models.jobs import REASON_MOST
from apps.jointcloud.services.charging import charges_follow
from apps.jointcloud.services.remote import LOST, Seen, remote_seen, remote_stop
from apps.jointcloud.services.settling import job_lock, job_reached_lock, job_settle
from apps.jointcloud.states import OPEN, DecisionKind, ReplicaState
from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.scheduling.permissions import ResourcePermission as P
from apps.tenancy.models import Tenant
from apps.tenancy.states import TenantState

# So many replicas are compared at once.
_PART = 1_000
_GONE = (ReplicaState.REFUSED, ReplicaState.LOST)
_ENDED = (ReplicaState.COMPLETED, ReplicaState.FAILED, ReplicaState.STOPPED, *_GONE)


@service(P.OPERATE)
def job_stop(*, actor: Actor, tenant: Tenant, job_id: str) -> Job:
    """Stop a job: what waits is sent nowhere, what runs is asked to end. Asked twice it is asked once.

    Raises NotFound, JobEnded.
    """
    job = job_reached_lock(job_id, actor=actor, tenant=tenant)
    if job.state not in OPEN:
        raise JobEnded()
    if job.stop_asked_at is not None:
        return job
    job_end(job, actor=actor)
    return job


def job_end(job: Job, *, actor: Actor) -> None:
    """Ask that a locked job ends that has not and was not asked to; internal to the app's services."""
    job.stop_asked_at, job.stop_asked_by_id = timezone.now(), actor.user_id
    job.save(update_fields=["stop_asked_at", "stop_asked_by"])
    rows = Replica.objects.filter(task__job=job, state__in=OPEN)
    rows.update(again=False)
    for key in rows.order_by("key").values_list("key", flat=True):
        remote_stop(key, actor=actor)
    job_settle(job, actor=actor, now=job.stop_asked_at)
    charges_follow(job, actor=actor)


@service(recorded=False)
def job_follow(*, actor: Actor, job_id: str) -> None:
    """Take over what the centres say of a job's replicas."""
    job = job_lock(job_id)
    if job is None:
        return
    now = timezone.now()
    rows = list(Replica.objects.filter(task__job=job).filter(Q(state__in=OPEN) | Q(again=True)))
    seen = remote_seen([row.key for row in rows])
    # Both were made in one transaction: a remote task that is not there went with its centre.
    changed = [row for row in rows if _take(job, row, seen.get(row.key) or _gone_with(row), now)]
    if not changed:
        return
    gone = [row for row in changed if row.state in _GONE]
    for row in gone:
        Decision.objects.create(
            task_id=row.task_id,
            kind=DecisionKind.REFUSED if row.state == ReplicaState.REFUSED else DecisionKind.LOST,
            at=now,
            ai_center_id=row.ai_center_id,
            replicas=1,
            message=row.reason,
        )
    if gone and job.is_gang and job.state in OPEN and job.stop_asked_at is None:
        gang_take_back(job, actor=actor, now=now)
    job_settle(job, actor=actor, now=now)
    charges_follow(job, actor=actor)


def gang_take_back(job: Job, *, actor: Actor, now: datetime) -> None:
    """One of a gang has no place any more: the others are asked to end, and are placed anew with it."""
    rows = Replica.objects.filter(task__job=job, is_current=True, state__in=OPEN, again=False).order_by("key")
    for row in rows:
        row.again = True
        row.save(update_fields=["again"])
        remote_stop(row.key, actor=actor)
        Decision.objects.create(
            task_id=row.task_id,
            kind=DecisionKind.TAKEN_BACK,
            at=now,
            ai_center_id=row.ai_center_id,
            replicas=1,
        )


def _gone_with(row: Replica) -> Seen:
    return Seen(ReplicaState.LOST, LOST, row.started_at, None, row.seen_from)


def _take(job: Job, row: Replica, seen: Seen, now: datetime) -> bool:
    """Write what was seen; whether anything is new."""
    lost_at = now if seen.state == ReplicaState.LOST else None
    if seen.state == ReplicaState.LOST and not (job.state in OPEN and job.replaces_lost and row.is_current):
        # Nobody will hear of it again, and it is not to be placed anew.
        seen = seen._replace(state=ReplicaState.FAILED)
    # Of a tenant whose data are deleted no words are kept any more.
    reason = "" if job.tenant.state == TenantState.DELETED else seen.reason[:REASON_MOST]
    same = row.state == seen.state and row.reason == reason and row.started_at == seen.started_at
    if same and not (row.again and seen.state in _ENDED):
        return False
    row.state, row.reason, row.started_at = seen.state, reason, seen.started_at
    if seen.state in _ENDED:
        row.ended_at, row.seen_until = seen.ended_at or now, _ended_by(seen)
        row.lost_at = lost_at
    row.seen_from = seen.seen_from
    if seen.state in _GONE or (row.again and seen.state in _ENDED):
        row.is_current = False
    if seen.state in _ENDED:
        row.again = False
    row.save(
        update_fields=[
            "state", "reason", "started_at", "ended_at", "is_current", "again", "seen_from", "seen_until", "lost_at",
        ]
    )  # fmt: skip
    return True


def _ended_by(seen: Seen) -> datetime | None:
    """When it had ended at the latest: as the engine says, where the portal looked long after, and never later."""
    if seen.seen_from and seen.seen_at and seen.ended_at and seen.seen_from <= seen.ended_at:
        return min(seen.ended_at, seen.seen_at)
    return seen.seen_at


def jobs_with_lost(now: datetime) -> list[str]:
    """Jobs with replicas at centres that have been silent for as long as each says."""
    rows = Replica.objects.filter(
        ai_center_id__in=centers_lost(now), state__in=OPEN, task__job__replaces_lost=True
    )
    rows = rows.filter(task__job__state__in=OPEN, is_current=True)
    return sorted(set(rows.values_list("task__job__job_id", flat=True)))


@service(recorded=False)
def job_lost_replace(*, actor: Actor, job_id: str) -> None:
    """Give up what is at centres that are gone, and let it be placed anew; a centre that returns is to end its own."""
    job = job_lock(job_id)
    if job is None or job.state not in OPEN or not job.replaces_lost:
        return
    now = timezone.now()
    gone = centers_lost(now)
    rows = list(
        Replica.objects.filter(
            task__job=job, is_current=True, state__in=OPEN, ai_center_id__in=gone
        ).order_by("key")
    )
    for row in rows:
        remote_stop(row.key, actor=actor)
        row.state, row.is_current, row.again, row.ended_at = ReplicaState.LOST, False, False, now
        row.lost_at = row.seen_until = now
        row.save(update_fields=["state", "is_current", "again", "ended_at", "lost_at", "seen_until"])
        Decision.objects.create(
            task_id=row.task_id, kind=DecisionKind.LOST, at=now, ai_center_id=row.ai_center_id, replicas=1
        )
    if rows and job.is_gang and job.stop_asked_at is None:
        gang_take_back(job, actor=actor, now=now)
    if rows:
        job_settle(job, actor=actor, now=now)
        charges_follow(job, actor=actor)


def spec_removed_check(resource_spec_id: str) -> None:
    """ResourceSpecInUse while a job that has not ended asks for the specification."""
    rows = Task.objects.filter(resourcespec=resource_spec_id, job__state__in=OPEN).select_related("job")
    found = rows.order_by("pk").first()
    if found is not None:
        raise ResourceSpecInUse(
            _("The job %(job)s asks for it.") % {"job": found.job.name},
            cure=_("Wait until its jobs have ended, or stop them."),
        )


def jobs_with_news() -> list[str]:
    """Jobs of which a replica stands otherwise at its centre than it does here: the sweep follows these."""
    rows = list(
        Replica.objects.filter(state__in=OPEN)
        .order_by("pk")
        .values_list("key", "state", "reason", "started_at", "task__job__job_id")
    )
    found: set[str] = set()
    for at in range(0, len(rows), _PART):
        part = rows[at : at + _PART]
        seen = remote_seen([key for key, *_rest in part])
        for key, state, reason, started_at, job_id in part:
            told = seen.get(key)
            if told is None or (told.state, told.reason[:REASON_MOST], told.started_at) != (
                state,
                reason,
                started_at,
            ):
                found.add(job_id)
    return sorted(found)
