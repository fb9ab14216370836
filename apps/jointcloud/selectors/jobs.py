"""Reading jobs, and what of them waits for a centre."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from apps.jointcloud.engine.types import Job as EngineJob
from apps.jointcloud.engine.types import Task as EngineTask
from apps.jointcloud.models import Decision, Job, Replica, Task
from apps.jointcloud.selectors.data import tasks_data
from apps.jointcloud.states import OPEN, ReplicaState
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.kernel.reach import Records
from apps.tenancy.models import Tenant
from apps.tenancy.states import TenantState

REFUSAL_HOLDS_S = 600
"""For so long a task is not offered again to a centre that refused it."""


def jobs_reached(actor: Actor) -> Q:
    """The jobs of a tenant that the actor reaches: his own, and others' as far as the data permission goes."""
    return actor.reaches(
        Records.RESOURCES,
        own=Q(submitted_by_id=actor.user_id),
        organization="organization_uid",
        system="business_system_uid",
    )


def job_list(tenant: Tenant, *, actor: Actor, state: str = "", search: str = "") -> QuerySet[Job]:
    """A tenant's jobs that the actor reaches, newest first."""
    return _filtered(Job.objects.of(tenant).filter(jobs_reached(actor)), state, search)


def job_list_across(*, state: str = "", search: str = "") -> QuerySet[Job]:
    """All tenants' jobs, newest first: the operators'."""
    return _filtered(Job.objects.across(), state, search)


def job_get(tenant: Tenant, job_id: str, *, actor: Actor) -> Job:
    """A job of the tenant that the actor reaches. Raises NotFound."""
    return _one(Job.objects.of(tenant).filter(jobs_reached(actor)), job_id)


def job_get_across(job_id: str) -> Job:
    """Any tenant's job: the operators'. Raises NotFound."""
    return _one(Job.objects.across(), job_id)


def job_tasks(job: Job) -> list[Task]:
    """The tasks of a job in order, each with `current`: the attempts that stand for its replicas."""
    tasks = list(job.tasks.order_by("number").prefetch_related("data"))
    found: dict[int, list[Replica]] = defaultdict(list)
    for row in Replica.objects.filter(task__job=job, is_current=True).order_by("task", "number"):
        found[row.task_id].append(row)
    for task in tasks:
        task.current = found[task.pk]  # type: ignore[attr-defined]
    return tasks


def job_decision_list(job: Job) -> QuerySet[Decision]:
    """The decisions on the tasks of a job, each with how the centres stood, the newest first."""
    return Decision.objects.filter(task__job=job).select_related("task").order_by("-at", "-pk")


def job_decisions(job: Job, most: int = 200) -> list[Decision]:
    """The last decisions on the tasks of a job, the newest first, without how the centres stood."""
    return list(job_decision_list(job).defer("standings", "task__command")[:most])


def replica_get(job: Job, task_number: int, replica_number: int) -> Replica:
    """The attempt that stands for a replica now, or the last one that did. Raises NotFound."""
    rows = Replica.objects.filter(task__job=job, task__number=task_number, number=replica_number)
    found = rows.order_by("-is_current", "-attempt").first()
    if found is None:
        raise NotFound(
            _("Replica %(replica)s of task %(task)s was sent to no centre yet.")
            % {"replica": replica_number, "task": task_number},
            cure=_("See in the job why it waits."),
        )
    return found


def jobs_waiting(now: datetime) -> list[EngineJob]:
    """Jobs with replicas that no centre has, as the engine takes them. A gang of which something is still being taken
    back is not there: it starts as a whole; nor is what is of a tenant that is not active."""
    taken_back = Replica.objects.filter(task__job=OuterRef("job"), is_current=True, again=True)
    missing: dict[int, list[tuple[Task, int]]] = defaultdict(list)
    rows = (
        Task.objects.filter(
            job__state__in=OPEN, job__stop_asked_at=None, job__tenant__state=TenantState.ACTIVE
        )
        .exclude(Q(Exists(taken_back)), job__is_gang=True)
        .annotate(placed=Count("attempts", filter=Q(attempts__is_current=True)))
        .filter(placed__lt=F("replicas"))
        # May be long, and no centre is chosen by it.
        .defer("command")
        .order_by("job", "number")
    )
    for task in rows:
        missing[task.job_id].append((task, task.replicas - task.placed))
    if not missing:
        return []
    refused = _refusals(missing, now)
    data = tasks_data([task.pk for waiting in missing.values() for task, _count in waiting])
    placed: dict[int, list[str]] = defaultdict(list)
    current = Replica.objects.filter(task__job__in=missing, is_current=True).order_by("pk")
    for job_pk, code in current.values_list("task__job", "ai_center_id"):
        placed[int(job_pk)].append(code)
    found = []
    rows_of = Job.plain.filter(pk__in=missing).select_related("tenant")
    for job in rows_of.order_by("created_at", "pk"):
        tasks = tuple(
            _engine_task(task, count, refused.get(task.pk, frozenset()), data.get(task.pk, ()))
            for task, count in missing[job.pk]
        )
        weights = None if job.weights is None else tuple((name, part) for name, part in job.weights)
        found.append(
            EngineJob(
                id=job.job_id,
                tasks=tasks,
                priority=job.priority,
                submitted_at_s=int(job.created_at.timestamp()),
                submitted_seq=job.pk,
                is_gang=job.is_gang,
                job_type=job.job_type,
                placed=tuple(placed[job.pk]),
                weights=weights,
                tenant=job.tenant.schema_name,
            )
        )
    return found


def _refusals(jobs: Iterable[int], now: datetime) -> dict[int, frozenset[str]]:
    since = now - timedelta(seconds=REFUSAL_HOLDS_S)
    rows = Replica.objects.filter(task__job__in=list(jobs), state=ReplicaState.REFUSED, ended_at__gte=since)
    found: dict[int, set[str]] = defaultdict(set)
    for task_pk, code in rows.values_list("task", "ai_center_id"):
        found[task_pk].add(code)
    return {task_pk: frozenset(codes) for task_pk, codes in found.items()}


def _engine_task(
    task: Task, replicas: int, refused_by: frozenset[str], data_ids: tuple[str, ...]
) -> EngineTask:
    return EngineTask(
        id=str(task.pk),
        spec_id=task.resourcespec,
        image_id=task.image_id or None,
        data_ids=data_ids,
        replicas=replicas,
        min_security_grade=task.min_security_grade,
        centre_ids=frozenset(task.centers),
        refused_by=refused_by,
        duration_s=task.duration_s,
        deadline_s=None if task.deadline_at is None else int(task.deadline_at.timestamp()),
        may_split=task.may_split,
    )


def _filtered(rows: QuerySet[Job], state: str, search: str) -> QuerySet[Job]:
    rows = rows.select_related("tenant", "submitted_by")
    if state:
        rows = rows.filter(state=state)
    return rows.filter(Q(name__icontains=search) | Q(job_id__startswith=search)) if search else rows


def _one(rows: QuerySet[Job], job_id: str) -> Job:
    # A code holds nothing that PostgreSQL would not take.
    rows = rows.select_related("tenant", "submitted_by", "stop_asked_by")
    found = rows.filter(job_id=job_id).first() if job_id.isprintable() else None
    if found is None:
        raise NotFound(_("There is no job %(job)s.") % {"job": job_id[:64]})
    return found
