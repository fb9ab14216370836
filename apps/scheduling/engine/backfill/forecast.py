"""When the next in line will start: the pool as it will be once work with a known end has ended."""

from __future__ import annotations

import heapq

from apps.scheduling.engine.model.types import Grant, Hold, HoldKind
from apps.scheduling.engine.placement.place import grant_of
from apps.scheduling.engine.queueing.backlog import Entry, Group
from apps.scheduling.engine.resources.running_index import counted_grants
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.pass_state import PassState, Release

STEPS = 1000
"""At most so many ends are looked at; a start beyond them is not foreseen."""
TESTS = 32
"""Requests that may span nodes are tried at so many moments: rather late than early."""


class Forecast:
    """The reserved starts of one pass."""

    def __init__(self, pass_: PassState) -> None:
        self._pass = pass_
        self._held: list[Release] = []
        """Starts reserved in this pass, which take room from now on to be on the safe side."""

    def start_of(self, group: Group, entry: Entry) -> Hold | None:
        """The earliest start by the known ends, kept from now on; None where they do not make room."""
        if entry.group.sample.duration_s is None and not self._pass.state.ends and not self._pass.started:
            return None
        given: list[Release] = []
        self._count(self._held, 1)
        try:
            found = self._search(group, entry, given)
            if found is None:
                return None
            at, grants = found
            self._pass.claims.keep_grants(entry.request_id, at, grants)
        finally:
            self._count(given, 1)
            self._count(self._held, -1)
        self._hold(group, at, grants)
        return Hold(entry.request_id, at, grants, HoldKind.RESERVED_START)

    def _hold(self, group: Group, at: int, grants: tuple[Grant, ...]) -> None:
        request = group.sample
        ends = at + request.duration_s if request.duration_s is not None else 1 << 62
        number = -1 - len(self._held)
        self._held.append(Release(ends, number, request.tenant_id, request.queue_id, grants))

    def _count(self, releases: list[Release], sign: int) -> None:
        state = self._pass.state
        for each in releases:
            for grant in each.grants:
                state.pool.take(grant) if sign > 0 else state.pool.give(grant)
            state.count(each.tenant_id, each.queue_id, each.grants, sign)

    def _search(
        self, group: Group, entry: Entry, given: list[Release]
    ) -> tuple[int, tuple[Grant, ...]] | None:
        pass_ = self._pass
        shape = pass_.state.shapes.sized(
            pass_.shape_of(group), group.sample.min_shares or group.sample.shares
        )
        releases = self._releases()
        stride = 1 if shape.single_node or shape.shares == 1 else max(1, len(releases) // TESTS)
        i = 0
        while i < len(releases):
            j = min(i + stride, len(releases))
            while j < len(releases) and releases[j].at_s == releases[j - 1].at_s:
                j += 1
            self._count(releases[i:j], -1)
            given += releases[i:j]
            grants = self._fits(group, shape, entry, releases[j - 1].at_s)
            if grants is not None:
                return releases[j - 1].at_s, grants
            i = j
        return None

    def _fits(self, group: Group, shape: Shape, entry: Entry, at: int) -> tuple[Grant, ...] | None:
        pass_ = self._pass
        cards = pass_.state.placer.find(shape, pass_.view(group, at), entry.seq)
        if cards is None:
            return None
        grants = tuple(grant_of(card, shape) for card in cards)
        return None if pass_.state.beyond(group.sample, grants) else grants

    def _releases(self) -> list[Release]:
        """The next known ends, of what runs, was just started, or is to start."""
        pass_ = self._pass
        soon = pass_.now + 1
        running = pass_.state.running
        ends: list[Release] = []
        for number, (at, work_id) in enumerate(pass_.state.ends[:STEPS]):
            work = running[work_id]
            held = counted_grants(work, work.grants)
            ends.append(Release(max(at, soon), number, work.tenant_id, work.queue_id, held))
        leaving = sorted(pass_.state.roles.leaving.values(), key=lambda work: work.id)
        for number, work in enumerate(leaving, STEPS):
            if work.preempted and work.ends_at_s is None:
                at = pass_.now + pass_.state.policy.grace_s
                held = counted_grants(work, work.grants)
                ends.append(Release(at, number, work.tenant_id, work.queue_id, held))
        ends += pass_.started
        ends += self._held
        return heapq.nsmallest(STEPS, ends, key=lambda each: each[:2])
