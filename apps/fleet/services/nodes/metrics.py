"""What work writes of itself, as nodes send it: merged into series by step, and bounded.

Internal to the app's services. A batch that comes twice changes nothing: the same step is the same point, and of
two the later one counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from apps.fleet.models import MetricSeries, Slice
from apps.kernel.actor import Actor
from apps.kernel.service import service
from node_agent.protocol.metric_bounds import NAMES_PER_WORK
from node_agent.protocol.metrics import MetricBatch

POINTS_PER_SERIES = 1_000
METRICS_KEPT = timedelta(days=400)
_PRUNE_BATCH = 2_000
_KEY, _ARRAYS = ("workload_uid", "share", "name"), ("steps", "values", "times")

Key = tuple[UUID, int, str]
Points = dict[int, tuple[float, float]]
"""By step the value, and when it was."""


def metrics_take(batches: Iterable[MetricBatch], rows: Mapping[str, Slice], now: datetime) -> set[UUID]:
    """Save what came, in the order in which it was written; the workloads that it is of. The node's slices are locked,
    so nobody else writes of the same shares."""
    new: dict[Key, Points] = {}
    owners: dict[UUID, Slice] = {}
    for batch in sorted(batches, key=lambda one: (one.slice_uid, one.seq)):
        if (owner := rows.get(batch.slice_uid)) is not None:
            owners[owner.workload_uid] = owner
            _gather(new, batch, owner)
    if not new:
        return set()
    series = MetricSeries.plain.filter(workload_uid__in=owners)
    known = {(uid, share, name): pk for pk, uid, share, name in series.values_list("pk", *_KEY)}
    _add({key: points for key, points in new.items() if key not in known}, owners, known)
    changed = list(series.filter(pk__in=[known[key] for key in new if key in known]))
    for row in changed:
        _put(row, _points(row) | new[row.workload_uid, row.share, row.name])
        row.updated_at = now
    MetricSeries.plain.bulk_update(changed, [*_ARRAYS, "updated_at"])
    return set(owners)


def _gather(new: dict[Key, Points], batch: MetricBatch, row: Slice) -> None:
    for series in batch.series:
        points = new.setdefault((row.workload_uid, row.share, series.name), {})
        points.update(zip(series.steps, zip(series.values, series.times, strict=True), strict=True))


def _add(new: Mapping[Key, Points], owners: Mapping[UUID, Slice], known: Iterable[Key]) -> None:
    """Begin series, of each workload at most so many together."""
    count = Counter(uid for uid, _share, _name in known)
    made = []
    for (uid, share, name), points in new.items():
        count[uid] += 1
        if count[uid] <= NAMES_PER_WORK:
            row = MetricSeries(tenant_id=owners[uid].tenant_id, workload_uid=uid, share=share, name=name)
            _put(row, points)
            made.append(row)
    MetricSeries.plain.bulk_create(made, ignore_conflicts=True)


def _points(row: MetricSeries) -> Points:
    return dict(zip(row.steps, zip(row.values, row.times, strict=True), strict=True))


def _put(row: MetricSeries, points: Points) -> None:
    steps = steps_thinned(sorted(points), POINTS_PER_SERIES)
    row.steps = steps
    row.values = [points[step][0] for step in steps]
    row.times = [points[step][1] for step in steps]


def steps_thinned(steps: Sequence[int], most: int) -> list[int]:
    """All of them, or, where they are too many, half as many as there may be: of equal spans of steps the last each,
    and the very first."""
    if len(steps) <= most:
        return list(steps)
    first, spans = steps[0], most // 2
    width = steps[-1] - first + 1
    last_of = {(step - first) * spans // width: step for step in steps}
    return [first, *(step for step in last_of.values() if step != first)]


@service(recorded=False)
def metrics_prune(*, actor: Actor) -> int:
    """Forget a batch of the series to which nothing was added for 400 days; how many there were."""
    old = MetricSeries.plain.filter(updated_at__lt=timezone.now() - METRICS_KEPT).order_by("updated_at")
    return MetricSeries.plain.filter(pk__in=list(old.values_list("pk", flat=True)[:_PRUNE_BATCH])).delete()[0]
