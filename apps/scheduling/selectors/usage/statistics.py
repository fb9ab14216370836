"""The scheduler's figures of one instant (ELA-1101), and what has happened since the beginning (ELA-2108)."""

from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, Sum

from apps.scheduling.models import Queue, Tally, Workload
from apps.scheduling.states import FINAL_STATES, WorkloadState

_QUEUES = """
SELECT q.code,
       count(*) FILTER (WHERE w.state = 'pending' AND NOT (w.waits_for_work OR w.waits_for_turn)),
       count(*) FILTER (WHERE w.state IN ('placed', 'running', 'stopping')),
       greatest(0, coalesce(extract(epoch FROM now() - min(greatest(w.created_at, w.earliest_start_at,
           w.not_before_at)) FILTER (WHERE w.state = 'pending'
           AND NOT (w.waits_for_work OR w.waits_for_turn))), 0))
FROM scheduling_queue q LEFT JOIN scheduling_workload w ON w.queue_id = q.id AND w.ended_at IS NULL
WHERE q.retired_at IS NULL GROUP BY q.code
"""
_USE = """
SELECT q.code, coalesce(sum(a.compute_percent), 0), coalesce(sum(a.memory_mib), 0)
FROM scheduling_allocation a JOIN scheduling_workload w ON w.id = a.workload_id
     JOIN scheduling_queue q ON q.id = w.queue_id
WHERE a.state = 'active' GROUP BY q.code
"""
_POOL = """
SELECT coalesce(sum(d.oversubscribe_permille / 10), 0), coalesce(sum(d.held_percent), 0)
FROM fleet_device d JOIN fleet_node n ON n.id = d.node_id
WHERE d.left_at IS NULL AND d.is_enabled AND d.health = 'ok' AND n.state IN ('ready', 'drained')
"""


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """One queue; limits are None where there is none. `oldest_wait_s` counts from when work could run."""

    code: str
    pending: int
    running: int
    oldest_wait_s: float
    used_percent: int
    used_mib: int
    max_percent: int | None
    guaranteed_percent: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The whole scheduler: capacity and use in percent of devices."""

    total_percent: int
    held_percent: int
    queues: tuple[QueueFigures, ...]

    @property
    def available_percent(self) -> int:
        return max(0, self.total_percent - self.held_percent)

    @property
    def utilisation(self) -> float:
        """0 to 1; 0 of nothing."""
        return self.held_percent / self.total_percent if self.total_percent else 0.0

    @property
    def pending(self) -> int:
        return sum(queue.pending for queue in self.queues)

    @property
    def running(self) -> int:
        return sum(queue.running for queue in self.queues)


def decision_counts() -> dict[str, int]:
    """Decisions ever made by kind, forgotten ones too."""
    return _tallied(Tally.DECISIONS)


def workload_counts() -> dict[str, int]:
    """Workloads by state: what is open is counted, what has ended is tallied as it ends."""
    rows = Workload.objects.across().filter(state__in=_OPEN).order_by()
    return dict(rows.values_list("state").annotate(count=Count("pk"))) | _tallied(Tally.ENDED)


_OPEN = [state for state in WorkloadState.values if state not in FINAL_STATES]


def _tallied(of: str) -> dict[str, int]:
    sums = Tally.objects.filter(of=of).values_list("kind").annotate(sum=Sum("count"))
    return {kind: int(count) for kind, count in sums if count}


def figures_get() -> Figures:
    """The scheduler's figures now."""
    limits = {
        code: (most, kept)
        for code, most, kept in Queue.objects.filter(retired_at=None).values_list(
            "code", "max_compute_percent", "guaranteed_compute_percent"
        )
    }
    with connection.cursor() as cursor:
        cursor.execute(_USE)
        used = {code: (int(percent), int(mib)) for code, percent, mib in cursor.fetchall()}
        cursor.execute(_QUEUES)
        queues = tuple(
            QueueFigures(
                code, pending, running, float(wait_s), *used.get(code, (0, 0)), *limits.get(code, (None, 0))
            )
            for code, pending, running, wait_s in cursor.fetchall()
        )
        cursor.execute(_POOL)
        total, held = cursor.fetchone()
    return Figures(int(total), int(held), queues)
