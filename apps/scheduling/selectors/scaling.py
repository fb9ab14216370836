"""What the scaling rules of elastic work ask for (ELA-907), and what they look at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Avg, Count, F, FloatField, QuerySet
from django.db.models.functions import Cast

from apps.centre.selectors import centre_zone
from apps.fleet.models import Slice
from apps.kernel.errors import NotFound
from apps.scheduling.models import Queue, ScalingRule, Workload
from apps.scheduling.states import (
    NOT_HELD_BACK,
    ScalingBy,
    WorkloadState,
)

# Older measurements say nothing of now.
_FRESH = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Standing:
    """Elastic work as its rules find it. `target`: what they asked for last, None for nothing; `shares`: how many it
    has, None while it waits; `changed_at`: its start, or its last change of size or of that target."""

    least: int
    most: int
    shares: int | None
    target: int | None
    changed_at: datetime | None
    per: int = 1
    """So many shares are a replica: it has whole ones (ELA-505)."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What rules look at: how many wait in the work's queue, how much of its shares is used in percent (None: it was
    not measured), and the instant."""

    queue_depth: int
    utilisation: float | None
    now: datetime


def target_shares(rules: Sequence[ScalingRule], standing: Standing, seen: Seen) -> int | None:
    """The number of shares that the rules ask for now; None: they set no bound.

    By queue depth and utilisation the target moves by a step of replicas from what the work has: a rule that shrinks
    outweighs one that grows. A time window bounds it. The target from before stays until every rule has cooled down
    (ELA-908).
    """
    measured = [rule for rule in rules if rule.by != ScalingBy.WINDOW]
    # Work that rules steer by measure grows by them alone, not into whatever room there is.
    holds = standing.shares if measured and standing.target is None else standing.target
    found = holds
    if _has_rested(rules, standing, seen.now):
        # While it waits there is nothing to measure.
        steps = [_step(rule, seen) for rule in measured] if standing.shares is not None else []
        found = holds + standing.per * _outweighing(steps) if steps and holds is not None else None
        bounds = [rule.shares for rule in rules if rule.shares and _is_inside(rule, seen.now)]
        found = min([*bounds, found or standing.most]) if bounds else found
    return None if found is None else min(max(found - found % standing.per, standing.least), standing.most)


def _outweighing(steps: Sequence[int]) -> int:
    return min(steps) if min(steps) < 0 else max(steps)


def _step(rule: ScalingRule, seen: Seen) -> int:
    value = seen.queue_depth if rule.by == ScalingBy.QUEUE_DEPTH else seen.utilisation
    if value is None or rule.low < value < rule.high:
        return 0
    is_growth = rule.grows_when_high is (value >= rule.high)
    return rule.step if is_growth else -rule.step


def _is_inside(rule: ScalingRule, now: datetime) -> bool:
    at = now.astimezone(centre_zone())
    minute = at.hour * 60 + at.minute
    return any(day == at.weekday() and begin <= minute < end for day, begin, end in rule.windows)


def _has_rested(rules: Sequence[ScalingRule], standing: Standing, now: datetime) -> bool:
    pause_s = max((rule.cooldown_s for rule in rules), default=0)
    return standing.changed_at is None or now - standing.changed_at >= timedelta(seconds=pause_s)


# --- what is there -----------------------------------------------------------------------------------------------


def rules_of_queue(queue: Queue) -> QuerySet[ScalingRule]:
    return ScalingRule.objects.filter(queue=queue).select_related("made_by")


def rules_of_work(row: Workload) -> QuerySet[ScalingRule]:
    """The work's own; those of its queue hold beside them."""
    return ScalingRule.objects.filter(workload=row).select_related("made_by")


def rule_get(rules: QuerySet[ScalingRule], uid: UUID) -> ScalingRule:
    """One of these rules. Raises NotFound."""
    row = rules.filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def queue_depths(queue_pks: Iterable[int]) -> dict[int, int]:
    """By queue, how many wait in it."""
    rows = Workload.objects.across().filter(
        queue__in=set(queue_pks), state=WorkloadState.PENDING, **NOT_HELD_BACK
    )
    return dict(rows.order_by().values_list("queue").annotate(waiting=Count("pk")))


def utilisations(uids: Iterable[UUID], now: datetime) -> dict[UUID, float]:
    """By workload, how much of the compute that its shares hold they really use, in percent."""
    rows = Slice.plain.filter(workload_uid__in=list(uids), final_at=None, measured_at__gte=now - _FRESH)
    used = Cast(F("delivered_percent") * 100.0 / F("compute_percent"), FloatField())
    rows = rows.filter(delivered_percent__isnull=False).order_by()
    return dict(rows.values_list("workload_uid").annotate(mean=Avg(used)))
