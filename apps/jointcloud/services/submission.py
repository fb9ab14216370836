"""A job is submitted: checked as a whole, kept with its tasks, and told to the cycle."""

from uuid import uuid4

from django.conf import settings
from django.db import connection
from django.db.models import Sum
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from apps.identity.selectors import user_names
from apps.jointcloud.errors import TooManyJobs, TooManyReplicas
from apps.jointcloud.events import JobChanged, ReplicasWait
from apps.jointcloud.models import Job, Task
from apps.jointcloud.services.checks import job_check
from apps.jointcloud.services.task_data import tasks_data_find, tasks_data_keep
from apps.jointcloud.states import OPEN
from apps.jointcloud.types import JobRequest
from apps.kernel.actor import Actor, act_subject
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.permissions import ResourcePermission as P
from apps.tenancy.models import Tenant

MOST_OPEN = 10_000
"""Jobs of a tenant that have not ended, at once."""
MOST_OPEN_REPLICAS = 10_000
"""Replicas of all these jobs together."""
_LOCK = 0x5765696A


@service(P.OPERATE)
def job_submit(*, actor: Actor, tenant: Tenant, asked: JobRequest) -> Job:
    """Submit a job: it waits for the next cycle.

    Raises InvalidInput with every fault by its field, TooManyJobs, TooManyReplicas. Nothing is kept then.
    """
    now = timezone.now()
    data, faults = tasks_data_find(actor, tenant.schema_name, asked.tasks)
    weights = job_check(actor, asked, now, tenant.schema_name, faults)
    _room_check(tenant, sum(task.replicas for task in asked.tasks))
    system = import_string(settings.WEIR_WORK_SYSTEM)(actor=actor, asked="")
    row = Job.plain.create(
        tenant=tenant,
        job_id=uuid4().hex,
        name=asked.name,
        desc=asked.desc,
        submitted_by_id=actor.user_id,
        organization_uid=actor.organization,
        business_system_uid=system[0] if system else None,
        labels={"person": _person(actor)} | ({"business_system": system[1]} if system else {}),
        job_type=asked.job_type,
        priority=asked.priority,
        is_gang=asked.is_gang,
        weights=None if weights is None else [list(pair) for pair in weights],
        success_policy=asked.success_policy,
        failure_policy=asked.failure_policy,
        retries=asked.retries,
        replaces_lost=asked.replaces_lost,
        created_at=now,
    )
    tasks = Task.objects.bulk_create(
        Task(
            job=row,
            number=number,
            name=task.name,
            command=task.command,
            image_id=task.image_id,
            resourcespec=task.resourcespec,
            replicas=task.replicas,
            centers=sorted(set(task.centers)),
            min_security_grade=task.min_security_grade,
            deadline_at=task.deadline_at,
            duration_s=task.duration_s,
            may_split=task.may_split,
        )
        for number, task in enumerate(asked.tasks)
    )
    tasks_data_keep(tasks, data)
    act_subject("job", row.job_id, name=row.name, tasks=len(asked.tasks))
    emit(JobChanged(tenant.schema_name, row.job_id), actor=actor)
    emit(ReplicasWait(), actor=actor)
    return row


def _person(actor: Actor) -> str:
    """Who asked, by name, not by account."""
    return (user_names({actor.user_id}).get(actor.user_id) if actor.user_id else None) or actor.name


def _room_check(tenant: Tenant, replicas: int) -> None:
    with connection.cursor() as cursor:
        # What is submitted at the same time is counted, too.
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, tenant.pk])
    rows = Job.objects.of(tenant).filter(state__in=OPEN)
    if rows.count() >= MOST_OPEN:
        raise TooManyJobs(_("The tenant has %(most)s jobs that have not ended.") % {"most": MOST_OPEN})
    held = rows.aggregate(sum=Sum("tasks__replicas"))["sum"] or 0
    if held + replicas > MOST_OPEN_REPLICAS:
        raise TooManyReplicas(
            _(
                "The tenant's jobs that have not ended have %(held)s replicas, and with these %(more)s there were more"
                " than %(most)s."
            )
            % {"held": held, "more": replicas, "most": MOST_OPEN_REPLICAS}
        )
