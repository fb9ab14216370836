"""One pass over all that waits. It works on the warm state itself; `undo` leaves that as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apps.scheduling.engine.admit import barred, has_right, reserved
from apps.scheduling.engine.backlog import Entry, Group
from apps.scheduling.engine.claims import Claims, reserve
from apps.scheduling.engine.fit import FREE_VIEW, Prospect, View
from apps.scheduling.engine.forecast import Forecast, Release
from apps.scheduling.engine.growth import grow
from apps.scheduling.engine.model_quota import within_models
from apps.scheduling.engine.order import Turns
from apps.scheduling.engine.place import grant_of
from apps.scheduling.engine.refusals import Refusals, Refused
from apps.scheduling.engine.rescue import Rescue
from apps.scheduling.engine.shapes import Shape
from apps.scheduling.engine.types import (
    ElasticChange,
    Grant,
    Hold,
    HoldKind,
    Move,
    Placement,
    Plan,
    Preemption,
    Queue,
    Reason,
    ReasonCode,
    Request,
)

if TYPE_CHECKING:
    from apps.scheduling.engine.warm import Warm

# Only such a request is served sooner by leaving room empty or by making some: a tenant at its own quota, a
# broken node or a stopped queue is not.
WAITING_FOR_ROOM = frozenset(
    {
        ReasonCode.QUEUE_QUOTA,
        ReasonCode.CARD_NOT_IDLE,
        ReasonCode.ALONE_DEVICE,
        ReasonCode.ALONE_NODE,
        ReasonCode.SHARED_OUT,
        ReasonCode.COMPUTE_PERCENT,
        ReasonCode.MEMORY_MIB,
        ReasonCode.COUNT,
        ReasonCode.COUNT_ON_ONE_NODE,
        ReasonCode.REPLICA,
        ReasonCode.REPLICAS,
        ReasonCode.HOST_CPU,
        ReasonCode.HOST_MEMORY,
    }
)


class Round:
    """The state of one pass."""

    def __init__(self, warm: Warm, now: int, seed: int) -> None:
        self.warm = warm
        self.now = now
        self.placements: list[Placement] = []
        self.refused: list[Refused] = []
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
        self._handled: set[str] = set()
        self._open: set[Group] = set()
        """Groups that nothing but room keeps from starting."""
        self._plain: dict[Group, Shape] = {}
        """Shapes of open groups that nothing narrows in this pass."""
        self._why: dict[tuple[Shape, View], Reason] = {}
        self._held_by: dict[str, str] = {}
        self._heads: dict[str, int] = {}
        warm.placer.begin(seed)
        self.claims = Claims(warm.pool, warm.placer)
        self._reserved = reserve(
            self.claims, warm.pool, warm.fit, warm.reservations.values(), warm.running.values(), now
        ) if warm.reservations else {}  # fmt: skip
        self.forecast = Forecast(self)
        self.rescue = Rescue(self)

    def run(self) -> Plan:
        """Serve the held, then the urgent, then the others; give what is left to elastic work."""
        self._keep_holds()
        self._serve_held()
        turns = [self._pass(urgent=urgent) for urgent in (True, False)]
        grow(self)
        return self._plan([turn for turn in turns if turn is not None])

    def _plan(self, turns: Sequence[Turns]) -> Plan:
        paths = {queue_id: turn.path_of(queue_id) for turn in turns for queue_id in turn.turns}
        order = sorted(paths, key=lambda queue_id: (paths[queue_id], queue_id))
        return Plan(
            tuple(self.placements), Refusals(self.refused, order), tuple(self.preemptions), tuple(self.resizes),
            tuple(self.moves), tuple(self.holds),
        )  # fmt: skip

    def undo(self) -> None:
        """Leave the warm state as it was."""
        for tenant_id, grant, view in reversed(self.shifted):
            self.warm.placer.undo((grant,), view)
            self.warm.model_quota.add(tenant_id, (grant,), -1)
        self.claims.clear()
        by_holder: dict[tuple[str, str], list[Grant]] = {}
        self.warm.pool.give_all(grant for _, _, grants, _ in self.taken for grant in grants)
        for tenant_id, queue_id, grants, _ in self.taken:
            by_holder.setdefault((tenant_id, queue_id), []).extend(grants)
        for (tenant_id, queue_id), all_grants in by_holder.items():
            self.warm.count(tenant_id, queue_id, tuple(all_grants), -1)

    # --- requests with room that was made for them -----------------------------------------------------------------

    def _keep_holds(self) -> None:
        holds = [hold for hold in self.warm.holds.values() if hold.request_id in self.warm.backlog]
        if not holds:
            return
        with self.rescue.leaving_out():
            for hold in sorted(holds, key=lambda hold: (hold.start_at_s, hold.request_id)):
                self.claims.keep_grants(hold.request_id, self.now, hold.grants)

    def _serve_held(self) -> None:
        entries = [entry for each in self.warm.holds if (entry := self.warm.backlog.entry(each)) is not None]
        for entry in sorted(entries, key=lambda entry: (-entry[4].sample.priority, *entry[:3])):
            self._serve_one_held(entry)

    def _serve_one_held(self, entry: Entry) -> None:
        """Start it on the grants kept for it once they are free; until then it goes on waiting for them. Where
        they will not be free, it is judged like all others."""
        group, hold = entry[4], self.warm.holds[entry[2]]
        self.warm.look(group)
        self.claims.lift(hold.request_id)
        if self._closed(group) is not None:
            return
        view = self.view(group)
        if self.rescue.fits_exactly(group, hold.grants, view):
            self.warm.placer.take_these(hold.grants, view)
            self._note(group, entry, self.shape_of(group), hold.grants, view)
        elif self.rescue.still_coming(group, hold.grants, view):
            with self.rescue.leaving_out():
                self.claims.keep_grants(hold.request_id, self.now, hold.grants)
            self.holds.append(hold)
            self._refuse_one(entry, self.rescue.reason())
        else:
            return
        self._handled.add(entry[2])

    # --- the pass --------------------------------------------------------------------------------------------------

    def _pass(self, *, urgent: bool) -> Turns | None:
        warm = self.warm
        groups = [group for group in warm.backlog.groups.values() if group.sample.urgent is urgent]
        if not groups:
            return None
        turns = Turns(groups, warm.queues, warm.policy, warm.queue_quota, warm.tenants)
        while (head := turns.head()) is not None:
            self._judge(turns, *head)
        return turns

    def _judge(self, turns: Turns, group: Group, at: int) -> None:
        entry = group.members[at]
        if entry[2] in self._handled:
            turns.advance()
            return
        reason = None
        if group not in self._open:
            self.warm.look(group)
            reason = self._closed(group)
            self._open.add(group)
            self._note_plain(group)
        if reason is None and self._held_by:
            reason = self._behind(group)
        if reason is None:
            reason = self._place(group, entry)
            if reason is None:
                turns.advance()
                return
            made = self._without_room(group, entry, reason)
            if made is not None:
                self._refuse_one(entry, made)
                turns.advance()
                return
        self._refuse(group, at, reason)
        turns.advance(close=True)

    def _closed(self, group: Group) -> Reason | None:
        """What keeps all of the group from starting now, room left aside."""
        if group.wrong is not None:
            return group.wrong
        request = group.sample
        return barred(request, self.warm.queues[request.queue_id], self.now) or reserved(
            request, self.warm.reservations, self.now
        )

    def _behind(self, group: Group) -> Reason | None:
        head = self._held_by.get(group.sample.queue_id)
        return None if head is None else Reason(ReasonCode.BEHIND_HEAD, (("head", head),))

    def view(self, group: Group, start_s: int | None = None) -> View:
        """Which claims bind the group's requests if they start then."""
        request = group.sample
        start = self.now if start_s is None else start_s
        ends = None if request.duration_s is None else start + request.duration_s
        return self.warm.placer.view(ends, self._rights(request, ends) if self._reserved else frozenset())

    def _rights(self, request: Request, ends: int | None) -> frozenset[str]:
        rows = (self.warm.reservations[each] for each in self._reserved)
        return frozenset(
            row.id
            for row in rows
            if row.from_s <= self.now and (ends is None or ends <= row.to_s) and has_right(row, request)
        )

    def _note_plain(self, group: Group) -> None:
        """Where nothing narrows the group's shape in this pass, it is not worked out for each member."""
        shape, request = group.shape, group.sample
        narrowed = request.reservation_id is not None or self.warm.model_quota.binds(request.tenant_id)
        if shape is not None and not narrowed:
            self._plain[group] = shape

    def shape_of(self, group: Group) -> Shape:
        """The group's shape, on the devices of its reservation where it names one, and on the models of which its
        tenant may have more."""
        return self.warm.open_shape(group.sample.tenant_id, self._plain_shape_of(group))

    def _plain_shape_of(self, group: Group) -> Shape:
        """The same whatever quotas of models leave."""
        assert group.shape is not None
        named = group.sample.reservation_id
        if named is None or named not in self._reserved:
            return group.shape
        return self.warm.shapes.within(group.shape, self._reserved[named])

    def _place(self, group: Group, entry: Entry) -> Reason | None:
        """Start the request; the reason where that cannot be."""
        plain, placer = self._plain.get(group), self.warm.placer
        shape = plain or self.shape_of(group)
        view = self.view(group) if placer.has_claims else FREE_VIEW
        if group.sample.min_shares is not None:
            found = self._size(group, shape, view, entry[1])
            if isinstance(found, Reason):
                return found
            shape = found
        else:
            reason = self.warm.shortage(group.sample, group.least)
            if reason is not None:
                return reason
        is_plain = plain is not None
        grants = placer.take(shape, view, entry[1]) if is_plain else self._take(group, shape, view, entry[1])
        if isinstance(grants, Reason):
            return grants
        if grants is None:
            return self._why_not(shape, view)
        if shape.exclusive:
            settled = self._settle_whole_cards(group, shape, grants, view, entry)
            if isinstance(settled, Reason):
                return settled
            grants = settled
        self._note(group, entry, shape, grants, view)
        return None

    def _take(self, group: Group, shape: Shape, view: View, seq: int) -> tuple[Grant, ...] | Reason | None:
        warm, tenant_id = self.warm, group.sample.tenant_id
        if not warm.model_quota.binds(tenant_id):
            return warm.placer.take(shape, view, seq)
        plain = warm.shapes.sized(self._plain_shape_of(group), shape.shares)
        return within_models(warm, tenant_id, plain, shape, view, seq)

    def _size(self, group: Group, shape: Shape, view: View, seq: int) -> Shape | Reason:
        """The most shares of elastic work that fit now, the least first: more where more fit, by whole replicas."""
        per = group.sample.shares_per_replica
        fewest = (group.sample.min_shares or per) // per
        reason = self._blocks(group, shape, fewest * per, view, seq)
        if reason is not None:
            return reason
        most = shape.shares // per
        while fewest < most:
            middle = (fewest + most + 1) // 2
            if self._blocks(group, shape, middle * per, view, seq) is None:
                fewest = middle
            else:
                most = middle - 1
        return self.warm.shapes.sized(shape, fewest * per)

    def _blocks(self, group: Group, shape: Shape, shares: int, view: View, seq: int) -> Reason | None:
        sized = self.warm.shapes.sized(shape, shares)
        cards = self.warm.placer.find(sized, view, seq)
        if cards is None:
            return self._why_not(sized, view)
        return self.warm.beyond(group.sample, tuple(grant_of(card, sized) for card in cards))

    def _why_not(self, shape: Shape, view: View) -> Reason:
        reason = self._why.get((shape, view))
        if reason is None:
            reason = self._why[shape, view] = self.warm.fit.why(shape, view)
        return reason

    def _settle_whole_cards(
        self, group: Group, shape: Shape, grants: tuple[Grant, ...], view: View, entry: Entry
    ) -> tuple[Grant, ...] | Reason:
        """Whole cards count with all their memory: where a quota has no room for these, take smaller ones."""
        reason = self._undo_beyond_quota(group, grants, view)
        if reason is None:
            return grants
        smaller = self.warm.placer.take_smallest(shape, view)
        if smaller is None:
            return reason
        return self._undo_beyond_quota(group, smaller, view) or smaller

    def _undo_beyond_quota(self, group: Group, grants: tuple[Grant, ...], view: View) -> Reason | None:
        reason = self.warm.beyond(group.sample, grants)
        if reason is not None:
            self.warm.placer.undo(grants, view)
        return reason

    def _note(self, group: Group, entry: Entry, shape: Shape, grants: tuple[Grant, ...], view: View) -> None:
        """Count what was taken, and plan it."""
        request = group.sample
        self.warm.count(request.tenant_id, request.queue_id, grants, 1)
        self.taken.append((request.tenant_id, request.queue_id, grants, view))
        if request.duration_s is not None:
            ends = self.now + request.duration_s
            self.started.append(Release(ends, len(self.taken), request.tenant_id, request.queue_id, grants))
        self.placements.append(
            Placement(entry[2], request.tenant_id, request.queue_id, grants, shape.placing)
        )

    # --- what is not placed ----------------------------------------------------------------------------------------

    def _without_room(self, group: Group, entry: Entry, reason: Reason) -> Reason | None:
        """Make room where that may be; else see that what comes later does not delay it. The reason for this
        request alone where room is being made."""
        if reason.code not in WAITING_FOR_ROOM or self.warm.prospect_of(group) is not Prospect.AFTER_RELEASES:
            return None
        made = self.rescue.make_room(group, entry)
        if made is not None:
            self.holds.append(Hold(entry[2], self.now, made.grants, HoldKind.FREED))
            return made.reason
        if reason.code is not ReasonCode.QUEUE_QUOTA:
            self.starved[self.shape_of(group)] = None
        self._reserve_start(group, entry)
        return None

    def _reserve_start(self, group: Group, entry: Entry) -> None:
        """What is next in line gets a start that later ones respect; without one it holds them up in the end."""
        queue_id, policy = group.sample.queue_id, self.warm.policy
        patient = policy.patience_s is None or self.now - entry[3] < policy.patience_s
        if policy.backfill and self._heads.get(queue_id, 0) < policy.reserved_starts:
            self._heads[queue_id] = self._heads.get(queue_id, 0) + 1
            hold = self.forecast.start_of(group, entry)
            if hold is not None:
                self.holds.append(hold)
                return
        if not policy.backfill or not patient:
            self._held_by.setdefault(queue_id, entry[2])

    def _refuse_one(self, entry: Entry, reason: Reason) -> None:
        self._note_refused(entry[4], (entry,), reason)

    def _refuse(self, group: Group, at: int, reason: Reason) -> None:
        """The members from that place on."""
        entries = group.frozen()[at:]
        if self._handled:
            entries = tuple(entry for entry in entries if entry[2] not in self._handled)
        self._note_refused(group, entries, reason)

    def _note_refused(self, group: Group, entries: tuple[Entry, ...], reason: Reason) -> None:
        request = group.sample
        queue: Queue | None = self.warm.queues.get(request.queue_id)
        ordering = (queue.ordering if queue else None) or self.warm.policy.ordering
        standing, step = self.warm.tenants.place(request, ordering)
        gone = reason.code in (ReasonCode.DEADLINE_PAST, ReasonCode.WINDOWS_OVER)
        permanent = gone or self.warm.prospect_of(group) is Prospect.NEVER
        self.refused.append(Refused(entries, reason, permanent=permanent, standing=standing, step=step))
