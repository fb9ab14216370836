"""What work held, waited and came to over a past time: of the whole centre or of one tenant, for statistics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.utils.translation import get_language

from apps.scheduling.models import Allocation, Queue, Workload
from apps.scheduling.states import DecisionKind, WorkloadState
from apps.tenancy.models import Tenant

BROKEN_STATES = (WorkloadState.FAILED, WorkloadState.LOST)
# A share is cut at the edges of the stretches that it touches, so that work of minutes costs one row. What is held
# still and what was given back are looked up apart: each has an index, and both together would have none.
_HELD = """
WITH shares AS (
    SELECT workload_id, compute_percent, created_at, %(end)s AS until_at
    FROM scheduling_allocation
    WHERE state = 'active' AND released_at IS NULL AND created_at < %(end)s
    UNION ALL
    SELECT workload_id, compute_percent, created_at, released_at
    FROM scheduling_allocation WHERE released_at > %(begin)s AND created_at < %(end)s
)
SELECT w.tenant_id, place, sum(extract(epoch FROM
         least(s.until_at, (%(edges)s::timestamptz[])[place + 1])
         - greatest(s.created_at, (%(edges)s::timestamptz[])[place])) * s.compute_percent)
FROM shares s JOIN scheduling_workload w ON w.id = s.workload_id
     CROSS JOIN LATERAL generate_series(
         greatest(width_bucket(s.created_at, %(edges)s::timestamptz[]), 1),
         least(width_bucket(s.until_at, %(edges)s::timestamptz[]), %(last)s)) place
GROUP BY w.tenant_id, place
"""
# Work waits from a step that leaves it waiting to its next step. Steps that change nothing of that are left out.
_WAITS = """
WITH steps AS (
    SELECT d.workload_id, d.kind, d.code, d.at, w.ended_at,
           lead(d.at) OVER (PARTITION BY d.workload_id ORDER BY d.at, d.id) AS next_at
    FROM scheduling_decision d JOIN scheduling_workload w ON w.id = d.workload_id
    WHERE w.created_at < %(end)s AND (w.ended_at IS NULL OR w.ended_at > %(begin)s)
          AND d.kind = ANY(%(steps)s) AND (%(tenant)s::bigint IS NULL OR w.tenant_id = %(tenant)s)
), spans AS (
    SELECT workload_id, code, greatest(at, %(begin)s) AS since_at,
           least(coalesce(next_at, ended_at, %(end)s), %(end)s) AS till_at
    FROM steps WHERE kind = ANY(%(waiting)s)
)
SELECT coalesce(named.cause, %(otherwise)s) AS cause, count(DISTINCT workload_id),
       extract(epoch FROM sum(till_at - since_at))
FROM spans LEFT JOIN unnest(%(codes)s::text[], %(causes)s::text[]) AS named(code, cause) USING (code)
WHERE till_at > since_at GROUP BY 1
"""
_WAITING = (
    DecisionKind.SUBMITTED, DecisionKind.WAITING, DecisionKind.PREEMPTED, DecisionKind.RESUMED,
    DecisionKind.REQUEUED,
)  # fmt: skip
_STEPS = (*_WAITING, DecisionKind.PLACED, DecisionKind.STARTED, DecisionKind.SUSPENDED, DecisionKind.ENDED)


@dataclass(frozen=True, slots=True)
class TenantPart:
    """What a tenant's work held in one stretch of time, its number counted from 0: percent of a device times
    seconds, by the shares as they are now."""

    tenant_id: int
    stretch: int
    percent_s: float


@dataclass(frozen=True, slots=True)
class WaitingCause:
    """For how long work waited for one cause, in seconds, and how many pieces of work did."""

    cause: str
    count: int
    waited_s: float


@dataclass(frozen=True, slots=True)
class EndReason:
    """How much work ended with one reason code, and of how many tenants it was."""

    code: str
    count: int
    tenants: int


def work_across(tenant: Tenant | None = None) -> QuerySet[Workload]:
    """All work there is and was, of every tenant or of one, in no order: operators' statistics only."""
    rows = Workload.objects.across().order_by()
    return rows.filter(tenant=tenant) if tenant else rows


def tenant_parts(edges: Sequence[datetime]) -> list[TenantPart]:
    """What was held from the first edge to the last, by tenant and by the stretches between the edges, which ascend."""
    asked: dict[str, Any] = {
        "edges": list(edges),
        "last": len(edges) - 1,
        "begin": edges[0],
        "end": edges[-1],
    }
    with connection.cursor() as cursor:
        cursor.execute(_HELD, asked)
        return [
            TenantPart(tenant, place - 1, float(percent_s)) for tenant, place, percent_s in cursor.fetchall()
        ]


def share_list(slice_uids: Iterable[UUID]) -> QuerySet[Allocation]:
    """The shares of some slices, each with its workload."""
    return Allocation.objects.filter(slice_uid__in=slice_uids).select_related("workload").order_by()


def waiting_causes(
    *,
    from_at: datetime,
    end_at: datetime,
    causes: Mapping[str, str],
    otherwise: str,
    tenant: Tenant | None = None,
) -> list[WaitingCause]:
    """How long how much work waited within [from_at, end_at), by the cause of what stood on its time line meanwhile.

    Work that still waits waits until `end_at`.

    Args:
        causes: the cause of each reason code.
        otherwise: the cause of all other codes, and of what comes before the scheduler's first reason.
    """
    asked: dict[str, Any] = {
        "begin": from_at,
        "end": end_at,
        "tenant": tenant.pk if tenant else None,
        "steps": list(_STEPS),
        "waiting": list(_WAITING),
        "codes": list(causes),
        "causes": list(causes.values()),
        "otherwise": otherwise,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WAITS, asked)
        return [WaitingCause(cause, count, float(waited_s)) for cause, count, waited_s in cursor.fetchall()]


def broken_reasons(ended: Q, tenant: Tenant | None = None) -> list[EndReason]:
    """Why work failed or was lost, of what `ended` takes in: most often first."""
    groups = work_across(tenant).filter(ended, state__in=BROKEN_STATES).values("reason_code")
    groups = groups.annotate(count=Count("pk"), met=Count("tenant", distinct=True)).order_by(
        "-count", "reason_code"
    )
    return [EndReason(row["reason_code"], row["count"], row["met"]) for row in groups]


def queue_names() -> dict[str, str]:
    """What each queue is called in the reader's language, by its code; those that are no more too."""
    is_chinese = (get_language() or "").startswith("zh")
    return dict(Queue.objects.values_list("code", "name_zh" if is_chinese else "name_en"))
