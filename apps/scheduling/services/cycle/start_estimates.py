"""What work is told of its start: before it is submitted, when it begins to wait, and whether that came true."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from functools import cache
from time import monotonic

from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.prepared_queries import prepared
from apps.kernel.service import service
from apps.scheduling.models import StartEstimate, Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.forecasts.forecast import (
    Expectation,
    Now,
    by_pace,
    expectation_of,
    is_long_line,
    offer_of,
    pace_of,
    snapshot_with_history,
)
from apps.scheduling.services.workloads.submission.submit import workload_draft
from apps.scheduling.states import (
    NOT_HELD_BACK,
    WorkloadState,
)
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant

AT_ONCE = 50
BUDGET_S = 2.0
"""An estimate takes a look at the whole pool: so many, or as many as fit into the time, are made in one go."""
_LOCK = 0x57656977


@service(P.OPERATE, recorded=False)
def workload_dry_run(
    *, actor: Actor, tenant: Tenant, asked: WorkloadRequest
) -> tuple[Workload, Expectation, Now | None]:
    """When such work would start if it were submitted now, and with how much it could start at once. Refused for the
    same reasons as the submission would be; nothing is kept."""
    # When it starts does not depend on what is run: a question need not name a program.
    row, _amounts = workload_draft(actor, tenant, replace(asked, argv=asked.argv or ("true",), array=""))
    return row, *offer_of(row)


@service(recorded=False)
def start_estimates_make(*, actor: Actor) -> int:
    """Estimate the start of work that began to wait and was told none yet, oldest first; how many were made.

    A start is estimated once: it is what the submitter was told, and is scored as such.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        # Somebody makes them already.
        if not cursor.fetchone()[0]:
            return 0
    waiting = list(workloads_unestimated())
    if not waiting:
        return 0
    snapshot, now = None if is_long_line() else snapshot_with_history(), timezone.now()
    # Of a long line one pace tells all of a queue.
    pace = cache(lambda queue_pk: pace_of(queue_pk, now))
    until_s, made = monotonic() + BUDGET_S, []
    for row in waiting:
        found = expectation_of(row, snapshot) if snapshot else by_pace(row, now, pace(row.queue_id))
        made.append(_estimate(row, found))
        if monotonic() > until_s:
            break
    return len(StartEstimate.objects.bulk_create(made, ignore_conflicts=True))


def workloads_unestimated() -> QuerySet[Workload]:
    """Waiting work without an estimate. Asked for each in turn: a join would read every estimate ever made."""
    estimate = StartEstimate.objects.filter(workload=OuterRef("pk")).values("pk")
    rows = Workload.objects.across().filter(state=WorkloadState.PENDING, attempt=1, **NOT_HELD_BACK)
    rows = rows.annotate(estimate=Subquery(estimate)).filter(estimate=None)
    return rows.select_related("queue", "tenant").order_by("pk")[:AT_ONCE]


def _estimate(row: Workload, found: Expectation) -> StartEstimate:
    return StartEstimate(
        workload=row,
        queue=row.queue,
        basis=found.basis,
        start_at=found.start_at,
        low_at=found.low_at,
        high_at=found.high_at,
    )


_SCORE = """
UPDATE scheduling_startestimate SET started_at = %(at)s,
    error_s = round(extract(epoch FROM %(at)s - start_at)), is_kept = (%(at)s BETWEEN low_at AND high_at)
WHERE workload_id = ANY(%(pks)s) AND started_at IS NULL
"""


def start_estimates_score(workload_pks: Collection[int], at: datetime | None = None) -> None:
    """Write beside the estimates of work that is placed for the first time whether they came true; one statement,
    whatever their number. A second call changes nothing."""
    with prepared(len(workload_pks)) as cursor:
        cursor.execute(_SCORE, {"at": at or timezone.now(), "pks": list(workload_pks)})
