"""What tests of jobs' money do in the place of a centre that ran something and tells of it."""

from datetime import timedelta
from decimal import Decimal
from unittest.mock import patch

from django.db import transaction
from django.utils import timezone

from apps.billing.models import LedgerLeg
from apps.centers.adapters.base import Quantities
from apps.centers.adapters.base import UsageRecord as Told
from apps.centers.models import CenterSample, RemoteTask
from apps.centers.services.accounts import usage_keep
from apps.centers.states import RemoteState
from apps.jointcloud.models import Job, Replica, Settlement
from apps.jointcloud.services.accounting import attempt_settle
from apps.jointcloud.services.submission import job_submit
from apps.kernel.actor import SYSTEM
from tests.apps.jointcloud.jobs import asked, cycle, say


def sent(person, tenant, *tasks, ago_s: float = 1300, **more) -> Job:
    """A job that was submitted, and given to its centres as far as they take it, so long ago."""
    at = timezone.now() - timedelta(seconds=ago_s)
    CenterSample.objects.update(asked_at=at, answered_at=at)
    with patch("django.utils.timezone.now", return_value=at):
        job = job_submit(actor=person.actor, tenant=tenant, asked=asked(*tasks, **more))
        assert cycle().led
    return job


def settled(job: Job) -> None:
    """What a job used is settled, whose centre's accounts have no more to tell of it."""
    for row in Replica.objects.filter(task__job=job):
        RemoteTask.objects.filter(key=row.key).update(is_accounted=True)
        attempt_settle(actor=SYSTEM, key=row.key)


def ran(row: Replica, seconds: float, *, ago_s: int = 10, state=RemoteState.SUCCEEDED) -> RemoteTask:
    """An attempt ran for so long, as the portal saw it, and ended so long ago."""
    over = timezone.now() - timedelta(seconds=ago_s)
    for moment, said in ((over - timedelta(seconds=seconds), RemoteState.RUNNING), (over, state)):
        with patch("django.utils.timezone.now", return_value=moment), transaction.atomic():
            say(row, said)
    RemoteTask.objects.filter(key=row.key, ended_at=None).exclude(state="running").update(ended_at=over)
    return RemoteTask.objects.get(key=row.key)


def tell(task: RemoteTask, *, seconds: int | None = None, shift_s: int = 0, **more) -> str:
    """The centre's accounts say so of a task: by default what the portal saw."""
    end = ((task.ended_at or timezone.now()) + timedelta(seconds=shift_s)).replace(microsecond=0)
    length = int((end - task.running_at).total_seconds() + 1) if seconds is None else seconds
    told = {
        "key": task.key,
        "native_id": task.native_id,
        "started_at": end - timedelta(seconds=length),
        "ended_at": end,
        "quantities": Quantities(gpu=1),
        "raw": '{"elapsed": 1}',
    } | more
    return usage_keep(actor=SYSTEM, pk=task.pk, record=Told(**told), asked_at=timezone.now())


def settle(row: Replica) -> Settlement | None:
    attempt_settle(actor=SYSTEM, key=row.key)
    return Settlement.plain.filter(key=row.key).first()


def owed(code: str = "lake") -> Decimal:
    return -sum(LedgerLeg.objects.filter(account__code=f"payable:{code}").values_list("amount", flat=True))
