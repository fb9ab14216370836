"""How long jobs are kept that have ended, and why their tasks went where they did.

Only what is over goes, and only once it is settled: until then somebody may ask what a job was paid for.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from apps.centers.services.remote_tasks import remote_tasks_forget
from apps.jointcloud.models import Decision, Job, Replica
from apps.jointcloud.services.charging import charges_follow
from apps.jointcloud.services.settling import job_lock
from apps.jointcloud.states import ENDED, OPEN
from apps.kernel.actor import Actor
from apps.kernel.service import service


def is_over(job: Job) -> bool:
    """Whether a job has ended and no centre has anything of it that has not."""
    return job.state in ENDED and not Replica.objects.filter(task__job=job, state__in=OPEN).exists()


def is_settled(job: Job) -> bool:
    """Whether nothing of a job that is over is still to be charged: until then it is neither deleted nor forgotten."""
    return not Replica.objects.filter(task__job=job, charge_uid__isnull=False, is_settled=False).exists()


def job_erase(job: Job, *, actor: Actor) -> None:
    """Delete a locked job that is over and settled, with all that is known of it; internal to the app's services."""
    keys = list(Replica.objects.filter(task__job=job).values_list("key", flat=True))
    charges_follow(job, actor=actor)
    job.delete()
    remote_tasks_forget(actor=actor, keys=keys)


def jobs_forget(*, actor: Actor, now: datetime | None = None) -> int:
    """Forget the jobs that ended `WEIR_ENDED_JOB_DAYS` ago, and why those went where they did that ended
    `WEIR_JOB_DECISION_DAYS` ago; how many jobs went. What is not over or not settled stays until the next time."""
    at = now or timezone.now()
    ended_before = at - timedelta(days=settings.WEIR_ENDED_JOB_DAYS)
    gone = sum(
        job_forget(actor=actor, job_id=job_id, ended_before=ended_before)
        for job_id in _ended_before(ended_before)
    )
    decided_before = at - timedelta(days=settings.WEIR_JOB_DECISION_DAYS)
    for job_id in _ended_before(decided_before, has_decisions=True):
        job_decisions_forget(actor=actor, job_id=job_id, ended_before=decided_before)
    return gone


@service(recorded=False)
def job_forget(*, actor: Actor, job_id: str, ended_before: datetime) -> bool:
    """Forget a job that ended before then; whether it went."""
    job = _forgettable(job_id, ended_before)
    if job is None:
        return False
    job_erase(job, actor=actor)
    return True


@service(recorded=False)
def job_decisions_forget(*, actor: Actor, job_id: str, ended_before: datetime) -> None:
    """Forget of a job that ended before then why its tasks went where they did."""
    job = _forgettable(job_id, ended_before)
    if job is not None:
        Decision.objects.filter(task__job=job).delete()


def _forgettable(job_id: str, ended_before: datetime) -> Job | None:
    """The job, locked, if it is over since then, and settled."""
    job = job_lock(job_id)
    if job is None or job.ended_at is None or job.ended_at >= ended_before:
        return None
    return job if is_over(job) and is_settled(job) else None


def _ended_before(moment: datetime, *, has_decisions: bool = False) -> list[str]:
    """The jobs that ended before then, the oldest first."""
    rows = Job.plain.filter(state__in=ENDED, ended_at__lt=moment)
    if has_decisions:
        rows = rows.filter(tasks__decisions__isnull=False).distinct()
    return list(rows.order_by("pk").values_list("job_id", flat=True))
