"""Whose turn it is: urgent work first, then queues by priority and weight, tenants by standing, requests by rank.

All keys only grow while a cycle places work (use grows, heads move on), so a heap whose entries are too low at
worst finds the least by correcting what comes up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from apps.scheduling.engine.model.types import Ordering, Policy, Queue
from apps.scheduling.engine.queueing.backlog import Group
from apps.scheduling.engine.queueing.quota import Holder, QuotaTree
from apps.scheduling.engine.queueing.tenant_shares import BY_TENANT, MILLIONTHS, Standing, Tenants

Head: TypeAlias = tuple[int, int, str]
"""Rank, place in line and identity of a request."""
Path: TypeAlias = tuple[tuple[int, int], ...]
"""From the top of the tree down: each queue's priority, the higher the less, and its use for its weight."""


class LineHead(NamedTuple):
    """The next member of a group: what orders it, its place among the group's members, the group."""

    rank: int
    seq: int
    request_id: str
    at: int
    group: Group

    @classmethod
    def of(cls, group: Group, at: int) -> LineHead:
        """The member at that place."""
        entry = group.members[at]
        return cls(entry.rank, entry.seq, entry.request_id, at, group)


class Line:
    """The groups of one queue, or of one tenant in it, the group with the next head on top."""

    __slots__ = ("heads", "tenant_id")

    def __init__(self, tenant_id: str) -> None:
        self.tenant_id = tenant_id
        self.heads: list[LineHead] = []

    def head(self) -> Head:
        first = self.heads[0]
        return first.rank, first.seq, first.request_id


class QueueTurn:
    """One queue with work: its lines, the one to be served next on top."""

    def __init__(
        self, queue: Queue | None, ordering: Ordering, holders: tuple[tuple[Holder, int, int], ...]
    ) -> None:
        self.queue = queue
        self.ordering = ordering
        self.by_tenant = ordering in BY_TENANT
        self.holders = holders
        """From the top down: quota, priority, weight."""
        self.lines: dict[str, Line] = {}
        self.order: list[tuple[Standing, Head, Line]] = []

    def path(self, capacity: tuple[int, int]) -> Path:
        return tuple(
            (-priority, _over(holder, capacity, weight)) for holder, priority, weight in self.holders
        )


def _over(holder: Holder, capacity: tuple[int, int], weight: int) -> int:
    """What the queue uses beyond its guarantee, for its weight; below its guarantee it comes first."""
    if holder.is_below_guarantee:
        return -1
    percent = MILLIONTHS * (holder.used[0] - holder.guaranteed[0]) // capacity[0]
    mib = MILLIONTHS * (holder.used[1] - holder.guaranteed[1]) // capacity[1]
    most = max(percent, mib, 0)
    return most * 1000 // weight if weight > 0 else MILLIONTHS * MILLIONTHS + most


class QueueOrder:
    """Hands out the groups in the order in which their heads are to be judged."""

    def __init__(
        self,
        groups: Iterable[Group],
        queues: Mapping[str, Queue],
        policy: Policy,
        quota: QuotaTree,
        tenants: Tenants,
    ) -> None:
        self._queues = queues
        self._policy = policy
        self._quota = quota
        self._tenants = tenants
        self.turns: dict[str, QueueTurn] = {}
        for group in groups:
            self._enter(group)
        self._top = [(*self._key(turn), queue_id) for queue_id, turn in self.turns.items()]
        heapq.heapify(self._top)

    def _enter(self, group: Group) -> None:
        queue_id = group.sample.queue_id
        turn = self.turns.get(queue_id)
        if turn is None:
            turn = self.turns[queue_id] = self._turn(queue_id)
        tenant_id = group.sample.tenant_id if turn.by_tenant else ""
        line = turn.lines.get(tenant_id)
        if line is None:
            line = turn.lines[tenant_id] = Line(tenant_id)
        heapq.heappush(line.heads, LineHead.of(group, 0))

    def _turn(self, queue_id: str) -> QueueTurn:
        queue = self._queues.get(queue_id)
        holders = []
        each = queue
        while each is not None:
            holders.append((self._quota.holder(each.id), each.priority, each.weight))
            each = self._queues.get(each.parent_id) if each.parent_id is not None else None
        ordering = (queue.ordering if queue else None) or self._policy.ordering
        return QueueTurn(queue, ordering, tuple(reversed(holders)))

    def _key(self, turn: QueueTurn) -> tuple[Path, Head]:
        """The queue's present key; its lines are put in order first."""
        order = turn.order
        if not order:
            for line in turn.lines.values():
                heapq.heappush(order, (self._standing(turn, line), line.head(), line))
        while True:
            standing, head, line = order[0]
            if not turn.by_tenant:
                return turn.path(self._quota.capacity), line.head()
            now = (self._standing(turn, line), line.head())
            if now == (standing, head):
                return turn.path(self._quota.capacity), head
            heapq.heapreplace(order, (*now, line))

    def _standing(self, turn: QueueTurn, line: Line) -> Standing:
        return self._tenants.standing(line.tenant_id, turn.ordering) if turn.by_tenant else (0, 0)

    def path_of(self, queue_id: str) -> Path:
        """Where the queue stands now among all."""
        return self.turns[queue_id].path(self._quota.capacity)

    def head(self) -> tuple[Group, int] | None:
        """The group whose turn it is, and the place of its head among its members; None when all are through."""
        top = self._top
        while top:
            path, head, queue_id = top[0]
            turn = self.turns[queue_id]
            if len(top) > 1 or turn.by_tenant:
                now = self._key(turn)
                if now != (path, head):
                    heapq.heapreplace(top, (*now, queue_id))
                    continue
            first = turn.order[0][2].heads[0]
            return first.group, first.at
        return None

    def advance(self, *, close: bool = False) -> None:
        """The head is judged; `close`: and its whole group with it."""
        turn = self.turns[self._top[0][2]]
        line = turn.order[0][2]
        heads = line.heads
        group, at = heads[0].group, heads[0].at + 1
        if not close and at < len(group.members):
            heapq.heapreplace(heads, LineHead.of(group, at))
            return
        heapq.heappop(heads)
        if not heads:
            heapq.heappop(turn.order)
            if not turn.order:
                heapq.heappop(self._top)
