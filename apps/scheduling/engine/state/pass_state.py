"""What one pass works on: the state of the pool and the work, and what the pass has decided so far."""

from __future__ import annotations

from typing import NamedTuple

from apps.scheduling.engine.model.types import (
    ElasticChange,
    Grant,
    Hold,
    Move,
    Placement,
    Preemption,
    Reason,
    Request,
)
from apps.scheduling.engine.placement.fit import View
from apps.scheduling.engine.queueing.admission import has_right
from apps.scheduling.engine.queueing.backlog import Entry, Group
from apps.scheduling.engine.queueing.refusals import GroupRefusal
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.claims import Claims, reserve
from apps.scheduling.engine.state.scheduler_state import SchedulerState


class Release(NamedTuple):
    """What is given back at some moment."""

    at_s: int
    number: int
    tenant_id: str
    queue_id: str
    grants: tuple[Grant, ...]


class PassState:
    """Handed to every step of a pass. Whatever a step takes is counted in `state` at once; `undo` takes all of it
    back."""

    def __init__(self, state: SchedulerState, now: int, seed: int) -> None:
        self.state = state
        self.now = now
        self.placements: list[Placement] = []
        self.refused: list[GroupRefusal] = []
        self.preemptions: list[Preemption] = []
        self.resizes: list[ElasticChange] = []
        self.moves: list[Move] = []
        self.holds: list[Hold] = []
        self.taken: list[tuple[str, str, tuple[Grant, ...], View]] = []
        """Tenant, queue, grants and view of what this pass took: given back at its end."""
        self.starved: dict[Shape, None] = {}
        """Shapes that wait for room: what they could use is not given to growth."""
        self.shifted: list[tuple[str, Grant, View]] = []
        """Tenant and view of where moved shares go to: counted on devices and in quotas of models, where they hold
        both places while they move; the other quotas count them already."""
        self.started: list[Release] = []
        """What this pass starts and when that will end."""
        self._why: dict[tuple[Shape, View], Reason] = {}
        state.placer.begin(seed)
        self.claims = Claims(state.pool, state.placer)
        self.reserved = reserve(
            self.claims, state.pool, state.fit, state.reservations.values(), state.running.values(), now
        ) if state.reservations else {}  # fmt: skip
        """By reservation in force or to come: the devices it keeps."""

    def undo(self) -> None:
        """Leave the scheduler's state as it was before the pass."""
        for tenant_id, grant, view in reversed(self.shifted):
            self.state.placer.undo((grant,), view)
            self.state.model_quota.add(tenant_id, (grant,), -1)
        self.claims.clear()
        by_holder: dict[tuple[str, str], list[Grant]] = {}
        self.state.pool.give_all(grant for _, _, grants, _ in self.taken for grant in grants)
        for tenant_id, queue_id, grants, _ in self.taken:
            by_holder.setdefault((tenant_id, queue_id), []).extend(grants)
        for (tenant_id, queue_id), all_grants in by_holder.items():
            self.state.count(tenant_id, queue_id, tuple(all_grants), -1)

    def view(self, group: Group, start_s: int | None = None) -> View:
        """Which claims bind the group's requests if they start then."""
        request = group.sample
        start = self.now if start_s is None else start_s
        ends = None if request.duration_s is None else start + request.duration_s
        return self.state.placer.view(ends, self._rights(request, ends) if self.reserved else frozenset())

    def _rights(self, request: Request, ends: int | None) -> frozenset[str]:
        rows = (self.state.reservations[each] for each in self.reserved)
        return frozenset(
            row.id
            for row in rows
            if row.from_s <= self.now and (ends is None or ends <= row.to_s) and has_right(row, request)
        )

    def shape_of(self, group: Group) -> Shape:
        """The group's shape, on the devices of its reservation where it names one, and on the models of which its
        tenant may have more."""
        return self.state.open_shape(group.sample.tenant_id, self.plain_shape_of(group))

    def plain_shape_of(self, group: Group) -> Shape:
        """The group's shape, on the devices of its reservation where it names one; whatever quotas of models leave."""
        assert group.shape is not None
        named = group.sample.reservation_id
        if named is None or named not in self.reserved:
            return group.shape
        return self.state.shapes.within(group.shape, self.reserved[named])

    def why_not(self, shape: Shape, view: View) -> Reason:
        """Why nothing of that shape starts now, worked out once a pass."""
        reason = self._why.get((shape, view))
        if reason is None:
            reason = self._why[shape, view] = self.state.fit.why(shape, view)
        return reason

    def start(self, group: Group, entry: Entry, shape: Shape, grants: tuple[Grant, ...], view: View) -> None:
        """Count grants that were taken on their devices, and plan the start."""
        request = group.sample
        self.state.count(request.tenant_id, request.queue_id, grants, 1)
        self.taken.append((request.tenant_id, request.queue_id, grants, view))
        if request.duration_s is not None:
            ends = self.now + request.duration_s
            self.started.append(Release(ends, len(self.taken), request.tenant_id, request.queue_id, grants))
        self.placements.append(
            Placement(entry.request_id, request.tenant_id, request.queue_id, grants, shape.placing)
        )
