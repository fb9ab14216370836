"""One pass over all that waits, as numbered steps over a state that is handed to each of them."""

from __future__ import annotations

from collections.abc import Sequence

from apps.scheduling.engine.backfill.forecast import Forecast
from apps.scheduling.engine.cycle.placing import place
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.elastic.scale_up import grow
from apps.scheduling.engine.model.types import Feasibility, Hold, HoldKind, Queue, Reason, ReasonCode
from apps.scheduling.engine.preemption.preemptor import Preemptor
from apps.scheduling.engine.queueing.admission import barred, reserved
from apps.scheduling.engine.queueing.backlog import Entry, Group
from apps.scheduling.engine.queueing.queue_order import QueueOrder
from apps.scheduling.engine.queueing.refusals import GroupRefusal, Refusals
from apps.scheduling.engine.resources.shapes import Shape
from apps.scheduling.engine.state.pass_state import PassState

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
        ReasonCode.SCRATCH_DISK,
    }
)


class CyclePass:
    """One pass: what it decides stands in `pass_`, what it needs only while it runs stands here."""

    def __init__(self, pass_: PassState) -> None:
        self._pass = pass_
        self._state = pass_.state
        self._forecast = Forecast(pass_)
        self._preemptor = Preemptor(pass_)
        self._handled: set[str] = set()
        """Requests that were served or refused before their turn came."""
        self._open: set[Group] = set()
        """Groups that nothing but room keeps from starting."""
        self._plain: dict[Group, Shape] = {}
        """Shapes of open groups that nothing narrows in this pass."""
        self._held_by: dict[str, str] = {}
        """By queue: the request behind which all others wait."""
        self._heads: dict[str, int] = {}
        """By queue: so many starts are reserved."""

    def run(self) -> Plan:
        """Judge all that waits.

        1. Keep the room that earlier passes have nominated for requests.
        2. Serve those requests where their room is free.
        3. Serve urgent requests, in the order of queues, tenants and ranks.
        4. Serve the others in the same order; what cannot start has room made for it, or a start reserved.
        5. Give what nobody who waits could use to elastic work that runs.
        6. Say what was decided.
        """
        self._keep_nominated_room()
        self._serve_nominated()
        urgent = self._serve(urgent=True)
        others = self._serve(urgent=False)
        grow(self._pass)
        return self._plan([order for order in (urgent, others) if order is not None])

    def _plan(self, orders: Sequence[QueueOrder]) -> Plan:
        paths = {queue_id: order.path_of(queue_id) for order in orders for queue_id in order.turns}
        by_path = sorted(paths, key=lambda queue_id: (paths[queue_id], queue_id))
        decided = self._pass
        return Plan(
            tuple(decided.placements), Refusals(decided.refused, by_path), tuple(decided.preemptions),
            tuple(decided.resizes), tuple(decided.moves), tuple(decided.holds),
        )  # fmt: skip

    # --- 1, 2: requests with room that was nominated for them ------------------------------------------------------

    def _keep_nominated_room(self) -> None:
        holds = [hold for hold in self._state.holds.values() if hold.request_id in self._state.backlog]
        if not holds:
            return
        with self._preemptor.leaving_out():
            for hold in sorted(holds, key=lambda hold: (hold.start_at_s, hold.request_id)):
                self._pass.claims.keep_grants(hold.request_id, self._pass.now, hold.grants)

    def _serve_nominated(self) -> None:
        entries = [
            entry for each in self._state.holds if (entry := self._state.backlog.entry(each)) is not None
        ]
        for entry in sorted(entries, key=lambda entry: (-entry.group.sample.priority, entry)):
            self._serve_one_nominated(entry)

    def _serve_one_nominated(self, entry: Entry) -> None:
        """Start it on the grants kept for it once they are free; until then it goes on waiting for them. Where
        they will not be free, it is judged like all others."""
        group, hold = entry.group, self._state.holds[entry.request_id]
        self._state.look(group)
        self._pass.claims.lift(hold.request_id)
        if self._closed(group) is not None:
            return
        view = self._pass.view(group)
        if self._preemptor.fits_exactly(group, hold.grants, view):
            self._state.placer.take_these(hold.grants, view)
            self._pass.start(group, entry, self._pass.shape_of(group), hold.grants, view)
        elif self._preemptor.still_coming(group, hold.grants, view):
            with self._preemptor.leaving_out():
                self._pass.claims.keep_grants(hold.request_id, self._pass.now, hold.grants)
            self._pass.holds.append(hold)
            self._refuse_one(entry, self._preemptor.reason())
        else:
            return
        self._handled.add(entry.request_id)

    # --- 3, 4: the others in their order ----------------------------------------------------------------------------

    def _serve(self, *, urgent: bool) -> QueueOrder | None:
        state = self._state
        groups = [group for group in state.backlog.groups.values() if group.sample.urgent is urgent]
        if not groups:
            return None
        order = QueueOrder(groups, state.queues, state.policy, state.queue_quota, state.tenants)
        while (head := order.head()) is not None:
            self._judge(order, *head)
        return order

    def _judge(self, order: QueueOrder, group: Group, at: int) -> None:
        entry = group.members[at]
        if entry.request_id in self._handled:
            order.advance()
            return
        reason = None
        if group not in self._open:
            self._state.look(group)
            reason = self._closed(group)
            self._open.add(group)
            self._note_plain(group)
        if reason is None and self._held_by:
            reason = self._behind(group)
        if reason is None:
            reason = place(self._pass, group, entry, self._plain.get(group))
            if reason is None:
                order.advance()
                return
            made = self._without_room(group, entry, reason)
            if made is not None:
                self._refuse_one(entry, made)
                order.advance()
                return
        self._refuse(group, at, reason)
        order.advance(close=True)

    def _closed(self, group: Group) -> Reason | None:
        """What keeps all of the group from starting now, room left aside."""
        if group.invalid_reason is not None:
            return group.invalid_reason
        request = group.sample
        return barred(request, self._state.queues[request.queue_id], self._pass.now) or reserved(
            request, self._state.reservations, self._pass.now
        )

    def _behind(self, group: Group) -> Reason | None:
        head = self._held_by.get(group.sample.queue_id)
        return None if head is None else Reason(ReasonCode.BEHIND_HEAD, (("head", head),))

    def _note_plain(self, group: Group) -> None:
        """Where nothing narrows the group's shape in this pass, it is not worked out for each member."""
        shape, request = group.shape, group.sample
        narrowed = request.reservation_id is not None or self._state.model_quota.binds(request.tenant_id)
        if shape is not None and not narrowed:
            self._plain[group] = shape

    # --- what is not placed ----------------------------------------------------------------------------------------

    def _without_room(self, group: Group, entry: Entry, reason: Reason) -> Reason | None:
        """Make room where that may be; else see that what comes later does not delay it. The reason for this
        request alone where room is being made."""
        if (
            reason.code not in WAITING_FOR_ROOM
            or self._state.prospect_of(group) is not Feasibility.AFTER_RELEASES
        ):
            return None
        made = self._preemptor.make_room(group, entry)
        if made is not None:
            self._pass.holds.append(Hold(entry.request_id, self._pass.now, made.grants, HoldKind.NOMINATED))
            return made.reason
        if reason.code is not ReasonCode.QUEUE_QUOTA:
            self._pass.starved[self._pass.shape_of(group)] = None
        self._reserve_start(group, entry)
        return None

    def _reserve_start(self, group: Group, entry: Entry) -> None:
        """What is next in line gets a start that later ones respect; without one it holds them up in the end."""
        queue_id, policy = group.sample.queue_id, self._state.policy
        patient = policy.patience_s is None or self._pass.now - entry.submitted_at_s < policy.patience_s
        if policy.backfill and self._heads.get(queue_id, 0) < policy.reserved_starts:
            self._heads[queue_id] = self._heads.get(queue_id, 0) + 1
            hold = self._forecast.start_of(group, entry)
            if hold is not None:
                self._pass.holds.append(hold)
                return
        if not policy.backfill or not patient:
            self._held_by.setdefault(queue_id, entry.request_id)

    def _refuse_one(self, entry: Entry, reason: Reason) -> None:
        self._note_refused(entry.group, (entry,), reason)

    def _refuse(self, group: Group, at: int, reason: Reason) -> None:
        """The members from that place on."""
        entries = group.frozen()[at:]
        if self._handled:
            entries = tuple(entry for entry in entries if entry.request_id not in self._handled)
        self._note_refused(group, entries, reason)

    def _note_refused(self, group: Group, entries: tuple[Entry, ...], reason: Reason) -> None:
        request = group.sample
        queue: Queue | None = self._state.queues.get(request.queue_id)
        ordering = (queue.ordering if queue else None) or self._state.policy.ordering
        standing, step = self._state.tenants.place(request, ordering)
        gone = reason.code in (ReasonCode.DEADLINE_PAST, ReasonCode.WINDOWS_OVER)
        permanent = gone or self._state.prospect_of(group) is Feasibility.NEVER
        self._pass.refused.append(
            GroupRefusal(entries, reason, permanent=permanent, standing=standing, step=step)
        )
