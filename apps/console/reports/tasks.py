"""What was submitted, started and ended: waits and run times from the workloads' own instants, exact."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Avg, Count, F, FloatField, Max, Q, Sum, Value
from django.db.models.functions import Coalesce, TruncDate

from apps.console.reports.base import Percentile, Period, Row, report_form, rounded, seconds, within
from apps.scheduling.models import Workload
from apps.scheduling.selectors.queues.waiting import first_runnable_at
from apps.scheduling.states import WorkloadState


def tasks(over: Period) -> Row:
    """What was submitted, started and ended in the period: how long it waited and ran, and how it ended.

    A wait counts in the period of the start, a run in the period of the end. It is waited from when work could run.
    """
    inside = {"gte": over.from_at, "lt": over.to_at}
    every = Workload.objects.across().order_by().annotate(runnable_at=first_runnable_at())
    totals = _task_figures(every, inside)
    sections = {
        "ends": _ends(every.filter(within("ended_at", inside))),
        "queues": _tasks_by(every, "queue__code", inside),
        "tenants": _tasks_by(every, "tenant__schema_name", inside),
        "days": _task_days(every, inside),
    }
    return report_form("tasks", over, totals, sections)


def _measures(inside: Mapping[str, datetime]) -> dict[str, Any]:
    started, ended = within("started_at", inside), within("ended_at", inside)
    waited, ran = seconds("runnable_at", "started_at"), seconds("started_at", "ended_at")
    return {
        "submitted": Count("pk", filter=within("created_at", inside)),
        "started": Count("pk", filter=started),
        "ended": Count("pk", filter=ended),
        "failed": Count("pk", filter=ended & Q(state__in=[WorkloadState.FAILED, WorkloadState.LOST])),
        "wait_s_mean": Avg(waited, filter=started),
        "wait_s_p50": Percentile(waited, 0.5, filter=started),
        "wait_s_p95": Percentile(waited, 0.95, filter=started),
        "wait_s_max": Max(waited, filter=started),
        "run_s_mean": Avg(ran, filter=ended),
        "run_s_p50": Percentile(ran, 0.5, filter=ended),
        "run_s_p95": Percentile(ran, 0.95, filter=ended),
        "run_s_sum": Coalesce(Sum(ran, filter=ended), Value(0), output_field=FloatField()),
    }


def _task_figures(rows: Any, inside: Mapping[str, datetime]) -> Row:
    found = rows.aggregate(**_measures(inside))
    waiting = rows.filter(state=WorkloadState.PENDING).count()
    running = rows.filter(state__in=[WorkloadState.PLACED, WorkloadState.RUNNING]).count()
    return rounded(found) | {"waiting_now": waiting, "running_now": running}


def _tasks_by(rows: Any, field: str, inside: Mapping[str, datetime]) -> list[Row]:
    touched = rows.filter(
        within("created_at", inside) | within("started_at", inside) | within("ended_at", inside)
    )
    groups = touched.values(name=F(field)).annotate(**_measures(inside)).order_by("name")
    return [rounded(row) for row in groups]


def _ends(rows: Any) -> list[Row]:
    groups = rows.values("state", "reason_code").annotate(count=Count("pk")).order_by("-count", "reason_code")
    return [
        {"name": row["reason_code"] or "completed", "state": row["state"], "count": row["count"]}
        for row in groups
    ]


def _task_days(rows: Any, inside: Mapping[str, datetime]) -> list[Row]:
    days: dict[str, Row] = {}
    for figure, field in (("submitted", "created_at"), ("started", "started_at"), ("ended", "ended_at")):
        groups = rows.filter(within(field, inside)).values(day=TruncDate(field)).annotate(count=Count("pk"))
        for row in groups:
            day = days.setdefault(row["day"].isoformat(), {"submitted": 0, "started": 0, "ended": 0})
            day[figure] = row["count"]
    return [{"name": name} | days[name] for name in sorted(days)]
