"""What would have been: submissions of the past, judged anew under other rules, in simulated time."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from apps.scheduling.engine.types import Grant, Plan, Preemption, Request, Running, Snapshot
from apps.scheduling.engine.warm import Warm

STEPS = 3000
"""At most so many cycles are run: moments closer to each other than the span divided by it are judged together."""


@dataclass(frozen=True, slots=True)
class Past:
    """A submission as it really was: how long it ran, and what an hour of it cost (millionths)."""

    request: Request
    runs_s: int
    cost_per_hour_micros: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a replay, up to its end.

    `waits`: seconds from submission to first start, by request. `unstarted`: those that had not started.
    `asked`, `served`: card-percent-seconds by tenant, what was submitted and what ran within the span.
    `use`: (second, percent of the pool in use), where it changed. `lost`: card-percent-seconds thrown away by
    preemption. `micros`: what ran within the span, in money.
    """

    waits: dict[str, int] = field(default_factory=dict)
    unstarted: tuple[str, ...] = ()
    asked: dict[str, int] = field(default_factory=dict)
    served: dict[str, int] = field(default_factory=dict)
    use: tuple[tuple[int, int], ...] = ()
    preemptions: int = 0
    lost: int = 0
    micros: int = 0


def replay(rules: Snapshot, past: Sequence[Past], *, until_s: int, seed: int = 0) -> Outcome:
    """Judge `past` under the nodes, devices, queues, quotas and policy of `rules`, on a pool that is empty at first.

    Work runs as long as it really did. What is preempted begins again: nobody knows of its checkpoints. Sizes stay
    as they are at the start, and nothing is moved.
    """
    if not past:
        return Outcome()
    policy = replace(rules.policy, elastic=False, consolidate=False)
    return _Replay(replace(rules, requests=(), running=(), policy=policy), past, until_s, seed).run()


class _Replay:
    def __init__(self, rules: Snapshot, past: Sequence[Past], until_s: int, seed: int) -> None:
        self._warm, self._until_s, self._seed = Warm(rules), until_s, seed
        self._past = {each.request.id: each for each in past}
        self._arrivals = sorted(
            past, key=lambda each: (each.request.submitted_at_s, each.request.submitted_seq)
        )
        self._running: dict[str, Running] = {}
        self._ends: list[tuple[int, str, int]] = []
        self._starts: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._room = sum(device.compute_capacity_percent for device in rules.devices) or 1
        self._used = 0
        self._use: list[tuple[int, int]] = []
        self._served: dict[str, int] = {}
        self._micros = self._lost = self._preemptions = 0

    def run(self) -> Outcome:
        first = self._arrivals[0].request.submitted_at_s
        step = max(1, (self._until_s - first) // STEPS)
        arrived, at = 0, first
        while at <= self._until_s:
            self._end_all(at)
            while arrived < len(self._arrivals) and self._arrivals[arrived].request.submitted_at_s <= at:
                self._warm.request_put(self._arrivals[arrived].request)
                arrived += 1
            self._cycle(at)
            coming = [self._ends[0][0]] if self._ends else []
            if arrived < len(self._arrivals):
                coming.append(self._arrivals[arrived].request.submitted_at_s)
            if not coming:
                break
            at = max(at + step, min(coming))
        return self._outcome()

    def _cycle(self, at: int) -> None:
        decided = self._warm.plan(at, self._seed)
        for victim in decided.preemptions:
            self._preempt(victim, at)
        self._start_all(decided, at)
        if decided.preemptions:
            # Their room is there at once: a grace period of seconds is nothing beside the waits that are compared.
            self._warm.holds_put(decided.freed_holds)
            self._start_all(self._warm.plan(at, self._seed), at)
            self._warm.holds_put(())
        self._use.append((at, 100 * self._used // self._room))

    def _start_all(self, decided: Plan, at: int) -> None:
        for placement in decided.placements:
            self._warm.request_drop(placement.request_id)
            self._start(self._past[placement.request_id].request, placement.grants, at)

    def _start(self, request: Request, grants: tuple[Grant, ...], at: int) -> None:
        past = self._past[request.id]
        # Elastic work that got fewer shares takes as much longer.
        runs_s = max(1, past.runs_s * request.shares // len(grants))
        work = Running(
            request.id,
            request.tenant_id,
            request.queue_id,
            grants,
            None if request.duration_s is None else at + max(request.duration_s, runs_s),
            priority=request.priority,
            preemptible=request.preemptible,
            started_at_s=at,
            cost_per_hour_micros=past.cost_per_hour_micros,
            shares=request.shares,
            min_shares=request.min_shares,
            asks=request,
        )
        self._running[work.id] = work
        self._warm.running_put(work)
        self._starts.setdefault(request.id, at)
        self._since[request.id] = at
        self._used += _percent(grants)
        heapq.heappush(self._ends, (at + runs_s, request.id, at))

    def _end_all(self, at: int) -> None:
        while self._ends and self._ends[0][0] <= at:
            end, uid, since = heapq.heappop(self._ends)
            # One that was preempted since began again, and ends later.
            if uid in self._running and self._since[uid] == since:
                self._warm.running_drop(uid)
                self._count(self._running.pop(uid), end)

    def _count(self, work: Running, end: int) -> None:
        percent, ran_s = _percent(work.grants), end - self._since[work.id]
        self._used -= percent
        self._served[work.tenant_id] = self._served.get(work.tenant_id, 0) + percent * ran_s
        self._micros += work.cost_per_hour_micros * ran_s // 3600

    def _preempt(self, victim: Preemption, at: int) -> None:
        work = self._running.pop(victim.running_id)
        self._warm.running_drop(work.id)
        percent = _percent(work.grants)
        self._used -= percent
        self._lost += percent * (at - self._since[work.id])
        self._preemptions += 1
        self._warm.request_put(self._past[work.id].request)

    def _outcome(self) -> Outcome:
        for uid in list(self._running):
            end = max(self._until_s, self._since[uid])
            self._count(self._running.pop(uid), end)
        asked: dict[str, int] = {}
        for each in self._arrivals:
            request = each.request
            amount = request.shares * request.compute_percent * each.runs_s
            asked[request.tenant_id] = asked.get(request.tenant_id, 0) + amount
        waits = {
            each.request.id: self._starts[each.request.id] - each.request.submitted_at_s
            for each in self._arrivals
            if each.request.id in self._starts
        }
        return Outcome(
            waits=waits,
            unstarted=tuple(each.request.id for each in self._arrivals if each.request.id not in waits),
            asked=asked,
            served=dict(self._served),
            use=tuple(self._use),
            preemptions=self._preemptions,
            lost=self._lost,
            micros=self._micros,
        )


def _percent(grants: Sequence[Grant]) -> int:
    return sum(grant.compute_percent for grant in grants)


def percentile(values: Sequence[int], percent: int) -> int:
    """The smallest value that at least `percent` of 100 of them do not exceed; 0 of none."""
    if not values:
        return 0
    ordered = sorted(values)
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


def jain_permille(shares: Sequence[float]) -> int:
    """Jain's index of fairness, in thousandths: 1000 where all are served alike, 1000/n where one has it all."""
    square = sum(shares) ** 2
    squares = sum(share * share for share in shares)
    return round(1000 * square / (len(shares) * squares)) if squares else 1000


def satisfied(outcome: Outcome) -> list[float]:
    """By tenant: how much of what it asked for ran within the span."""
    return [
        outcome.served.get(tenant, 0) / amount for tenant, amount in sorted(outcome.asked.items()) if amount
    ]
