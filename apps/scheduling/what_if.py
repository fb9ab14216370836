"""What-ifs: the real submissions of the last days, and what would have come of them under other settings."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from apps.billing.selectors import workload_costs
from apps.kernel.errors import NotFound
from apps.scheduling.engine.replay import Outcome, Past, jain_permille, percentile, replay, satisfied
from apps.scheduling.models import WhatIf, Workload
from apps.scheduling.snapshots import request_of, snapshot_get
from apps.scheduling.states import WhatIfState

MOST_DAYS = 7
MOST_SUBMISSIONS = 20_000
_WEEK_S = 7 * 86_400
"""The past is replayed a week later, so that it meets the windows of its own weekdays."""
_POINTS = 200
_UNKNOWN_S = 3600


def what_if_list() -> QuerySet[WhatIf]:
    return WhatIf.objects.select_related("made_by").order_by("-created_at", "-pk")


def what_if_get(uid: UUID | str) -> WhatIf:
    row = what_if_list().filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def what_ifs_open() -> QuerySet[WhatIf]:
    """Those that nobody has begun, or that somebody began and did not end for half an hour."""
    stale = timezone.now() - timedelta(minutes=30)
    waiting = WhatIf.objects.filter(state=WhatIfState.WAITING)
    return waiting | WhatIf.objects.filter(state=WhatIfState.RUNNING, began_at__lt=stale)


def what_if_reckon(days: int, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Replay the last `days` days twice, by the rules in force and by `changed` ones; figures and curves of both."""
    until = timezone.now()
    past = past_read(until - timedelta(days=days), until)
    pool = replace(snapshot_get(with_work=False), reservations=())
    until_s = int(until.timestamp()) + _WEEK_S
    outcomes = {
        name: replay(rules, past, until_s=until_s)
        for name, rules in (("before", pool), ("after", replace(pool, **{**changed, "reservations": ()})))
    }
    return {
        "submissions": len(past),
        "span_s": days * 86_400,
        "figures": [
            {"name": name, "before": before, "after": after}
            for (name, before), after in zip(
                _figures(outcomes["before"]).items(), _figures(outcomes["after"]).values(), strict=True
            )
        ],
        "use": {name: _thinned(outcome.use) for name, outcome in outcomes.items()},
        "waits": {name: _spread(outcome) for name, outcome in outcomes.items()},
        "tenants": _tenants(past, outcomes),
    }


def past_read(since: datetime, until: datetime) -> list[Past]:
    """What was really submitted, with how long it ran; the newest MOST_SUBMISSIONS. What was cancelled before it
    started asked for nothing in the end, and is left out."""
    rows = Workload.objects.across().filter(created_at__gte=since, created_at__lt=until)
    rows = rows.exclude(started_at=None, ended_at__isnull=False).select_related("queue", "tenant")
    found = list(rows.order_by("-pk")[:MOST_SUBMISSIONS])
    costs = workload_costs([row.uid for row in found])
    return [_past(row, until, costs.get(row.uid, Decimal(0))) for row in reversed(found)]


def _past(row: Workload, until: datetime, cost: Decimal) -> Past:
    runs_s = row.run_timeout_s or _UNKNOWN_S
    hourly = 0
    if row.started_at is not None:
        ran_s = max(1, int(((row.ended_at or until) - row.started_at).total_seconds()))
        hourly = int(cost * 1_000_000 * 3600 / ran_s)
        # What still runs will run on: as long as it may, where somebody said.
        runs_s = ran_s if row.ended_at else max(ran_s, row.run_timeout_s or 0)
    asked = request_of(row)
    shifted = replace(
        asked,
        submitted_at_s=asked.submitted_at_s + _WEEK_S,
        earliest_start_s=asked.earliest_start_s and asked.earliest_start_s + _WEEK_S,
        deadline_s=asked.deadline_s and asked.deadline_s + _WEEK_S,
        reservation_id=None,
    )
    return Past(shifted, runs_s, hourly)


def _figures(outcome: Outcome) -> dict[str, float | int]:
    waits = list(outcome.waits.values())
    span_s = outcome.use[-1][0] - outcome.use[0][0] if len(outcome.use) > 1 else 0
    return {
        "wait_p50_s": percentile(waits, 50),
        "wait_p95_s": percentile(waits, 95),
        "wait_mean_s": sum(waits) // len(waits) if waits else 0,
        "unstarted": len(outcome.unstarted),
        "use_percent": round(_mean_use(outcome.use, span_s), 1),
        "jain_permille": jain_permille(satisfied(outcome)),
        "money": round(outcome.micros / 1_000_000, 2),
        "preemptions": outcome.preemptions,
        "lost_card_hours": round(outcome.lost / 360_000, 2),
    }


def _mean_use(use: tuple[tuple[int, int], ...], span_s: int) -> float:
    if not span_s:
        return 0.0
    return sum(percent * (end - begin) for (begin, percent), (end, _next) in pairwise(use)) / span_s


def _thinned(use: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """So many points that a curve shows them all; instants as they really were."""
    step = max(1, len(use) // _POINTS)
    return [(at - _WEEK_S, percent) for at, percent in use[::step]]


def _spread(outcome: Outcome) -> list[tuple[int, int]]:
    """Every twentieth of the waits: (percent, seconds)."""
    waits = list(outcome.waits.values())
    return [(percent, percentile(waits, percent)) for percent in range(5, 101, 5)]


def _tenants(past: list[Past], outcomes: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    by_tenant: dict[str, list[str]] = {}
    for each in past:
        by_tenant.setdefault(each.request.tenant_id, []).append(each.request.id)
    return [
        {
            "tenant": tenant,
            "submissions": len(uids),
            **{
                name: percentile([outcome.waits[uid] for uid in uids if uid in outcome.waits], 95)
                for name, outcome in outcomes.items()
            },
        }
        for tenant, uids in sorted(by_tenant.items())
    ]
