"""What a job has cost so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Sum

from apps.billing.selectors.costs import workloads_cost
from apps.centers.selectors import remote_tasks_named
from apps.jointcloud.models import Job, Replica, Settlement
from apps.kernel.money import ZERO, exact

_MINOR = 100
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class JobCost:
    """What a job has cost so far, exact CNY. `charged` is settled and comes on the bill as it is; `expected` is what
    runs and what is not settled yet, by what the portal saw; `own_pool` what the portal's own pool charged for it."""

    charged: Decimal
    expected: Decimal
    own_pool: Decimal

    @property
    def total(self) -> Decimal:
        """All of it."""
        return self.charged + self.expected + self.own_pool


def job_cost(job: Job, now: datetime) -> JobCost:
    """What a job has cost so far. Of its own pool's work only what its own tenant is charged counts."""
    settled = Settlement.objects.of(job.tenant).filter(job_id=job.job_id).aggregate(sum=Sum("amount"))["sum"]
    attempts = list(Replica.objects.filter(task__job=job, is_settled=False))
    pool = [row.key for row in attempts if row.charge_uid is None]
    return JobCost(
        charged=settled or ZERO,
        expected=exact(sum((_expected(row, now) for row in attempts), ZERO)),
        own_pool=workloads_cost(tenant=job.tenant, uids=_workloads(pool)) if pool else ZERO,
    )


def _expected(row: Replica, now: datetime) -> Decimal:
    """Whole seconds, as they are charged; nothing of what is lost: nobody knows whether that ran."""
    if row.charge_uid is None or row.seen_from is None or row.lost_at is not None:
        return ZERO
    seconds = max(0, int(((row.seen_until or now) - row.seen_from).total_seconds()))
    return Decimal(row.price_minor) * seconds / _MINOR / _HOUR_S


def _workloads(keys: Iterable[str]) -> list[UUID]:
    found = []
    for row in remote_tasks_named(list(keys)).values():
        try:
            found.append(UUID(row.native_id))
        except ValueError:
            # A number of another kind of centre, of before jobs were charged.
            continue
    return found
