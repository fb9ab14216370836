"""What the tests of jobs do in a centre's place, and what they ask for."""

from dataclasses import replace

from django.utils import timezone

from apps.centers.models import RemoteTask
from apps.centers.services.remote_tasks import remote_task_locked, state_set
from apps.centers.states import RemoteState
from apps.jointcloud.models import Job, Replica
from apps.jointcloud.services.following import job_follow
from apps.jointcloud.services.placing import cycle_run
from apps.jointcloud.types import JobRequest, TaskRequest
from apps.kernel.actor import SYSTEM

TASK = TaskRequest("train", "python train.py", "gpu1")


def asked(*tasks: TaskRequest, **more) -> JobRequest:
    """A job of these tasks, of one where none is given."""
    return JobRequest(**{"name": "night run", "tasks": tasks or (TASK,), **more})


def other(name: str, **more) -> TaskRequest:
    """Such a task under another name."""
    return replace(TASK, name=name, **more)


def cycle():
    """One scheduling cycle."""
    return cycle_run(actor=SYSTEM)


def say(row: Replica, state: RemoteState, cause: str = "") -> None:
    """The centre says so of an attempt, and the job hears of it."""
    task = remote_task_locked(RemoteTask.objects.get(key=row.key).pk)
    task.cause, task.native_id = cause, task.native_id or f"n{task.pk}"
    if state != RemoteState.WAITING:
        task.started_at = task.started_at or timezone.now()
    state_set(task, state, actor=SYSTEM)
    job_follow(actor=SYSTEM, job_id=row.task.job.job_id)


def attempts(job: Job, **more) -> list[Replica]:
    """The attempts of a job's replicas, as they were placed."""
    rows = Replica.objects.filter(task__job=job, **more).select_related("task__job")
    return list(rows.order_by("task__number", "number", "attempt"))


def fresh(job: Job) -> Job:
    """The job as it stands now."""
    return Job.plain.get(pk=job.pk)
