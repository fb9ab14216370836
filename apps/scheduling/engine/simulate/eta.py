"""When a request is expected to start: cycles replayed over the ends of what runs and waits."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    Eta,
    EtaBasis,
    Feasibility,
    Offer,
    Placement,
    Reason,
    ReasonCode,
    Request,
    RunHistory,
    RunningWorkload,
    Snapshot,
)
from apps.scheduling.engine.state.scheduler_state import SchedulerState

STEPS = 64
"""At most so many moments of release are looked at. Where there are more, neighbours are taken together at
the latest of them, so that an estimate is rather late than early."""

Quantile = Callable[[RunHistory], int]
QUANTILES: tuple[Quantile, ...] = (lambda row: row.p10_s, lambda row: row.p50_s, lambda row: row.p90_s)


def eta(snapshot: Snapshot, request: Request, *, now: int) -> Eta:
    """When the request would start, those already waiting in `snapshot` judged with it in queue order.

    The request may be one of the snapshot's or not yet submitted; then give it the `submitted_seq` it would
    get. Work whose known end has passed counts as ending now. Work without one ends as the snapshot's history
    says; without history nothing is assumed about it. With history the start has an interval: the same once with
    the short and once with the long runs of such work.
    """
    told, guessed = _eta(snapshot, request, now, QUANTILES[1])
    if not snapshot.history or told.basis not in (EtaBasis.KNOWN_ENDS, EtaBasis.UNKNOWN_ENDS):
        return told
    early, _ = _eta(snapshot, request, now, QUANTILES[0])
    late, _ = _eta(snapshot, request, now, QUANTILES[2])
    if told.start_at_s is None:
        return told
    basis = EtaBasis.HISTORY if guessed else told.basis
    first = min(told.start_at_s, told.start_at_s if early.start_at_s is None else early.start_at_s)
    last = max(told.start_at_s, told.start_at_s if late.start_at_s is None else late.start_at_s)
    return replace(told, basis=basis, earliest_s=first, latest_s=last)


def _eta(snapshot: Snapshot, request: Request, now: int, quantile: Quantile) -> tuple[Eta, bool]:
    warm = SchedulerState(
        replace(snapshot, requests=tuple(each for each in snapshot.requests if each.id != request.id))
    )
    warm.request_put(request)
    replay = Replay(warm, now, quantile)
    first = replay.start_of(request, now)
    if first is None:
        return Eta(now, EtaBasis.FREE_NOW), False
    hopeless = _hopeless(warm.prospect(request), first)
    if hopeless is not None:
        return Eta(None, hopeless, first), False
    for at in replay.moments():
        if replay.start_of(request, at) is None:
            return Eta(at, EtaBasis.KNOWN_ENDS, first), replay.has_guessed
    return Eta(None, EtaBasis.UNKNOWN_ENDS, first), replay.has_guessed


def _hopeless(prospect: Feasibility, reason: Reason) -> EtaBasis | None:
    if prospect is Feasibility.NEVER or reason.code in (ReasonCode.DEADLINE_PAST, ReasonCode.WINDOWS_OVER):
        return EtaBasis.NEVER_FITS
    if reason.code is ReasonCode.QUEUE_NOT_UP:
        return EtaBasis.QUEUE_STOPPED
    return EtaBasis.NEEDS_REPAIR if prospect is Feasibility.AFTER_REPAIR else None


class Replay:
    """The pool with a calendar: work ends, what waits takes its place, and that ends in its turn."""

    def __init__(self, warm: SchedulerState, now: int, quantile: Quantile) -> None:
        self._warm = warm
        self._quantile = quantile
        self._ends: list[tuple[int, str]] = []
        self.has_guessed = False
        """Some end that was used is one that history guesses."""
        self._guessed: set[str] = set()
        for work in list(warm.running.values()):
            self._put(work, now)

    def _put(self, work: RunningWorkload, now: int) -> None:
        at = self._end_of(work, now)
        if at is not None:
            heapq.heappush(self._ends, (max(now, at), work.id))

    def _end_of(self, work: RunningWorkload, now: int) -> int | None:
        """The known end, or sooner where such work ends sooner; else what history says."""
        row = history_of(self._warm.history, work)
        if row is None:
            return work.ends_at_s
        guess = work.started_at_s + self._quantile(row)
        if guess <= now:  # it runs longer than such work does: as long again, up to the longest
            guess = max(work.started_at_s + row.p90_s, now + max(1, (now - work.started_at_s) // 2))
        if work.ends_at_s is None:
            self._guessed.add(work.id)
            return guess
        # Estimates rest on what is known; how early it may be, on what is usual.
        return min(guess, work.ends_at_s) if self._quantile is QUANTILES[0] else work.ends_at_s

    def start_of(self, request: Request, at: int) -> Reason | None:
        """Judge all that waits at this moment; None when the request is placed, else why not."""
        made = plan_kept(self._warm, at, 0)
        for placement in made.placements:
            self._start(placement, at)
        self._make_room(made, at)
        refusal = made.refusals.get(request.id)
        return None if refusal is None else refusal.reason

    def _start(self, placement: Placement, at: int) -> None:
        request = self._warm.backlog.request(placement.request_id)
        assert request is not None
        self._warm.request_drop(request.id)
        ends = None if request.duration_s is None else at + request.duration_s
        work = RunningWorkload(
            request.id, placement.tenant_id, placement.queue_id, placement.grants, ends,
            priority=request.priority, preemptible=request.preemptible, started_at_s=at,
        )  # fmt: skip
        self._warm.running_put(work)
        self._put(work, at)

    def _make_room(self, made: Plan, at: int) -> None:
        """What is stopped ends after its grace; what it made room for is kept until then."""
        for each in made.preemptions:
            work = replace(self._warm.running[each.running_id], preempted=True)
            self._warm.running_put(work)
            heapq.heappush(self._ends, (at + self._warm.policy.grace_s, work.id))
        for change in made.resizes:
            work = self._warm.running[change.running_id]
            self._warm.running_put(replace(work, grants=(*work.grants, *change.grants)[: change.shares]))
        self._warm.holds_put(made.nominated_holds)

    def moments(self) -> Iterator[int]:
        """The moments at which something may change, earliest first; before each is handed out its work is gone."""
        batch = -(-(len(self._ends) + len(self._warm.backlog)) // STEPS)
        while self._ends:
            at = heapq.nsmallest(batch, self._ends)[-1][0]
            while self._ends and self._ends[0][0] <= at:
                ended = heapq.heappop(self._ends)[1]
                self._warm.running_drop(ended)
                self.has_guessed = self.has_guessed or ended in self._guessed
            yield at


def history_of(history: tuple[RunHistory, ...], work: RunningWorkload) -> RunHistory | None:
    """The most specific row for the work: of its tenant and queue, of its tenant, of its queue, of all."""
    best: tuple[int, RunHistory] | None = None
    for row in history:
        if row.tenant_id not in (None, work.tenant_id) or row.queue_id not in (None, work.queue_id):
            continue
        weight = 2 * (row.tenant_id is not None) + (row.queue_id is not None)
        if best is None or weight > best[0]:
            best = (weight, row)
    return None if best is None else best[1]


def offer(snapshot: Snapshot, request: Request, *, now: int) -> Offer:
    """A dry run before submission: the start at full share, and the largest share and number of shares that would
    start at once. Memory stays as asked."""
    told = eta(snapshot, request, now=now)
    warm = SchedulerState(
        replace(snapshot, requests=tuple(each for each in snapshot.requests if each.id != request.id))
    )

    def starts(smaller: Request) -> bool:
        warm.request_put(replace(smaller, min_shares=None))
        return plan_kept(warm, now, 0).refusals.get(request.id) is None

    if told.basis is EtaBasis.FREE_NOW:
        return Offer(told, request.compute_percent, request.shares)
    percent = 0 if request.exclusive else request.compute_percent
    per = request.shares_per_replica
    return Offer(
        told,
        _largest(percent, lambda n: starts(replace(request, compute_percent=n))),
        per * _largest(request.shares // per, lambda n: starts(replace(request, shares=n * per))),
    )


def _largest(most: int, works: Callable[[int], bool]) -> int:
    """The largest number up to `most` that works, where all smaller ones do too; 0 for none."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if works(middle):
            least = middle
        else:
            most = middle - 1
    return least
