"""What would have been: submissions of the past, judged anew under other rules, in simulated time."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    ElasticChange,
    Grant,
    Move,
    Placement,
    Preemption,
    Request,
    Reservation,
    RunningWorkload,
    Snapshot,
)
from apps.scheduling.engine.state.scheduler_state import SchedulerState

STEPS = 20_000
"""At most so many moments are judged: those closer to each other than the span divided by it are one."""
ROUNDS = 4
"""So often room is made at one moment for what could use more of it."""


@dataclass(frozen=True, slots=True)
class Past:
    """A submission as it really was: how long it ran, and what an hour of it cost (millionths).

    `share_s`: of elastic work, the share-seconds that it ran; None: it held all it asked for. `movable`: a session
    that can be moved while it runs. `carried`: it was there before the span that is looked at: it takes its room, and
    its wait is not counted.
    """

    request: Request
    runs_s: int
    cost_per_hour_micros: int = 0
    share_s: int | None = None
    movable: bool = False
    carried: bool = False

    @property
    def share_seconds(self) -> int:
        """How much there was to do."""
        return max(1, self.share_s or self.runs_s * self.request.shares)


@dataclass(frozen=True, slots=True)
class KnownReservation:
    """A reservation, and from when to when it was known: nobody could respect it before it was made."""

    reservation: Reservation
    made_s: int
    gone_s: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a replay, up to its end.

    `waits`: seconds from submission to first start, by request. `unstarted`: those that had not started.
    `asked`, `served`: card-percent-seconds by tenant, what was submitted and what ran within the span.
    `use`: (second, percent of the pool in use), where it changed. `lost`: card-percent-seconds thrown away by
    preemption, `lost_micros` the money for them. `micros`: what ran within the span, in money, by tenant.
    """

    waits: dict[str, int] = field(default_factory=dict)
    unstarted: tuple[str, ...] = ()
    asked: dict[str, int] = field(default_factory=dict)
    served: dict[str, int] = field(default_factory=dict)
    use: tuple[tuple[int, int], ...] = ()
    preemptions: int = 0
    resizes: int = 0
    moves: int = 0
    lost: int = 0
    lost_micros: int = 0
    micros: dict[str, int] = field(default_factory=dict)


def replay(
    rules: Snapshot,
    past: Sequence[Past],
    *,
    until_s: int,
    from_s: int | None = None,
    kept: Sequence[KnownReservation] = (),
    seed: int = 0,
    beat: Callable[[], object] = lambda: None,
) -> Outcome:
    """Judge `past` under the nodes, devices, queues, quotas and policy of `rules`, on a pool that is empty at first.

    All that the engine decides is done: work starts, grows and shrinks, moves, is stopped and begins again. Work has
    to do what it really did, and does it as much sooner as it has more shares. What takes seconds in a pool (notice
    before a stop, a move) takes none here. What is preempted begins anew: nobody knows of its checkpoints.

    Args:
        from_s: where the span begins; with the first submission where nobody says.
        kept: the reservations of the time, beside those of `rules`, which are known throughout.
        beat: called at each moment that is judged; what it raises ends the replay.
    """
    if not past:
        return Outcome()
    pool = replace(rules, requests=(), running=(), past_use=())
    return _Replay(pool, past, until_s, from_s, kept, seed).run(beat)


@dataclass(slots=True)
class _Run:
    """Work that runs, since when with its present shares, and what is left of it in share-seconds."""

    past: Past
    work: RunningWorkload
    left: int
    since_s: int
    end_s: int = 0
    done: int = 0


class _Replay:
    def __init__(
        self,
        rules: Snapshot,
        past: Sequence[Past],
        until_s: int,
        from_s: int | None,
        kept: Sequence[KnownReservation],
        seed: int,
    ) -> None:
        self._warm, self._until_s, self._seed, self._kept = SchedulerState(rules), until_s, seed, kept
        self._fixed = rules.reservations
        self._past = {each.request.id: each for each in past}
        self._arrivals = sorted(
            past, key=lambda each: (each.request.submitted_at_s, each.request.submitted_seq)
        )
        first = self._arrivals[0].request.submitted_at_s
        self._from_s = first if from_s is None else from_s
        self._step_s = max(1, (until_s - self._from_s) // STEPS)
        self._arrived = 0
        self._runs: dict[str, _Run] = {}
        self._ends: list[tuple[int, str]] = []
        self._wakes = list(_wakes(rules, past, kept))
        heapq.heapify(self._wakes)
        self._starts: dict[str, int] = {}
        self._room = sum(device.compute_capacity_percent for device in rules.devices) or 1
        self._held: Counter[str] = Counter()
        self._faded: dict[str, float] = {}
        self._as_of_s = self._from_s
        self._use: list[tuple[int, int]] = []
        self._served: Counter[str] = Counter()
        self._micros: Counter[str] = Counter()
        self._preempted: Counter[str] = Counter()
        self._lost = self._lost_micros = self._resizes = self._moves = 0

    def run(self, beat: Callable[[], object]) -> Outcome:
        at: int | None = self._from_s
        while at is not None and at <= self._until_s:
            beat()
            self._remember(at)
            self._end_all(at)
            self._arrive(at)
            self._cycle(at)
            at = self._next(at)
        return self._outcome()

    def _next(self, at: int) -> int | None:
        """The next moment at which anything may come of judging: something arrives, ends, or may start by the clock."""
        while self._wakes and self._wakes[0] <= at:
            heapq.heappop(self._wakes)
        while self._ends and self._run_that_ends(*self._ends[0]) is None:
            heapq.heappop(self._ends)
        coming = [self._ends[0][0]] if self._ends else []
        coming += self._wakes[:1]
        if self._arrived < len(self._arrivals):
            coming.append(self._arrivals[self._arrived].request.submitted_at_s)
        return max(at + self._step_s, min(coming)) if coming else None

    def _arrive(self, at: int) -> None:
        while self._arrived < len(self._arrivals):
            request = self._arrivals[self._arrived].request
            if request.submitted_at_s > at:
                break
            self._warm.request_put(request)
            self._arrived += 1
        if self._kept:
            known = [each.reservation for each in self._kept if each.made_s <= at < each.gone_s]
            self._warm.reservations_put((*self._fixed, *known))

    def _remember(self, at: int) -> None:
        """Past use as the service layer keeps it: what is held is added, what is older fades."""
        passed_s, half_s = at - self._as_of_s, self._warm.policy.half_life_s
        if passed_s <= 0:
            return
        fade = 0.5 ** (passed_s / half_s) if half_s else 1.0
        for tenant in self._faded.keys() | self._held.keys():
            new = self._held[tenant] / 100 * passed_s * fade**0.5
            self._faded[tenant] = self._faded.get(tenant, 0.0) * fade + new
        self._as_of_s = at
        self._warm.shares_put(
            {tenant: int(used) for tenant, used in self._faded.items()}, self._warm.tenant_weights
        )

    # --- one moment --------------------------------------------------------------------------------------------------

    def _cycle(self, at: int) -> None:
        for _round in range(ROUNDS):
            if not (len(self._warm.backlog) or (self._warm.policy.elastic and self._warm.roles.elastic)):
                break
            decided = plan_kept(self._warm, at, self._seed)
            has_made_room = self._carry_out(decided, at)
            self._warm.holds_put(decided.nominated_holds)
            if not has_made_room:
                break
        self._warm.holds_put(())
        self._use.append((at, 100 * self._held.total() // self._room))

    def _carry_out(self, decided: Plan, at: int) -> bool:
        """Do all of it; whether room was made for what waits."""
        for victim in decided.preemptions:
            self._preempt(victim, at)
        for change in decided.resizes:
            self._resize(change, at)
        for move in decided.moves:
            self._move(move)
        for placement in decided.placements:
            self._start(placement, at)
        shrunk = any(change.for_request_id is not None for change in decided.resizes)
        return bool(decided.preemptions or decided.moves or shrunk)

    def _start(self, placement: Placement, at: int) -> None:
        past = self._past[placement.request_id]
        request = past.request
        self._warm.request_drop(request.id)
        self._starts.setdefault(request.id, at)
        work = RunningWorkload(
            request.id,
            request.tenant_id,
            request.queue_id,
            placement.grants,
            priority=request.priority,
            preemptible=request.preemptible,
            started_at_s=at,
            cost_per_hour_micros=past.cost_per_hour_micros,
            shares=request.shares,
            min_shares=request.min_shares,
            movable=past.movable and not request.exclusive,
            preempted_count=self._preempted[request.id],
            asks=request,
        )
        run = self._runs[request.id] = _Run(past, work, past.share_seconds, at)
        self._held[request.tenant_id] += _percent(placement.grants)
        self._go_on(run, work, at)
        if len(placement.grants) < request.shares:
            heapq.heappush(self._wakes, at + 1)

    def _go_on(self, run: _Run, work: RunningWorkload, at: int) -> None:
        """It runs with these grants from now on, and ends as much sooner or later."""
        run.end_s = at + -(-run.left // len(work.grants))
        duration_s = run.past.request.duration_s
        known_s = None if duration_s is None else max(work.started_at_s + duration_s, run.end_s)
        run.work = replace(work, ends_at_s=known_s)
        self._warm.running_put(run.work)
        heapq.heappush(self._ends, (run.end_s, work.id))

    def _resize(self, change: ElasticChange, at: int) -> None:
        run = self._runs[change.running_id]
        self._advance(run, at)
        grants = (*run.work.grants, *change.grants)[: change.shares]
        self._held[run.work.tenant_id] += _percent(grants) - _percent(run.work.grants)
        self._go_on(run, replace(run.work, grants=grants, resized_at_s=at), at)
        self._resizes += 1
        heapq.heappush(self._wakes, at + max(1, self._warm.policy.hysteresis_s))

    def _move(self, move: Move) -> None:
        run = self._runs[move.running_id]
        grants = list(run.work.grants)
        grants[move.share] = move.to
        run.work = replace(run.work, grants=tuple(grants))
        self._warm.running_put(run.work)
        self._moves += 1

    def _preempt(self, victim: Preemption, at: int) -> None:
        run = self._runs.pop(victim.running_id)
        self._advance(run, at)
        self._gone(run)
        self._lost += run.done * run.past.request.compute_percent
        self._lost_micros += _money(run)
        self._preempted[run.work.id] += 1
        self._warm.request_put(run.past.request)

    def _end_all(self, at: int) -> None:
        while self._ends and self._ends[0][0] <= at:
            end_s, uid = heapq.heappop(self._ends)
            run = self._run_that_ends(end_s, uid)
            if run is not None:
                del self._runs[uid]
                self._finish(run, end_s)

    def _run_that_ends(self, end_s: int, uid: str) -> _Run | None:
        """None where it was resized or preempted since, and ends at another time."""
        run = self._runs.get(uid)
        return run if run is not None and run.end_s == end_s else None

    def _finish(self, run: _Run, at: int) -> None:
        self._advance(run, at)
        self._gone(run)
        tenant = run.work.tenant_id
        self._served[tenant] += run.done * run.past.request.compute_percent
        self._micros[tenant] += _money(run)

    def _advance(self, run: _Run, at: int) -> None:
        """Count what it did since it was last looked at."""
        did = (at - run.since_s) * len(run.work.grants)
        run.done, run.left, run.since_s = run.done + did, max(1, run.left - did), at

    def _gone(self, run: _Run) -> None:
        self._warm.running_drop(run.work.id)
        self._held[run.work.tenant_id] -= _percent(run.work.grants)

    # --- what came of it ---------------------------------------------------------------------------------------------

    def _outcome(self) -> Outcome:
        for run in self._runs.values():
            self._finish(run, max(self._until_s, run.since_s))
        asked: Counter[str] = Counter()
        for each in self._arrivals:
            asked[each.request.tenant_id] += each.share_seconds * each.request.compute_percent
        new = [each.request for each in self._arrivals if not each.carried]
        return Outcome(
            waits={
                each.id: self._starts[each.id] - each.submitted_at_s
                for each in new
                if each.id in self._starts
            },
            unstarted=tuple(each.id for each in new if each.id not in self._starts),
            asked=dict(asked),
            served=dict(self._served),
            use=tuple(self._use),
            preemptions=self._preempted.total(),
            resizes=self._resizes,
            moves=self._moves,
            lost=self._lost,
            lost_micros=self._lost_micros,
            micros=dict(self._micros),
        )


def _wakes(rules: Snapshot, past: Sequence[Past], kept: Sequence[KnownReservation]) -> Iterator[int]:
    """The instants at which something may start though nothing arrives and nothing ends."""
    for queue in rules.queues:
        yield from (window.from_s for window in queue.windows)
    for each in past:
        yield from (window.from_s for window in each.request.windows)
        if each.request.earliest_start_s is not None:
            yield each.request.earliest_start_s
    for reservation in (*rules.reservations, *(each.reservation for each in kept)):
        yield from (reservation.from_s, reservation.to_s)
    for row in kept:
        yield from (row.made_s, row.gone_s)


def _percent(grants: Sequence[Grant]) -> int:
    return sum(grant.compute_percent for grant in grants)


def _money(run: _Run) -> int:
    """What all it did cost, in millionths: as much for each share-second as it really cost."""
    past = run.past
    return past.cost_per_hour_micros * past.runs_s * run.done // (3600 * past.share_seconds)


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
