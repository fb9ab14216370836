"""The queues as a tree: what each may use, uses, borrows and lets wait, its branches included."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Min, Sum

from apps.fleet.selectors import device_list
from apps.scheduling.models import Allocation, Queue, Workload
from apps.scheduling.queue_config.time_windows import Span, weekly_text
from apps.scheduling.selectors.workloads import queue_list
from apps.scheduling.states import (
    NOT_HELD_BACK,
    AllocationState,
    WorkloadState,
)


@dataclass(frozen=True, slots=True)
class Use:
    """What a queue holds and lets wait; of a branch, of all queues in it (ELA-610, ELA-1101)."""

    compute_percent: int = 0
    memory_mib: int = 0
    running: int = 0
    waiting: int = 0
    oldest_at: datetime | None = None

    def plus(self, other: "Use") -> "Use":
        return Use(
            self.compute_percent + other.compute_percent,
            self.memory_mib + other.memory_mib,
            self.running + other.running,
            self.waiting + other.waiting,
            min(filter(None, (self.oldest_at, other.oldest_at)), default=None),
        )


@dataclass(slots=True)
class Branch:
    """A queue in the tree. `use` is of the whole branch, `own` of the queue alone; depth counts from 0.

    `above_percent`: the least hard bound of the queues it is part of; None where none of them has one.
    """

    queue: Queue
    depth: int
    own: Use
    use: Use
    pool_percent: int
    above_percent: int | None = None
    branches: list["Branch"] = field(default_factory=list)

    @property
    def indent(self) -> int:
        """How far it stands to the right: five steps at most, or names had no room."""
        return min(self.depth, 5)

    @property
    def scale_percent(self) -> int:
        """What its use is drawn against: its bound, or the pool."""
        return self.pool_percent if self.bound_percent is None else self.bound_percent

    @property
    def kept_percent(self) -> int:
        """Use within what is its own."""
        return self.use.compute_percent - self.borrowed_percent

    @property
    def borrowed_percent(self) -> int:
        """Use beyond what is the queue's own: its nominal limit, or where it has none its guarantee (if any)."""
        own = self.queue.max_compute_percent
        own = self.queue.guaranteed_compute_percent if own is None else own
        return max(0, self.use.compute_percent - own) if own else 0

    @property
    def bound_percent(self) -> int | None:
        """The hard bound, its own or of a queue it is part of; None where there is none."""
        bounds = [each for each in (self._own_bound, self.above_percent) if each is not None]
        return min(bounds, default=None)

    @property
    def is_bound_above(self) -> bool:
        """Whether a queue it is part of bounds it before its own bound does."""
        return self.above_percent is not None and self.bound_percent != self._own_bound

    @property
    def _own_bound(self) -> int | None:
        most = self.queue.max_compute_percent
        return None if most is None else most + self.queue.borrow_compute_percent

    @property
    def windows(self) -> list[Span]:
        """When its work may start; none: always."""
        return [(each.weekday, each.from_minute, each.to_minute) for each in self.queue.windows.all()]

    @property
    def windows_text(self) -> str:
        return weekly_text(self.windows)


def queue_branch(queue: Queue) -> Branch | None:
    """A queue as the tree shows it; None for one that is no part of it any more."""
    return next((branch for branch in queue_tree() if branch.queue.pk == queue.pk), None)


def queue_tree() -> list[Branch]:
    """Every queue, each before its branches, in the order in which they are served."""
    rows = list(queue_list().prefetch_related("windows", "user_groups"))
    uses, room = _uses(), pool_room()[0]
    below: dict[int | None, list[Queue]] = {}
    known = {row.pk for row in rows}
    for row in rows:
        below.setdefault(row.parent_id if row.parent_id in known else None, []).append(row)
    found: list[Branch] = []
    for row in below.get(None, ()):
        _walk(_branch(row, uses, room, None), below, uses, found)
    return found


def _branch(row: Queue, uses: Mapping[int, Use], room: int, above: Branch | None) -> Branch:
    own = uses.get(row.pk, Use())
    if above is None:
        return Branch(row, 0, own, own, room)
    return Branch(row, above.depth + 1, own, own, room, above.bound_percent)


def _walk(
    branch: Branch,
    below: Mapping[int | None, list[Queue]],
    uses: Mapping[int, Use],
    found: list[Branch],
) -> Branch:
    found.append(branch)
    for child in below.get(branch.queue.pk, ()):
        inner = _walk(_branch(child, uses, branch.pool_percent, branch), below, uses, found)
        branch.branches.append(inner)
        branch.use = branch.use.plus(inner.use)
    return branch


def _uses() -> dict[int, Use]:
    """What each queue's own work holds and how much waits: two questions, whatever the number of queues."""
    waits = Workload.objects.across().filter(state=WorkloadState.PENDING, **NOT_HELD_BACK).order_by()
    counted = {
        pk: (waiting, oldest)
        for pk, waiting, oldest in waits.values_list("queue").annotate(Count("pk"), Min("created_at"))
    }
    held = {
        row["workload__queue"]: row
        for row in Allocation.objects.filter(state=AllocationState.ACTIVE)
        .values("workload__queue")
        .annotate(
            percent=Sum("compute_percent"), mib=Sum("memory_mib"), count=Count("workload", distinct=True)
        )
    }
    found = {}
    for pk in counted.keys() | held.keys():
        part, (waiting, oldest) = held.get(pk, {}), counted.get(pk, (0, None))
        found[pk] = Use(part.get("percent", 0), part.get("mib", 0), part.get("count", 0), waiting, oldest)
    return found


def pool_room() -> tuple[int, int]:
    """What the pool's usable devices can give in all: percent, MiB (ELA-304)."""
    cards = device_list().filter(left_at=None, is_enabled=True).order_by()
    # Of thousands of cards three figures each, and no whole rows.
    rows = cards.values_list("oversubscribe_permille", "memory_mib", "memory_oversubscribe_permille")
    rooms = [(compute // 10, mib * memory // 1000) for compute, mib, memory in rows]
    return sum(percent for percent, _mib in rooms), sum(mib for _percent, mib in rooms)
