"""What-ifs: the real submissions of the last days, and what would have come of them under other settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice, pairwise
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import DurationField, ExpressionWrapper, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.selectors.costs import workload_costs
from apps.kernel.errors import InvalidInput, NotFound
from apps.scheduling.engine.simulate.replay import (
    KnownReservation,
    Outcome,
    Past,
    jain_permille,
    percentile,
    replay,
    satisfied,
)
from apps.scheduling.models import Allocation, Reservation, WhatIf, Workload
from apps.scheduling.selectors.workloads import queue_default
from apps.scheduling.snapshot.cluster import queues_read, reservation_of
from apps.scheduling.snapshot.workloads import request_of, snapshot_get
from apps.scheduling.states import WhatIfState, WorkKind

MOST_DAYS = 30
MOST_SUBMISSIONS = 100_000
BUDGET_S = 25 * 60
"""Longer no try may take: after half an hour it would be taken for one whose worker died."""
_POINTS = 200
_UNKNOWN_S = 3600
_CHUNK = 2000


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
    """Replay the last `days` days twice, by the rules in force and by `changed` ones; figures and curves of both.

    Raises InvalidInput where more was submitted than can be replayed, or it would take longer than BUDGET_S.
    """
    until = timezone.now()
    since = until - timedelta(days=days)
    past_check(days, until)
    past, kept = list(past_read(since, until)), kept_read(since, until)
    pool = replace(snapshot_get(with_work=False), reservations=(), queues=queues_read(since, days + 1))
    outcomes = {}
    stop_s = monotonic() + BUDGET_S
    for name, rules in (("before", pool), ("after", replace(pool, **{**changed, "reservations": ()}))):
        outcomes[name] = replay(
            rules,
            past,
            from_s=int(since.timestamp()),
            until_s=int(until.timestamp()),
            kept=kept,
            beat=lambda: _time_check(stop_s),
        )
    return {
        "submissions": sum(not each.carried for each in past),
        "carried": sum(each.carried for each in past),
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


def past_check(days: int, until: datetime) -> None:
    """InvalidInput where the days hold more submissions than are replayed."""
    since = until - timedelta(days=days)
    rows = Workload.objects.across().filter(created_at__gte=since, created_at__lt=until).order_by()
    if rows[: MOST_SUBMISSIONS + 1].count() > MOST_SUBMISSIONS:
        raise InvalidInput(
            _("More than %(most)s submissions in %(days)s days are not replayed.")
            % {"most": MOST_SUBMISSIONS, "days": days},
            cure=_("Choose fewer days."),
            fields={"days": _("fewer")},
        )


def _time_check(stop_s: float) -> None:
    if monotonic() > stop_s:
        raise InvalidInput(
            _("It was not replayed within %(minutes)s minutes.") % {"minutes": BUDGET_S // 60},
            cure=_("Choose fewer days."),
        )


def past_read(since: datetime, until: datetime) -> Iterator[Past]:
    """What was really submitted, with how long it ran; and what was there already and runs or waits in the span. What
    was cancelled before it started asked for nothing in the end, and is left out."""
    rows = Workload.objects.across().filter(created_at__lt=until)
    rows = rows.filter(Q(created_at__gte=since) | Q(ended_at=None) | Q(ended_at__gt=since))
    rows = rows.exclude(started_at=None, ended_at__isnull=False).select_related("queue", "tenant")
    rows = rows.defer("work", "labels", "reason").order_by("pk")
    known = {queue.id for queue in queues_read(since)}
    place = queue_default()
    default = place.code if place else ""
    found = rows.iterator(_CHUNK)
    while chunk := list(islice(found, _CHUNK)):
        costs = workload_costs([row.uid for row in chunk])
        held = _share_seconds([row.pk for row in chunk if row.min_shares is not None], since, until)
        for row in chunk:
            yield _past(row, since, until, costs.get(row.uid, Decimal(0)), held.get(row.pk), known, default)


def _share_seconds(pks: Sequence[int], since: datetime, until: datetime) -> dict[int, int]:
    """Share-seconds that elastic work held within the span."""
    if not pks:
        return {}
    end, begin = Coalesce("released_at", Value(until)), Greatest("created_at", Value(since))
    length = ExpressionWrapper(end - begin, output_field=DurationField())
    rows = Allocation.objects.filter(workload_id__in=pks).exclude(released_at__lte=since)
    sums = rows.order_by().values_list("workload_id").annotate(sum=Sum(length))
    return {pk: int(sum_.total_seconds()) for pk, sum_ in sums}


def _past(
    row: Workload,
    since: datetime,
    until: datetime,
    cost: Decimal,
    held_s: int | None,
    known: set[str],
    default: str,
) -> Past:
    runs_s, hourly, share_s = row.run_timeout_s or _UNKNOWN_S, 0, None
    if row.started_at is not None:
        end = row.ended_at or until
        hourly = int(cost * 1_000_000 * 3600 / max(1, int((end - row.started_at).total_seconds())))
        # Only what it did within the span; what still runs will run on, as long as it may, where somebody said.
        ran_s = max(1, int((end - max(row.started_at, since)).total_seconds()))
        runs_s = ran_s if row.ended_at else max(ran_s, row.run_timeout_s or 0)
        share_s = held_s * runs_s // ran_s if held_s else None
    asked = request_of(row)
    # A queue that is there no more: its work goes to the one of everybody's.
    asked = asked if asked.queue_id in known else replace(asked, queue_id=default)
    is_session = row.kind == WorkKind.SESSION
    return Past(asked, runs_s, hourly, share_s, movable=is_session, carried=row.created_at < since)


def kept_read(since: datetime, until: datetime) -> tuple[KnownReservation, ...]:
    """The reservations in force in the span, each with when it was made and called off."""
    rows = Reservation.objects.filter(from_at__lt=until, to_at__gt=since, created_at__lt=until)
    rows = rows.exclude(cancelled_at__lt=since).select_related("tenant", "queue")
    return tuple(
        KnownReservation(
            reservation_of(row),
            int(row.created_at.timestamp()),
            int((row.cancelled_at or row.to_at).timestamp()),
        )
        for row in rows
    )


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
        "money": round(sum(outcome.micros.values()) / 1_000_000, 2),
        "preemptions": outcome.preemptions,
        "lost_card_hours": round(outcome.lost / 360_000, 2),
        "lost_money": round(outcome.lost_micros / 1_000_000, 2),
        "resizes": outcome.resizes,
        "moves": outcome.moves,
    }


def _mean_use(use: tuple[tuple[int, int], ...], span_s: int) -> float:
    if not span_s:
        return 0.0
    return sum(percent * (end - begin) for (begin, percent), (end, _next) in pairwise(use)) / span_s


def _thinned(use: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """So many points that a curve shows them all."""
    step = max(1, len(use) // _POINTS)
    return list(use[::step])


def _spread(outcome: Outcome) -> list[tuple[int, int]]:
    """Every twentieth of the waits: (percent, seconds)."""
    waits = list(outcome.waits.values())
    return [(percent, percentile(waits, percent)) for percent in range(5, 101, 5)]


def _tenants(past: list[Past], outcomes: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    by_tenant: dict[str, list[str]] = {}
    for each in past:
        if each.carried:
            continue
        by_tenant.setdefault(each.request.tenant_id, []).append(each.request.id)
    return [
        {
            "tenant": tenant,
            "submissions": len(uids),
            **{
                name: percentile([outcome.waits[uid] for uid in uids if uid in outcome.waits], 95)
                for name, outcome in outcomes.items()
            },
            "money": {
                name: round(outcome.micros.get(tenant, 0) / 1_000_000, 2)
                for name, outcome in outcomes.items()
            },
        }
        for tenant, uids in sorted(by_tenant.items())
    ]
