"""When a request is expected to start: the cycle replayed over the known ends of what runs and waits."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace

from apps.scheduling.engine.cycle import Cycle
from apps.scheduling.engine.fit import Prospect
from apps.scheduling.engine.types import (
    Eta,
    EtaBasis,
    Placement,
    Reason,
    ReasonCode,
    Request,
    Running,
    Snapshot,
)

STEPS = 64
"""At most so many moments of release are looked at. Where there are more, neighbours are taken together at
the latest of them, so that a promise is rather late than early."""


def eta(snapshot: Snapshot, request: Request, *, now: int) -> Eta:
    """When the request would start, those already waiting in `snapshot` judged with it in queue order.

    The request may be one of the snapshot's or not yet submitted; then give it the `submitted_seq` it would
    get. Work whose known end has passed counts as ending now. Nothing is assumed about work without one.
    """
    waiting = [each for each in snapshot.requests if each.id != request.id] + [request]
    cycle = Cycle(snapshot, seed=0)
    replay = Replay(cycle, waiting, snapshot.running, now)
    first = replay.start_of(request, now)
    if first is None:
        return Eta(now, EtaBasis.FREE_NOW)
    hopeless = _hopeless(cycle.prospect(request), first)
    if hopeless is not None:
        return Eta(None, hopeless, first)
    for at in replay.moments():
        if replay.start_of(request, at) is None:
            return Eta(at, EtaBasis.KNOWN_ENDS, first)
    return Eta(None, EtaBasis.UNKNOWN_ENDS, first)


def _hopeless(prospect: Prospect, reason: Reason) -> EtaBasis | None:
    if prospect is Prospect.NEVER:
        return EtaBasis.NEVER_FITS
    if reason.code is ReasonCode.QUEUE_NOT_UP:
        return EtaBasis.QUEUE_STOPPED
    return EtaBasis.NEEDS_REPAIR if prospect is Prospect.AFTER_REPAIR else None


class Replay:
    """A cycle with a calendar: work ends, what waits takes its place, and that ends in its turn."""

    def __init__(self, cycle: Cycle, waiting: list[Request], running: tuple[Running, ...], now: int) -> None:
        self._cycle = cycle
        self._waiting = {request.id: request for request in waiting}
        self._ends: list[tuple[int, str, Running]] = []
        for work in running:
            if work.ends_at_s is not None:
                self._put(replace(work, ends_at_s=max(now, work.ends_at_s)))

    def _put(self, work: Running) -> None:
        if work.ends_at_s is not None:
            heapq.heappush(self._ends, (work.ends_at_s, work.id, work))

    def start_of(self, request: Request, at: int) -> Reason | None:
        """Judge all that waits at this moment; None when the request is placed, else why not."""
        plan = self._cycle.judge(self._waiting.values(), at)
        for placement in plan.placements:
            self._start(placement, at)
        return next((each.reason for each in plan.refusals if each.request_id == request.id), None)

    def _start(self, placement: Placement, at: int) -> None:
        request = self._waiting.pop(placement.request_id)
        ends = None if request.duration_s is None else at + request.duration_s
        self._put(Running(request.id, placement.tenant_id, placement.queue_id, placement.grants, ends))

    def moments(self) -> Iterator[int]:
        """The moments at which work ends, earliest first; before each is handed out its work is released."""
        batch = -(-(len(self._ends) + len(self._waiting)) // STEPS)
        while self._ends:
            ended = [heapq.heappop(self._ends) for _ in range(min(batch, len(self._ends)))]
            at = ended[-1][0]
            while self._ends and self._ends[0][0] == at:
                ended.append(heapq.heappop(self._ends))
            self._cycle.release(work for _, _, work in ended)
            yield at
