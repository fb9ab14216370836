"""What people change of a job that was submitted, and how one that is over is deleted."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.jointcloud.errors import JobChangesNoMore, JobNotOver, JobRevised
from apps.jointcloud.events import JobChanged, ReplicasWait
from apps.jointcloud.models import Job
from apps.jointcloud.services.checks import job_change_check
from apps.jointcloud.services.forgetting import is_over, is_settled, job_erase
from apps.jointcloud.services.settling import job_reached_lock
from apps.jointcloud.states import OPEN
from apps.kernel.actor import Actor, act_subject
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.permissions import ResourcePermission as P
from apps.tenancy.models import Tenant


@service(P.OPERATE)
def job_change(
    *, actor: Actor, tenant: Tenant, job_id: str, changes: Mapping[str, Any], revision: int | None = None
) -> Job:
    """Change a job that has not ended: what is placed of it from the next cycle on follows that, and what has a centre
    keeps it.

    Args:
        changes: of `name`, `desc`, `priority`, `weights` (parts of 1 by policy, None for those in force) and
            `deadline_at` (of all its tasks, None for none); what is not named stays.
        revision: that the changes are meant for; None for whichever is there.

    Raises:
        NotFound, InvalidInput by field.
        JobChangesNoMore: it has ended, or was asked to.
        JobRevised: it was changed meanwhile.
    """
    job = job_reached_lock(job_id, actor=actor, tenant=tenant)
    if job.state not in OPEN or job.stop_asked_at is not None:
        raise JobChangesNoMore()
    _revision_check(job, revision)
    weights = job_change_check(actor, changes, timezone.now())
    changed = _take(job, changes, None if weights is None else [list(pair) for pair in weights])
    act_subject("job", job.job_id, name=job.name, changed=", ".join(changed))
    if not changed:
        return job
    job.revision += 1
    job.save(update_fields=["name", "desc", "priority", "weights", "revision"])
    emit(JobChanged(tenant.schema_name, job.job_id), actor=actor)
    emit(ReplicasWait(), actor=actor)
    return job


@service(P.OPERATE)
def job_delete(*, actor: Actor, tenant: Tenant, job_id: str, revision: int | None = None) -> None:
    """Delete a job that is over, with its tasks, the attempts of their replicas and the decisions on them.

    Raises NotFound, JobRevised; JobNotOver while it has not ended, runs at a centre, or is not settled.
    """
    job = job_reached_lock(job_id, actor=actor, tenant=tenant)
    _revision_check(job, revision)
    if not is_over(job):
        raise JobNotOver()
    if not is_settled(job):
        raise JobNotOver(_("The job is not settled yet."), cure=_("Wait until what it used is settled."))
    job_erase(job, actor=actor)
    emit(JobChanged(tenant.schema_name, job_id), actor=actor)


def _revision_check(job: Job, revision: int | None) -> None:
    if revision is not None and revision != job.revision:
        raise JobRevised()


def _take(job: Job, changes: Mapping[str, Any], weights: list[list[Any]] | None) -> list[str]:
    """Write what is new to the job, and to its tasks; what that was, by name."""
    values = {name: changes[name] for name in ("name", "desc", "priority") if name in changes}
    if "weights" in changes:
        values["weights"] = weights
    changed = [name for name, value in values.items() if getattr(job, name) != value]
    for name in changed:
        setattr(job, name, values[name])
    if "deadline_at" in changes:
        others = job.tasks.exclude(deadline_at=changes["deadline_at"])
        if others.update(deadline_at=changes["deadline_at"]):
            changed.append("deadline_at")
    return changed
