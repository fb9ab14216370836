"""Making room for what waits: shares of elastic work are taken back first, then sessions are moved, and at last
work is stopped; the least harm first, and no more than is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from apps.scheduling.engine.model.types import Grant, Reason, ReasonCode
from apps.scheduling.engine.placement.fit import View, room, server_room
from apps.scheduling.engine.placement.place import grant_of
from apps.scheduling.engine.preemption.consolidation import Consolidation
from apps.scheduling.engine.preemption.victims import Loss, Unit, Victims
from apps.scheduling.engine.queueing.backlog import Entry, Group
from apps.scheduling.engine.resources.pool import Server
from apps.scheduling.engine.resources.running_index import counted_grants, leaving_grants
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.pass_state import PassState

ATTEMPTS = 32
"""At most so many requests have room made for them in one cycle."""
NODES = 64
"""So many nodes are compared for the least harm."""


class Made(NamedTuple):
    """The grants that will be free, and what the request is told meanwhile."""

    grants: tuple[Grant, ...]
    reason: Reason


class Case(NamedTuple):
    """One request for which room is sought."""

    group: Group
    entry: Entry
    shape: Shape
    view: View


class Preemptor:
    """What one pass does to make room."""

    def __init__(self, pass_: PassState) -> None:
        self._pass = pass_
        self._attempts = 0
        self._doomed: set[str] = set()
        """Running work that this pass stops, shrinks or moves: nothing else is done with it."""
        self._gone: list[Unit] = []
        self._victims = Victims(pass_)
        self._moving = Consolidation(pass_)

    # --- what is leaving already -----------------------------------------------------------------------------------

    def _leaving(self) -> Iterator[Unit]:
        for work in self._pass.state.roles.leaving.values():
            yield Unit.of(work, counted_grants(work, leaving_grants(work)))
        yield from self._gone

    @contextmanager
    def leaving_out(self) -> Iterator[None]:
        """The pool and the quotas as they will be when all that is leaving has left."""
        units = list(self._leaving())
        for unit in units:
            self.count(unit, -1)
        try:
            yield
        finally:
            for unit in reversed(units):
                self.count(unit, 1)

    def count(self, unit: Unit, sign: int) -> None:
        """Count what the unit frees out (-1) or in again (1)."""
        pool = self._pass.state.pool
        for grant in unit.grants:
            pool.take(grant) if sign > 0 else pool.give(grant)
        self._pass.state.count(unit.work.tenant_id, unit.work.queue_id, unit.grants, sign)

    def fits_exactly(self, group: Group, grants: tuple[Grant, ...], view: View) -> bool:
        """Whether just these grants are free for the request now, within its quotas."""
        pass_ = self._pass
        if pass_.state.beyond(group.sample, grants) is not None:
            return False
        shape = pass_.shape_of(group)
        usable = pass_.state.fit.area(shape.constraint).usable
        on: Counter[Server] = Counter()
        for device_id, count in Counter(grant.device_id for grant in grants).items():
            card = pass_.state.pool.cards.get(device_id)
            if card is None or not card.bit & usable:
                return False
            own = replace(shape, shares=count, single_node=True, shares_per_replica=1)
            if room(card, own, view) < count:
                return False
            on[card.server] += count
        return all(server.host_room(shape, count) >= count for server, count in on.items())

    def still_coming(self, group: Group, grants: tuple[Grant, ...], view: View) -> bool:
        """Whether the grants will be free once what is leaving has left."""
        if not self._pass.state.roles.leaving:
            return False
        with self.leaving_out():
            return self.fits_exactly(group, grants, view)

    def reason(self) -> Reason:
        """What a request is told whose room is being freed: the gravest of what is done."""
        units = list(self._leaving())
        stopped = sum(unit.stops for unit in units)
        if stopped:
            return Reason(ReasonCode.PREEMPTING, (("count", stopped),))
        moved = sum(len(unit.work.moving) for unit in units)
        if moved:
            return Reason(ReasonCode.MOVING, (("count", moved),))
        return Reason(ReasonCode.SHRINKING, (("count", len({unit.work.id for unit in units})),))

    # --- making more -----------------------------------------------------------------------------------------------

    def make_room(self, group: Group, entry: Entry) -> Made | None:
        """Free room for the request and keep it; None, and nothing done, where that is not possible."""
        roles, has_guarantees = self._pass.state.roles, self._pass.state.queue_quota.has_guarantees
        is_possible = roles.elastic or roles.movable or roles.preemptible or (has_guarantees and roles.firm)
        if not (is_possible or roles.leaving or self._gone) or self._attempts >= ATTEMPTS:
            return None
        pass_ = self._pass
        least = group.sample.min_shares or group.sample.shares
        case = Case(group, entry, pass_.state.shapes.sized(pass_.shape_of(group), least), pass_.view(group))
        with self.leaving_out():
            made = self._in_coming_room(case) or self._by_shrinking(case)
        # A move is made at once: what is still leaving is in its way.
        made = made or self._by_moving(case)
        if made is None:
            with self.leaving_out():
                made = self._by_stopping(case)
        self._attempts += made is not None
        return made

    def fits(self, case: Case) -> tuple[Grant, ...] | None:
        """The request's grants in the pool as it is now, within its quotas; None where there are none."""
        pass_ = self._pass
        cards = pass_.state.placer.find(case.shape, case.view, case.entry.seq)
        if cards is None:
            return None
        grants = tuple(grant_of(card, case.shape) for card in cards)
        return None if pass_.state.beyond(case.group.sample, grants) else grants

    def _keep(self, case: Case, grants: tuple[Grant, ...]) -> None:
        self._pass.claims.keep_grants(case.entry.request_id, self._pass.now, grants)

    def _in_coming_room(self, case: Case) -> Made | None:
        """What is leaving anyhow is enough: nobody is stopped twice for it (ELA-808)."""
        if not (self._pass.state.roles.leaving or self._gone):
            return None
        grants = self.fits(case)
        if grants is None:
            return None
        self._keep(case, grants)
        return Made(grants, self.reason())

    def _by_shrinking(self, case: Case) -> Made | None:
        units = self._free(case, self._victims.shrinkable(case.group.sample, case.shape, self._doomed))
        if units is None:
            return None
        return self._settle(case, units, Reason(ReasonCode.SHRINKING, (("count", len(units[0])),)))

    def _by_moving(self, case: Case) -> Made | None:
        if not self._pass.state.policy.consolidate:
            return None
        state, request = self._pass.state, case.group.sample
        grants, count = self._moving.free(
            case.entry.request_id, case.shape, case.view, self._doomed,
            lambda grants: state.beyond(request, grants) is None,
        )  # fmt: skip
        if not count:
            return None
        self._doomed |= self._moving.settle(case.entry.request_id)
        return Made(grants, Reason(ReasonCode.MOVING, (("count", count),)))

    def _by_stopping(self, case: Case) -> Made | None:
        policy = self._pass.state.policy
        if not (policy.preemption or policy.reclaim):
            return None
        request, shape = case.group.sample, case.shape
        lent = self._victims.shrinkable(request, shape, self._doomed)
        units = self._free(case, lent + self._victims.stoppable(request, shape, self._doomed, lent))
        if units is None:
            return None
        stopped = sum(unit.stops for unit in units[0])
        return self._settle(case, units, Reason(ReasonCode.PREEMPTING, (("count", stopped),)))

    def _free(self, case: Case, units: list[Unit]) -> tuple[list[Unit], tuple[Grant, ...]] | None:
        """The fewest and least harmful of the units that make room, counted out; None where all do not."""
        if not units:
            return None
        for unit in units:
            self.count(unit, -1)
        grants = self.fits(case)
        if grants is None:
            for unit in reversed(units):
                self.count(unit, 1)
            return None
        enough = self._shortest(case, units)
        chosen = self._on_one_node(case, units, enough) or self._prune(case, enough)
        grants = self.fits(case)
        assert grants is not None
        return chosen, grants

    def _shortest(self, case: Case, units: list[Unit]) -> list[Unit]:
        """The shortest beginning of the list that makes room; the rest is counted in again."""
        enough, out = len(units), len(units)
        low = 1
        while low < enough:
            middle = (low + enough) // 2
            out = self._count_to(units, out, middle)
            if self.fits(case) is not None:
                enough = middle
            else:
                low = middle + 1
        self._count_to(units, out, enough)
        return units[:enough]

    def _count_to(self, units: list[Unit], out: int, wanted: int) -> int:
        """So many of the units are counted out, from the first; `out` are."""
        for unit in reversed(units[wanted:out]):
            self.count(unit, 1)
        for unit in units[out:wanted]:
            self.count(unit, -1)
        return wanted

    def _on_one_node(self, case: Case, units: list[Unit], out: list[Unit]) -> list[Unit] | None:
        """Of the nodes that take the request whole, the one where the least is lost, its units counted out in place
        of those that are. No higher priority is touched than has to be."""
        if case.shape.shares > 1 and not case.shape.single_node:
            return None
        worst = max(map(self._victims.rank, out))
        self._count_to(out, len(out), 0)
        best: tuple[Loss, list[Unit]] | None = None
        for server, own in self._by_node(case, [unit for unit in units if self._victims.rank(unit) <= worst]):
            found = _with_the_last(self._enough_on(case, server, own), units)
            if found and (best is None or self._victims.loss(found) < best[0]):
                best = (self._victims.loss(found), found)
        chosen = None if best is None else best[1]
        self._count_to(out if chosen is None else chosen, 0, len(out if chosen is None else chosen))
        return chosen

    def _by_node(self, case: Case, units: list[Unit]) -> list[tuple[Server, list[Unit]]]:
        """The nodes on which units are, those that lack the fewest shares first."""
        pool, area = self._pass.state.pool, self._pass.state.fit.area(case.shape.constraint)
        on: dict[Server, dict[int, Unit]] = {}
        for number, unit in enumerate(units):
            for grant in unit.grants:
                card = pool.cards.get(grant.device_id)
                if card is not None and card.bit & area.usable:
                    on.setdefault(card.server, {})[number] = unit
        shares = case.shape.shares

        def lacks(server: Server) -> tuple[int, int]:
            return -server_room(area.on_server[server.at], server, case.shape, case.view, shares), server.at

        return [(server, list(on[server].values())) for server in sorted(on, key=lacks)[:NODES]]

    def _enough_on(self, case: Case, server: Server, own: list[Unit]) -> list[Unit]:
        """The least harmful units that make room on the node, none where they do not; the pool stays as it is."""
        chosen: list[Unit] = []
        for unit in own:
            self.count(unit, -1)
            chosen.append(unit)
            if self._takes(case, server):
                break
        else:
            self._count_to(chosen, len(chosen), 0)
            return []
        chosen = self._spare(chosen, lambda: self._takes(case, server))
        self._count_to(chosen, len(chosen), 0)
        return chosen

    def _takes(self, case: Case, server: Server) -> bool:
        pass_, shares = self._pass, case.shape.shares
        cards = pass_.state.fit.area(case.shape.constraint).on_server[server.at]
        if server_room(cards, server, case.shape, case.view, shares) < shares:
            return False
        return self.fits(case) is not None

    def _prune(self, case: Case, units: list[Unit]) -> list[Unit]:
        """Only those without whom there is no room."""
        return self._spare(self._only_there(case, units), lambda: self.fits(case) is not None)

    def _spare(self, units: list[Unit], fits: Callable[[], bool]) -> list[Unit]:
        """Count in again whoever need not go, the most harmed first."""
        for unit in list(reversed(units)):
            if any(other is not unit and other.follows(unit) for other in units):
                continue
            self.count(unit, 1)
            if fits():
                units.remove(unit)
            else:
                self.count(unit, -1)
        return units

    def _only_there(self, case: Case, units: list[Unit]) -> list[Unit]:
        """Those on the nodes where the request would go, where they alone are enough."""
        grants = self.fits(case)
        assert grants is not None
        nodes = {grant.node_id for grant in grants}
        works = {unit.work.id for unit in units if any(grant.node_id in nodes for grant in unit.grants)}
        there = [unit for unit in units if unit.work.id in works]
        away = [unit for unit in units if unit.work.id not in works]
        for unit in away:
            self.count(unit, 1)
        if self.fits(case) is not None:
            return there
        for unit in away:
            self.count(unit, -1)
        return units

    def _settle(self, case: Case, found: tuple[list[Unit], tuple[Grant, ...]], reason: Reason) -> Made:
        """Plan what is to be freed, and keep it; the units stay counted out only until the search is over."""
        units, grants = found
        self._keep(case, grants)
        for unit in reversed(units):
            self.count(unit, 1)
        pass_ = self._pass
        pass_.preemptions += self._victims.preemptions(units, case.entry.request_id)
        pass_.resizes += self._victims.shrinkings(units, case.entry.request_id)
        self._gone += units
        self._doomed |= {unit.work.id for unit in units}
        return Made(grants, reason)


def _with_the_last(chosen: list[Unit], units: list[Unit]) -> list[Unit]:
    """The chosen units, and those of `units` that cannot stay once these are gone: elastic work loses its last
    shares first."""
    known = {(unit.work.id, unit.share, unit.stops) for unit in chosen}
    return chosen + [
        unit
        for unit in units
        if (unit.work.id, unit.share, unit.stops) not in known and any(own.follows(unit) for own in chosen)
    ]
