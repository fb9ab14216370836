"""Who may be shrunk or stopped for a request, the least harm first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from apps.scheduling.engine.model.types import (
    ElasticChange,
    Grant,
    HoldKind,
    Ordering,
    Preemption,
    Queue,
    Request,
    RunningWorkload,
)
from apps.scheduling.engine.preemption.fair_share_balance import FairShareBalance
from apps.scheduling.engine.queueing.quota import ZERO, Holder, Triple, granted
from apps.scheduling.engine.resources.running_index import staying_grants
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.pass_state import PassState

MOST_UNITS = 2000
"""So many are looked at for one request, of the lowest priorities first."""
LOWEST = -(1 << 70)

_RANK = 1 << 40
"""Beyond every priority of work."""
_FIRM = 1 << 60
"""Beyond every standing: what is not preemptible is the last to be stopped."""

Harm = tuple[int, int, int, int, int, str]

Loss = tuple[int, int, int, int, int]


class Unit(NamedTuple):
    """What can be freed in one piece: a share or replica of elastic work, or work as a whole."""

    work: RunningWorkload
    grants: tuple[Grant, ...]
    stops: bool
    share: int = 0
    """Of a share, or the first of a replica: its place among the work's grants; the last go first."""

    @classmethod
    def of(cls, work: RunningWorkload, grants: tuple[Grant, ...]) -> Unit:
        """What is leaving already."""
        return cls(work, grants, work.preempted)

    def follows(self, other: Unit) -> bool:
        """Whether this one cannot stay freed when the other is spared."""
        return self.work.id == other.work.id and (self.stops or self.share < other.share)


def queue_ranks(queues: Mapping[str, Queue]) -> dict[str, int]:
    """By queue its place in the order in which queues are served, 0 for the least: siblings by priority, those below
    them by theirs. A total order, so that no two works can stop each other in turn."""
    paths = {queue_id: tuple(each.priority for each in _line(queues, queue_id)) for queue_id in queues}
    deep = max(map(len, paths.values()), default=0)
    whole = {queue_id: path + (0,) * (deep - len(path)) for queue_id, path in paths.items()}
    places = {path: place for place, path in enumerate(sorted(set(whole.values())))}
    return {queue_id: places[path] for queue_id, path in whole.items()}


def _line(queues: Mapping[str, Queue], queue_id: str) -> list[Queue]:
    """The queue and those above it, the uppermost first."""
    found = []
    at: str | None = queue_id
    while at is not None and at in queues:
        found.append(queues[at])
        at = queues[at].parent_id
    return found[::-1]


class Victims:
    """The choice of one pass."""

    def __init__(self, pass_: PassState) -> None:
        self._pass = pass_
        self._reasons: dict[str, str] = {}
        self._balance: FairShareBalance | None = None

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return queue_ranks(self._pass.state.queues)

    def standing(self, work: RunningWorkload | Request) -> int:
        """How important it is: the priority of its queue outranks its own (PLAT-CLU-51)."""
        return self._standing(work.queue_id, work.priority)

    def _standing(self, queue_id: str, priority: int) -> int:
        return self._ranks.get(queue_id, 0) * _RANK + priority

    def shrinkable(self, request: Request, shape: Shape, doomed: set[str]) -> list[Unit]:
        """Shares beyond the least of elastic work that is no dearer than the request, or of another queue when the
        request takes a guarantee back: they were lent (ELA-809)."""
        units, own, owed = [], self.standing(request), self._owed(request)
        for work in self._pass.state.roles.elastic.values():
            least = work.min_shares or 1
            if work.id in doomed or len(work.grants) <= least:
                continue
            if self.standing(work) > own and not self._borrows(work, owed):
                continue
            per = work.asks.shares_per_replica if work.asks else 1
            for index in range(len(work.grants) - per, least - 1, -per):
                units.append(Unit(work, work.grants[index : index + per], False, index))
        units = self._helpful(units, shape)
        units.sort(key=lambda unit: (self.standing(unit.work), -unit.share, unit.work.id))
        return self._sparing(units, self._mine(request))[:MOST_UNITS]

    def _sparing(self, units: list[Unit], mine: set[Holder]) -> list[Unit]:
        """The shares that nobody's guarantee needs; of each work the last ones."""
        going: dict[Holder, Triple] = {}
        needed: set[str] = set()
        found = []
        for unit in units:
            if unit.work.id not in needed and self._spares_guarantees(unit, mine, going):
                found.append(unit)
            else:
                needed.add(unit.work.id)
        return found

    def stoppable(self, request: Request, shape: Shape, doomed: set[str], lent: list[Unit]) -> list[Unit]:
        """Work that may be stopped for the request, once the lent shares are gone: preemptible work of lower priority,
        or beyond the part of a tenant that borrowed its tenant's (ELA-1004); and whatever borrowed its queue's
        guarantee, preemptible or not (ELA-604)."""
        state = self._pass.state
        queue = state.queues[request.queue_id]
        owed = self._owed(request)
        by_priority = state.policy.preemption and queue.preempts
        fair = self._fair_for(request) if by_priority else None
        units: list[Unit] = []
        if not by_priority and owed is None:
            return units
        mine, going = self._mine(request), dict[Holder, Triple]()
        shrunk: dict[str, int] = {}
        for unit in lent:
            self._spares_guarantees(unit, mine, going)
            shrunk[unit.work.id] = min(unit.share, shrunk.get(unit.work.id, unit.share))
        own = self.standing(request)
        for standing, works in self._by_standing(owed):
            lower = by_priority and standing < own
            if not lower and owed is None and fair is None:
                break
            found = [Unit(work, staying_grants(work)[: shrunk.get(work.id)], True)
                     for work in works if work.id not in doomed and self._ripe(work)]  # fmt: skip
            for unit in sorted(self._helpful(found, shape), key=self._harm):
                reason = self._reason(unit, lower=lower, owed=owed, fair=fair)
                if reason and self._spares_guarantees(unit, mine, going):
                    self._reasons[unit.work.id] = reason
                    units.append(unit)
                    self._spend(unit)
            if len(units) >= MOST_UNITS:
                break
        if self._balance is not None:
            self._balance.restore()
        return units[:MOST_UNITS]

    def _by_standing(self, owed: Holder | None) -> list[tuple[int, Iterable[RunningWorkload]]]:
        """What may be stopped, the least important first; for a guarantee, at last what is not preemptible."""
        found: dict[int, list[dict[str, RunningWorkload]]] = {}
        roles = self._pass.state.roles
        for key, works in roles.preemptible.items():
            found.setdefault(self._standing(*key), []).append(works)
        if owed is not None:
            for key, works in roles.firm.items():
                if owed not in self._line(key[0]):
                    found.setdefault(_FIRM + self._standing(*key), []).append(works)
        ordered = sorted(found.items(), key=lambda each: each[0])
        return [(standing, chain.from_iterable(map(dict.values, parts))) for standing, parts in ordered]

    def _fair_for(self, request: Request) -> Ordering | None:
        """The measure by which the request's tenant may take its part back; None where it may not."""
        if self._balance is None:
            self._balance = FairShareBalance(self._pass)
        ordering = self._balance.ordering(request.queue_id)
        return ordering if ordering and self._balance.owes(request, ordering) else None

    def _spend(self, unit: Unit) -> None:
        if self._balance is not None:
            self._balance.spend(unit.work.tenant_id, unit.grants)

    def _mine(self, request: Request) -> set[Holder]:
        return set(self._line(request.queue_id))

    def _reason(self, unit: Unit, *, lower: bool, owed: Holder | None, fair: Ordering | None) -> str:
        """By which right the work may be stopped, "" by none. What was preempted often enough is spared, but for what
        is another queue's own (ELA-812)."""
        limit = self._pass.state.policy.preempt_limit
        spared = not unit.work.preemptible or (limit is not None and unit.work.preempted_count >= limit)
        if lower and not spared:
            return "priority"
        if self._borrows(unit.work, owed):
            return "reclaim"
        return "fair_share" if not spared and fair is not None and self._is_beyond(unit, fair) else ""

    def _line(self, queue_id: str) -> tuple[Holder, ...]:
        return self._pass.state.queue_quota.holder(queue_id).line

    def _borrows(self, work: RunningWorkload, owed: Holder | None) -> bool:
        """Whether the work is of another queue than the one whose guarantee is taken back; that its own queue's
        guarantee stays is looked at where it is chosen."""
        return owed is not None and owed not in self._line(work.queue_id)

    def _is_beyond(self, unit: Unit, fair: Ordering) -> bool:
        """Whether the work's tenant has its part without it. Work of queues that do not go by tenant is left alone."""
        balance, work = self._balance, unit.work
        assert balance is not None
        return balance.ordering(work.queue_id) is not None and balance.spares(
            work.tenant_id, unit.grants, fair
        )

    def _owed(self, request: Request) -> Holder | None:
        """The queue, or one above it, whose guarantee would cover the request beside what it has and what is being
        freed for it; None where guarantees are not taken back."""
        state = self._pass.state
        if not (
            state.queue_quota.has_guarantees
            and state.policy.reclaim
            and state.queues[request.queue_id].reclaim
        ):
            return None
        shares = request.min_shares or request.shares
        amount = (shares * request.compute_percent, shares * request.memory_mib, shares)
        coming = self._nominated()
        for holder in self._line(request.queue_id):
            more = coming.get(holder, ZERO)
            if holder.within_guarantee((amount[0] + more[0], amount[1] + more[1], amount[2] + more[2])):
                return holder
        return None

    def _nominated(self) -> dict[Holder, Triple]:
        """By queue: the room that is being freed for its requests, and which it does not use yet."""
        found: dict[Holder, Triple] = {}
        for hold in self._pass.holds:
            request = self._pass.state.backlog.request(hold.request_id)
            if hold.kind is not HoldKind.NOMINATED or request is None:
                continue
            percent, mib, shares = granted(hold.grants)
            for holder in self._line(request.queue_id):
                before = found.get(holder, ZERO)
                found[holder] = (before[0] + percent, before[1] + mib, before[2] + shares)
        return found

    def _ripe(self, work: RunningWorkload) -> bool:
        policy = self._pass.state.policy
        return self._pass.now - work.started_at_s >= max(work.min_run_s, policy.min_run_s)

    def _helpful(self, units: list[Unit], shape: Shape) -> list[Unit]:
        """Those on devices that the request could use."""
        pool = self._pass.state.pool
        usable = self._pass.state.fit.area(shape.constraint).usable
        works = {
            unit.work.id
            for unit in units
            for grant in unit.work.grants
            if (card := pool.cards.get(grant.device_id)) is not None and card.bit & usable
        }
        return [unit for unit in units if unit.work.id in works]

    def _spares_guarantees(self, unit: Unit, mine: set[Holder], going: dict[Holder, Triple]) -> bool:
        """Whether every queue above the work, but for the request's own, keeps its guarantee without it and all
        that was chosen before (ELA-813)."""
        amount = granted(unit.grants)
        line = self._line(unit.work.queue_id)
        after: dict[Holder, Triple] = {}
        for holder in line:
            if holder in mine:
                continue
            before = going.get(holder, (0, 0, 0))
            after[holder] = (before[0] + amount[0], before[1] + amount[1], before[2] + amount[2])
            if not holder.keeps_guarantee_without(after[holder]):
                return False
        going.update(after)
        return True

    def _harm(self, unit: Unit) -> Harm:
        """Age of the last checkpoint, lost card-seconds, lost money; of equals the latest start goes."""
        work = unit.work
        seconds, micros = self._lost(work)
        return (self.rank(unit), self._unsaved_s(work), seconds, micros, -work.started_at_s, work.id)

    def rank(self, unit: Unit) -> int:
        """How late it is chosen: by its standing, and what is not preemptible is stopped after all that is."""
        is_firm = unit.stops and not unit.work.preemptible
        return self.standing(unit.work) + (_FIRM if is_firm else 0)

    def _unsaved_s(self, work: RunningWorkload) -> int:
        saved = work.started_at_s if work.checkpoint_at_s is None else work.checkpoint_at_s
        return max(0, self._pass.now - saved)

    def _lost(self, work: RunningWorkload) -> tuple[int, int]:
        unsaved = self._unsaved_s(work)
        return unsaved * granted(work.grants)[0] // 100, unsaved * work.cost_per_hour_micros // 3600

    def loss(self, units: list[Unit]) -> Loss:
        """What it costs to free all of these: the less, the better."""
        stopped = [unit for unit in units if unit.stops]
        lost = [self._lost(unit.work) for unit in stopped]
        worst = max(map(self.rank, stopped), default=LOWEST)
        seconds, micros = sum(each[0] for each in lost), sum(each[1] for each in lost)
        return (worst, seconds, micros, len(stopped), len(units))

    def preemptions(self, units: list[Unit], request_id: str) -> list[Preemption]:
        """The plan's rows for what is stopped."""
        return [
            Preemption(unit.work.id, request_id, self._reasons[unit.work.id], *self._lost(unit.work))
            for unit in units
            if unit.stops
        ]

    def shrinkings(self, units: list[Unit], request_id: str) -> list[ElasticChange]:
        """The plan's rows for what is shrunk and goes on."""
        stopped = {unit.work.id for unit in units if unit.stops}
        left: dict[str, int] = {}
        for unit in units:
            if unit.work.id not in stopped:
                left[unit.work.id] = min(unit.share, left.get(unit.work.id, unit.share))
        return [ElasticChange(work_id, shares, (), request_id) for work_id, shares in left.items()]
