"""Clockwork of jobs over several centres."""

from apps.jointcloud.services import accounting, forgetting, placing
from apps.jointcloud.services.following import job_follow as follow
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def jobs_place() -> None:
    """One scheduling cycle: hinted by events, and every few seconds."""
    placing.cycle_run(actor=SYSTEM)


@provider_task
def jobs_sweep() -> None:
    """What lost events left behind: every few seconds."""
    placing.jobs_sweep(actor=SYSTEM)
    placing.cycle_run(actor=SYSTEM)


@provider_task
def jobs_forget() -> int:
    """Forget jobs that ended long ago, each by itself: every hour."""
    return forgetting.jobs_forget(actor=SYSTEM)


@provider_task
def job_follow(job_id: str) -> None:
    """Take over what the centres say of a job."""
    follow(actor=SYSTEM, job_id=job_id)


@provider_task
def attempt_settle(key: str) -> None:
    """Settle what an attempt of a replica used."""
    accounting.attempt_settle(actor=SYSTEM, key=key)


@provider_task
def money_sweep() -> None:
    """What is to be settled, topped up or closed of jobs' money: every few seconds."""
    accounting.money_sweep(actor=SYSTEM)
