"""Who may be shrunk or stopped for a request, the least harm first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from apps.scheduling.engine.quota import Holder, Triple, granted
from apps.scheduling.engine.shapes import Shape
from apps.scheduling.engine.types import ElasticChange, Grant, Preemption, Request, Running

if TYPE_CHECKING:
    from apps.scheduling.engine.round import Round

MOST_UNITS = 2000
"""So many are looked at for one request, of the lowest priorities first."""
LOWEST = -(1 << 62)

Harm = tuple[int, int, int, int, int, str]

Loss = tuple[int, int, int, int, int]


class Unit(NamedTuple):
    """What can be freed in one piece: a share of elastic work, or work as a whole."""

    work: Running
    grants: tuple[Grant, ...]
    stops: bool
    share: int = 0
    """Of a share: its place among the work's grants; the last go first."""

    @classmethod
    def of(cls, work: Running, grants: tuple[Grant, ...]) -> Unit:
        """What is leaving already."""
        return cls(work, grants, work.preempted)

    def follows(self, other: Unit) -> bool:
        """Whether this one cannot stay freed when the other is spared."""
        return self.work.id == other.work.id and (self.stops or self.share < other.share)


class Victims:
    """The choice of one pass."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._reasons: dict[str, str] = {}

    def shrinkable(self, request: Request, shape: Shape, doomed: set[str]) -> list[Unit]:
        """Shares beyond the least of elastic work that is no dearer than the request: they were lent (ELA-809)."""
        units = []
        for work in self._round.warm.roles.elastic.values():
            least = work.min_shares or 1
            if work.id in doomed or work.priority > request.priority or len(work.grants) <= least:
                continue
            for index in range(len(work.grants) - 1, least - 1, -1):
                units.append(Unit(work, (work.grants[index],), False, index))
        units = self._helpful(units, shape)
        return sorted(units, key=lambda unit: (unit.work.priority, -unit.share, unit.work.id))[:MOST_UNITS]

    def stoppable(self, request: Request, shape: Shape, doomed: set[str]) -> list[Unit]:
        """Work that may be stopped for the request: of lower priority, or what borrowed its queue's guarantee."""
        warm = self._round.warm
        queue = warm.queues[request.queue_id]
        mine = set(warm.queue_quota.holder(request.queue_id).line)
        owed = self._owed(request) if warm.policy.reclaim and queue.reclaim else None
        by_priority = warm.policy.preemption and queue.preempts
        units: list[Unit] = []
        going: dict[Holder, Triple] = {}
        for priority in sorted(warm.roles.preemptible):
            lower = by_priority and priority < request.priority
            if not lower and owed is None:
                break
            found = [self._unit(work) for work in warm.roles.preemptible[priority].values()
                     if work.id not in doomed and self._ripe(work)]  # fmt: skip
            for unit in sorted(self._helpful(found, shape), key=self._harm):
                reason = self._reason(unit, lower=lower, owed=owed)
                if reason and self._spares_guarantees(unit, mine, going):
                    self._reasons[unit.work.id] = reason
                    units.append(unit)
            if len(units) >= MOST_UNITS:
                break
        return units[:MOST_UNITS]

    def _unit(self, work: Running) -> Unit:
        return Unit(work, work.grants if work.min_shares is None else work.grants[: work.min_shares], True)

    def _reason(self, unit: Unit, *, lower: bool, owed: Holder | None) -> str:
        if lower:
            return "priority"
        line = self._round.warm.queue_quota.holder(unit.work.queue_id).line
        return "reclaim" if owed is not None and owed not in line else ""

    def _owed(self, request: Request) -> Holder | None:
        """The queue, or one above it, whose guarantee would cover the request."""
        shares = request.min_shares or request.shares
        amount = (shares * request.compute_percent, shares * request.memory_mib, shares)
        line = self._round.warm.queue_quota.holder(request.queue_id).line
        return next((holder for holder in line if holder.within_guarantee(amount)), None)

    def _ripe(self, work: Running) -> bool:
        policy = self._round.warm.policy
        if policy.preempt_limit is not None and work.preempted_count >= policy.preempt_limit:
            return False
        return self._round.now - work.started_at_s >= max(work.min_run_s, policy.min_run_s)

    def _helpful(self, units: list[Unit], shape: Shape) -> list[Unit]:
        """Those on devices that the request could use."""
        pool = self._round.warm.pool
        usable = self._round.warm.fit.area(shape.constraint).usable
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
        amount = granted(unit.work.grants)
        line = self._round.warm.queue_quota.holder(unit.work.queue_id).line
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
        return (work.priority, self._unsaved_s(work), seconds, micros, -work.started_at_s, work.id)

    def _unsaved_s(self, work: Running) -> int:
        saved = work.started_at_s if work.checkpoint_at_s is None else work.checkpoint_at_s
        return max(0, self._round.now - saved)

    def _lost(self, work: Running) -> tuple[int, int]:
        unsaved = self._unsaved_s(work)
        return unsaved * granted(work.grants)[0] // 100, unsaved * work.cost_per_hour_micros // 3600

    def loss(self, units: list[Unit]) -> Loss:
        """What it costs to free all of these: the less, the better."""
        stopped = [unit.work for unit in units if unit.stops]
        lost = [self._lost(work) for work in stopped]
        worst = max((work.priority for work in stopped), default=LOWEST)
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
