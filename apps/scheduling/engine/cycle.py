"""One scheduling cycle: `plan` turns a snapshot into placements and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from apps.scheduling.engine.fit import Fit, Prospect, Shape, invalid, shape_of
from apps.scheduling.engine.order import arrange
from apps.scheduling.engine.place import Placer
from apps.scheduling.engine.pool import Pool
from apps.scheduling.engine.quota import QuotaTree, Triple, granted
from apps.scheduling.engine.types import (
    Grant,
    Placement,
    Plan,
    Queue,
    QueueState,
    Reason,
    ReasonCode,
    Refusal,
    Request,
    Running,
    Snapshot,
)


def plan(snapshot: Snapshot, *, now: int, seed: int) -> Plan:
    """Judge every waiting request once; `now` in seconds since 1970. The same arguments give the same plan.

    Raises ValueError when the snapshot contradicts itself: a cycle in the tree of queues, a second request or
    queue of one identity.
    """
    return Cycle(snapshot, seed=seed).judge(snapshot.requests, now)


class Cycle:
    """A snapshot being filled up. `plan` judges once; `eta` judges again after each release."""

    def __init__(self, snapshot: Snapshot, *, seed: int) -> None:
        self._policy = snapshot.policy
        self._queues = {queue.id: queue for queue in snapshot.queues}
        _refuse_twins("queue", [queue.id for queue in snapshot.queues])
        self._pool = Pool(snapshot)
        self._fit = Fit(self._pool)
        self._rng = Random(seed)
        self._tenant_quota = QuotaTree(
            ReasonCode.TENANT_QUOTA, dict(snapshot.tenant_quotas), default=snapshot.policy.tenant_default
        )
        self._queue_quota = QuotaTree(
            ReasonCode.QUEUE_QUOTA,
            {queue.id: queue.quota for queue in snapshot.queues},
            parents={queue.id: queue.parent_id for queue in snapshot.queues},
            capacity=self._pool.capacity(),
        )
        for work in snapshot.running:
            self._count(work.tenant_id, work.queue_id, granted(work.grants), 1)
        self._begin()

    def _begin(self) -> None:
        self._placer = Placer(self._pool, self._fit, self._rng)
        self._why: dict[Shape, Reason] = {}
        self._held_by: dict[str, str] = {}

    def judge(self, requests: Iterable[Request], now: int) -> Plan:
        """One pass over the requests in queue order."""
        ordered = arrange(requests, self._queues, self._policy, now)
        _refuse_twins("request", [request.id for request in ordered])
        placements: list[Placement] = []
        refusals: list[Refusal] = []
        waiting: dict[str, int] = {}
        for request in ordered:
            outcome = self._judge(request)
            if isinstance(outcome, Placement):
                placements.append(outcome)
                continue
            waiting[request.queue_id] = position = waiting.get(request.queue_id, 0) + 1
            refusals.append(self._refuse(request, outcome, position, now))
        return Plan(tuple(placements), tuple(refusals))

    def release(self, work: Iterable[Running]) -> None:
        """Take ended work out of the pool and the quotas; what was found full is looked at anew."""
        for ended in work:
            for grant in ended.grants:
                self._pool.give(grant)
            self._count(ended.tenant_id, ended.queue_id, granted(ended.grants), -1)
        self._begin()

    def hopeless(self, request: Request) -> Reason | None:
        """Why the request would not fit even if every device were whole, ready and empty; None when it would."""
        queue = self._queues.get(request.queue_id)
        if queue is None:
            return Reason(ReasonCode.QUEUE_UNKNOWN, (("queue", request.queue_id),))
        reason = invalid(request)
        if reason is not None:
            return reason
        shape = shape_of(request, queue, self._policy)
        return self._fit.why(shape) if self._fit.prospect(shape) is Prospect.NEVER else None

    def prospect(self, request: Request) -> Prospect:
        """Whether the request would be placed if nothing ran and nothing else waited."""
        queue = self._queues.get(request.queue_id)
        if queue is None or invalid(request) or not _admits(queue, request.tenant_id):
            return Prospect.NEVER
        shape = shape_of(request, queue, self._policy)
        if self._exceeds_quota(request, self._fit.least_mib(shape, usable=False)):
            return Prospect.NEVER
        prospect = self._fit.prospect(shape)
        if self._exceeds_quota(request, self._fit.least_mib(shape, usable=True)):
            return min(prospect, Prospect.AFTER_REPAIR)
        return prospect

    def _judge(self, request: Request) -> Placement | Reason:
        queue = self._queues.get(request.queue_id)
        if queue is None:
            return Reason(ReasonCode.QUEUE_UNKNOWN, (("queue", request.queue_id),))
        reason = (
            invalid(request)
            or _barred(request, queue)
            or self._behind(queue)
            or self._shortage(request, _least(request))
        )
        return reason or self._place(request, shape_of(request, queue, self._policy))

    def _behind(self, queue: Queue) -> Reason | None:
        head = self._held_by.get(queue.id)
        return None if head is None else Reason(ReasonCode.BEHIND_HEAD, (("head", head),))

    def _place(self, request: Request, shape: Shape) -> Placement | Reason:
        grants = self._placer.take(shape)
        if grants is None:
            if shape not in self._why:
                self._why[shape] = self._fit.why(shape)
            return self._why[shape]
        if request.exclusive:
            settled = self._settle_whole_cards(request, shape, grants)
            if isinstance(settled, Reason):
                return settled
            grants = settled
        self._count(request.tenant_id, request.queue_id, granted(grants), 1)
        return Placement(request.id, request.tenant_id, request.queue_id, grants, shape.placing)

    def _settle_whole_cards(
        self, request: Request, shape: Shape, grants: tuple[Grant, ...]
    ) -> tuple[Grant, ...] | Reason:
        """Whole cards count with all their memory: where a quota has no room for these, take smaller ones."""
        reason = self._undo_beyond_quota(request, grants)
        if reason is None:
            return grants
        smaller = self._placer.take_smallest(shape)
        if smaller is None:
            return reason
        return self._undo_beyond_quota(request, smaller) or smaller

    def _undo_beyond_quota(self, request: Request, grants: tuple[Grant, ...]) -> Reason | None:
        reason = self._shortage(request, granted(grants))
        if reason is not None:
            self._placer.undo(grants)
        return reason

    def _shortage(self, request: Request, amount: Triple) -> Reason | None:
        return self._tenant_quota.shortage(request.tenant_id, amount) or self._queue_quota.shortage(
            request.queue_id, amount
        )

    def _exceeds_quota(self, request: Request, least_mib: int) -> bool:
        percent, mib, shares = _least(request)
        amount = (percent, max(mib, least_mib), shares)
        return self._tenant_quota.exceeds(request.tenant_id, amount) or self._queue_quota.exceeds(
            request.queue_id, amount
        )

    def _count(self, tenant_id: str, queue_id: str, amount: Triple, sign: int) -> None:
        self._tenant_quota.add(tenant_id, amount, sign)
        self._queue_quota.add(queue_id, amount, sign)

    def _refuse(self, request: Request, reason: Reason, position: int, now: int) -> Refusal:
        prospect = self.prospect(request)
        waits_for_room = prospect is Prospect.AFTER_RELEASES and reason.code in WAITING_FOR_ROOM
        if waits_for_room and self._holds_queue(request, now):
            self._held_by.setdefault(request.queue_id, request.id)
        return Refusal(request.id, request.queue_id, reason, position, permanent=prospect is Prospect.NEVER)

    def _holds_queue(self, request: Request, now: int) -> bool:
        patience = self._policy.patience_s
        if not self._policy.backfill:
            return True
        return patience is not None and now - request.submitted_at_s >= patience


# Only such a head may hold its queue: for it, leaving room empty helps. A tenant at its own quota, a broken
# node or a stopped queue is not served sooner by making others wait.
WAITING_FOR_ROOM = frozenset(
    {
        ReasonCode.QUEUE_QUOTA,
        ReasonCode.CARD_NOT_IDLE,
        ReasonCode.COMPUTE_PERCENT,
        ReasonCode.MEMORY_MIB,
        ReasonCode.COUNT,
        ReasonCode.COUNT_ON_ONE_NODE,
    }
)


def _admits(queue: Queue, tenant_id: str) -> bool:
    return queue.tenants is None or tenant_id in queue.tenants


def _barred(request: Request, queue: Queue) -> Reason | None:
    if queue.state is not QueueState.UP:
        return Reason(ReasonCode.QUEUE_NOT_UP, (("queue", queue.id), ("state", queue.state.value)))
    if not _admits(queue, request.tenant_id):
        return Reason(ReasonCode.TENANT_NOT_ADMITTED, (("queue", queue.id), ("tenant", request.tenant_id)))
    return None


def _least(request: Request) -> Triple:
    """What the request will use at least; whole cards may bring more memory."""
    return (request.shares * request.compute_percent, request.shares * request.memory_mib, request.shares)


def _refuse_twins(kind: str, ids: list[str]) -> None:
    if len(set(ids)) != len(ids):
        twin = next(each for each in ids if ids.count(each) > 1)
        raise ValueError(f"The snapshot has two of the {kind} {twin!r}: read each row once.")
