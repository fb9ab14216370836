"""What the states of its replicas make of a job; internal to the app's services, which hold the job's lock.

The order of locks is the job, then its remote tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from apps.jointcloud.engine.outcome import (
    RetryPolicy,
    RunState,
    StatePolicy,
    is_retried,
    job_state,
    task_state,
)
from apps.jointcloud.events import JobChanged, ReplicasWait
from apps.jointcloud.models import Decision, Job, Replica, Task
from apps.jointcloud.selectors.jobs import jobs_reached
from apps.jointcloud.services.remote import remote_stop
from apps.jointcloud.states import ENDED, OPEN, DecisionKind, ReplicaState, WorkState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import NotFound
from apps.kernel.events import emit
from apps.tenancy.models import Tenant


def job_lock(job_id: str) -> Job | None:
    """The job, locked until the transaction ends; None where there is none."""
    rows = Job.plain.select_for_update(no_key=True, of=("self",)).select_related("tenant")
    return rows.filter(job_id=job_id).first()


def job_reached_lock(job_id: str, *, actor: Actor, tenant: Tenant) -> Job:
    """A job of the tenant that the actor reaches, locked, as the subject of the act. Raises NotFound."""
    act_subject("job", job_id[:64])
    rows = Job.objects.of(tenant).filter(jobs_reached(actor))
    job = job_lock(job_id) if job_id.isprintable() and rows.filter(job_id=job_id).exists() else None
    if job is None:
        raise NotFound(_("There is no job %(job)s.") % {"job": job_id[:64]})
    act_subject("job", job.job_id, name=job.name)
    return job


def job_settle(job: Job, *, actor: Actor, now: datetime) -> None:
    """Bring the job and its tasks to what their replicas say; what failed is tried again where the job says so, and
    once it has ended, what still runs of it is stopped. The state of a job that has ended stays; its tasks go on to
    follow their replicas until these have ended too."""
    if job.state in ENDED:
        _ended_settle(job, actor=actor)
        return
    tasks = list(job.tasks.order_by("number"))
    current = _current(job)
    states = [_states(job, task, current[task.pk]) for task in tasks]
    policy = StatePolicy(job.success_policy, job.failure_policy)
    state = job_state(states, policy, is_stopped=job.stop_asked_at is not None)
    if is_retried(state, RetryPolicy(job.retries), job.retries_made):
        _retry(job, tasks, current, now)
        current = _current(job)
        states = [_states(job, task, current[task.pk]) for task in tasks]
        state = job_state(states, policy)
    job.state = WorkState(state.value)
    if job.state in ENDED:
        job.ended_at = now
    job.save(update_fields=["state", "ended_at", "retries_made"])
    if job.state in ENDED:
        _ended_settle(job, actor=actor)
        return
    _tasks_bring(tasks, states)
    if job.stop_asked_at is None and any(len(current[task.pk]) < task.replicas for task in tasks):
        emit(ReplicasWait(), actor=actor)
    emit(JobChanged(job.tenant.schema_name, job.job_id), actor=actor)


def _ended_settle(job: Job, *, actor: Actor) -> None:
    """Of a job that is over: its tasks as their replicas say, and what still runs of it asked to end."""
    tasks = list(job.tasks.order_by("number"))
    current = _current(job)
    _tasks_bring(tasks, [_states(job, task, current[task.pk]) for task in tasks])
    _rest_stop(job, actor=actor)
    emit(JobChanged(job.tenant.schema_name, job.job_id), actor=actor)


def _tasks_bring(tasks: Sequence[Task], states: Sequence[Sequence[RunState]]) -> None:
    for task, each in zip(tasks, states, strict=True):
        found = WorkState(task_state(each).value)
        if task.state != found:
            task.state = found
            task.save(update_fields=["state"])


def _current(job: Job) -> dict[int, list[Replica]]:
    found: dict[int, list[Replica]] = defaultdict(list)
    for row in Replica.objects.filter(task__job=job, is_current=True).order_by("task", "number"):
        found[row.task_id].append(row)
    return found


def _states(job: Job, task: Task, current: Sequence[Replica]) -> list[RunState]:
    """Of each replica; one without a centre waits, and will not run any more once the job is to stop or is over."""
    will_run = job.state in OPEN and job.stop_asked_at is None
    missing = RunState.PENDING if will_run else RunState.STOPPED
    # What is taken back will run again.
    told = [RunState.PENDING if row.again else RunState(row.state) for row in current]
    return told + [missing] * (task.replicas - len(current))


def _retry(job: Job, tasks: Sequence[Task], current: dict[int, list[Replica]], now: datetime) -> None:
    job.retries_made += 1
    for task in tasks:
        failed = [
            row
            for row in current[task.pk]
            if row.state in (ReplicaState.FAILED, ReplicaState.STOPPED) and not row.again
        ]
        if failed:
            Replica.objects.filter(pk__in=[row.pk for row in failed]).update(is_current=False)
            Decision.objects.create(task=task, kind=DecisionKind.RETRIED, at=now, replicas=len(failed))


def _rest_stop(job: Job, *, actor: Actor) -> None:
    """Ask the centres to end what still runs of a job that is over."""
    rows = Replica.objects.filter(task__job=job, state__in=OPEN)
    for key in rows.order_by("key").values_list("key", flat=True):
        remote_stop(key, actor=actor)
