"""The pool, the queues and the work as the engine keeps them between cycles, changed row by row.

A `SchedulerState` that reached its rows by any changes gives the same plan as one built anew from them: what is
remembered between cycles only saves work, and never decides.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace

from apps.scheduling.engine.model.types import (
    Device,
    Feasibility,
    Grant,
    Hold,
    Node,
    Policy,
    Queue,
    Quota,
    Reason,
    ReasonCode,
    Request,
    Reservation,
    RunHistory,
    RunningWorkload,
    Snapshot,
    Typical,
)
from apps.scheduling.engine.placement.fit import Fit
from apps.scheduling.engine.placement.place import Placer
from apps.scheduling.engine.queueing.admission import admits
from apps.scheduling.engine.queueing.backlog import Backlog, Group
from apps.scheduling.engine.queueing.model_quota import ModelQuotas
from apps.scheduling.engine.queueing.quota import QuotaTree, Triple, granted
from apps.scheduling.engine.queueing.tenant_shares import BY_TENANT, Tenants
from apps.scheduling.engine.resources.pool import Card, Pool
from apps.scheduling.engine.resources.running_index import RunningIndex, counted_grants
from apps.scheduling.engine.resources.shapes import Shape, Shapes, invalid

UNKNOWN_QUEUE = Queue("")


class SchedulerState:
    """All rows of a snapshot, and what is worked out from them.

    Raises ValueError when the rows contradict each other: a cycle in the tree of queues, a second request, queue
    or work of one identity in the snapshot.
    """

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        rows = snapshot or Snapshot()
        for kind, ids in (
            ("queue", [queue.id for queue in rows.queues]), ("running", [work.id for work in rows.running]),
            ("request", [request.id for request in rows.requests]),
        ):  # fmt: skip
            _refuse_twins(kind, ids)
        self.policy = rows.policy
        self.nodes = {node.id: node for node in rows.nodes}
        self.devices = {device.id: device for device in rows.devices}
        self.queues = {queue.id: queue for queue in rows.queues}
        self.running = {work.id: work for work in rows.running}
        self.reservations = {each.id: each for each in rows.reservations}
        self.tenant_quotas = dict(rows.tenant_quotas)
        self.past_use = dict(rows.past_use)
        self.tenant_weights = dict(rows.tenant_weights)
        self.holds = {hold.request_id: hold for hold in rows.holds}
        self.history = rows.history
        self.mix = rows.mix
        self.ends: list[tuple[int, str]] = []
        """Known ends of running work, earliest first."""
        self.roles = RunningIndex()
        self.shapes = Shapes()
        self.backlog = Backlog()
        self._epoch = 0
        self._build_pool()
        for request in rows.requests:
            self.backlog.put(request, self.queues.get(request.queue_id), self.policy)

    def snapshot(self) -> Snapshot:
        """The rows as they are now."""
        return Snapshot(
            tuple(self.nodes.values()), tuple(self.devices.values()), tuple(self.queues.values()),
            tuple(self.running.values()), tuple(self.backlog.requests()), tuple(self.tenant_quotas.items()),
            self.policy, tuple(self.reservations.values()), tuple(self.past_use.items()),
            tuple(self.tenant_weights.items()), tuple(self.holds.values()), self.history, self.mix,
        )  # fmt: skip

    # --- what is built from the rows -----------------------------------------------------------------------------

    def _build_pool(self) -> None:
        self.pool = Pool(self.nodes.values(), self.devices.values())
        self.fit = Fit(self.pool)
        self.placer = Placer(self.pool, self.fit, mix=self.mix)
        self.ends.clear()
        self.roles = RunningIndex()
        self._pool_stale = self._capacity_stale = False
        self._build_quotas()
        for work in self.running.values():
            self._count_devices(work, 1)
        self.ends.sort()

    def _build_quotas(self) -> None:
        self._epoch += 1
        self.tenant_quota = QuotaTree(ReasonCode.TENANT_QUOTA, self.tenant_quotas)
        self.queue_quota = QuotaTree(
            ReasonCode.QUEUE_QUOTA,
            {queue.id: queue.quota for queue in self.queues.values()},
            parents={queue.id: queue.parent_id for queue in self.queues.values()},
            capacity=self.pool.capacity(),
        )
        self.tenants = Tenants(self.pool, self.policy, self.past_use, self.tenant_weights)
        orderings = {self.policy.ordering, *(queue.ordering for queue in self.queues.values())}
        self._is_shared = bool(orderings & BY_TENANT)
        self._quotas_stale = False
        self.model_quota = ModelQuotas(self.tenant_quotas, self.devices)
        for work in self.running.values():
            self.count(work.tenant_id, work.queue_id, work.grants, 1)

    def settle(self) -> None:
        """Build anew what a change of the registry made stale."""
        if self._pool_stale:
            self._build_pool()
        elif self._quotas_stale:
            self._build_quotas()
        elif self._capacity_stale:
            self.queue_quota.divide(self.pool.capacity())
        self._capacity_stale = False

    def _count_devices(self, work: RunningWorkload, sign: int) -> None:
        self.roles.note(work, sign)
        for grant in counted_grants(work, work.grants):
            self.pool.take(grant) if sign > 0 else self.pool.give(grant)
        if work.ends_at_s is None:
            return
        end = (work.ends_at_s, work.id)
        if sign > 0:
            insort(self.ends, end)
        else:
            del self.ends[bisect_left(self.ends, end)]

    def count(self, tenant_id: str, queue_id: str, grants: tuple[Grant, ...], sign: int) -> None:
        """Count grants in (1) or out (-1) of the quotas and of the tenant's use."""
        amount = granted(grants)
        self.tenant_quota.add(tenant_id, amount, sign)
        self.queue_quota.add(queue_id, amount, sign)
        self.model_quota.add(tenant_id, grants, sign)
        if self._is_shared:
            self.tenants.add(tenant_id, grants, sign)

    # --- changes: a row that is as it was costs nothing ---------------------------------------------------------

    def node_put(self, node: Node) -> None:
        """A new node, or a node's new row."""
        old = self.nodes.get(node.id)
        if old == node:
            return
        self.nodes[node.id] = node
        server = self.pool.servers.get(node.id)
        if old is None or server is None:
            self._pool_stale = True
            return
        server.node = node
        for card in server.cards:
            self._renew(card)

    def node_drop(self, node_id: str) -> None:
        """The node is gone, and its devices with it as far as placement goes."""
        if self.nodes.pop(node_id, None) is not None:
            self._pool_stale = True

    def device_put(self, device: Device) -> None:
        """A new device, or a device's new row."""
        if self.devices.get(device.id) == device:
            return
        self.devices[device.id] = device
        card = self.pool.cards.get(device.id)
        if card is None or not self.pool.renew(device):
            self._pool_stale = True
            return
        self._renew(card)

    def device_drop(self, device_id: str) -> None:
        """The device is gone."""
        if self.devices.pop(device_id, None) is not None:
            self._pool_stale = True

    def _renew(self, card: Card) -> None:
        self.pool.freed.append(card)
        self.pool.touch(card.server)
        self.fit.renew(card)
        self._epoch += 1
        self._capacity_stale = True

    def queue_put(self, queue: Queue) -> None:
        """A new queue, or a queue's new row."""
        if self.queues.get(queue.id) != queue:
            self.queues[queue.id] = queue
            self._reorder()

    def queue_drop(self, queue_id: str) -> None:
        """The queue is gone; what waits in it is told so."""
        if self.queues.pop(queue_id, None) is not None:
            self._reorder()

    def policy_put(self, policy: Policy) -> None:
        """The operators chose otherwise."""
        if self.policy != policy:
            self.policy = policy
            self._reorder()

    def _reorder(self) -> None:
        self._quotas_stale = True
        self.backlog.rank_anew(self.queues, self.policy)

    def tenant_quota_put(self, tenant_id: str, quota: Quota | None) -> None:
        """The tenant's quota; None: it has none of its own."""
        if self.tenant_quotas.get(tenant_id) == quota:
            return
        self.tenant_quotas.pop(tenant_id, None)
        if quota is not None:
            self.tenant_quotas[tenant_id] = quota
        self._quotas_stale = True

    def shares_put(self, past_use: dict[str, int], weights: dict[str, int]) -> None:
        """What tenants used before, in card-seconds faded to now, and their weights."""
        self.past_use, self.tenant_weights = dict(past_use), dict(weights)
        self.tenants.renew(self.past_use, self.tenant_weights)

    def reservations_put(self, reservations: tuple[Reservation, ...]) -> None:
        """All reservations there are."""
        self.reservations = {each.id: each for each in reservations}

    def holds_put(self, holds: tuple[Hold, ...]) -> None:
        """The holds of kind NOMINATED that are still to be kept."""
        self.holds = {hold.request_id: hold for hold in holds}

    def history_put(self, history: tuple[RunHistory, ...]) -> None:
        """How long work ran before."""
        self.history = history

    def mix_put(self, mix: tuple[Typical, ...]) -> None:
        """The kinds of work that arrived lately."""
        if mix != self.mix:
            self.mix = mix
            self.placer.remix(mix)

    def request_put(self, request: Request) -> None:
        """A request waits, or waits with another row."""
        self.backlog.put(request, self.queues.get(request.queue_id), self.policy)

    def request_drop(self, request_id: str) -> None:
        """It waits no more."""
        self.backlog.drop(request_id)

    def running_put(self, work: RunningWorkload) -> None:
        """Work holds grants, or holds others than before."""
        if self.running.get(work.id) == work:
            return
        self.running_drop(work.id)
        self.running[work.id] = work
        self._count_devices(work, 1)
        self.count(work.tenant_id, work.queue_id, work.grants, 1)

    def running_drop(self, running_id: str) -> None:
        """It is gone."""
        work = self.running.pop(running_id, None)
        if work is not None:
            self._count_devices(work, -1)
            self.count(work.tenant_id, work.queue_id, work.grants, -1)

    # --- what a request is on this registry ------------------------------------------------------------------------

    def look(self, group: Group) -> None:
        """Work out what holds for all of the group until the registry changes."""
        if group.epoch == self._epoch and group.shape is not None:
            return
        sample = group.sample
        queue = self.queues.get(sample.queue_id, UNKNOWN_QUEUE)
        group.epoch = self._epoch
        group.invalid_reason = self._invalid_reason(sample)
        group.shape = self.shapes.of(sample, queue, self.policy)
        group.least = least(sample)
        group.prospect = None

    def _invalid_reason(self, request: Request) -> Reason | None:
        if request.queue_id not in self.queues:
            return Reason(ReasonCode.QUEUE_UNKNOWN, (("queue", request.queue_id),))
        return invalid(request)

    def prospect_of(self, group: Group) -> Feasibility:
        """Whether the requests of a group could start in an empty pool; remembered until the registry changes."""
        if group.prospect is None:
            group.prospect = self.prospect(group.sample)
        return group.prospect

    def prospect(self, request: Request) -> Feasibility:
        """Whether the request, with its least number of shares, would start if nothing ran or waited."""
        self.settle()
        queue = self.queues.get(request.queue_id)
        if queue is None or invalid(request) or not admits(queue, request.tenant_id):
            return Feasibility.NEVER
        shape = self._least_shape(request, queue)
        if self._exceeds_quota(request, self.fit.least_mib(shape, usable=False)):
            return Feasibility.NEVER
        prospect = self.fit.prospect(shape)
        if self._exceeds_quota(request, self.fit.least_mib(shape, usable=True)):
            return min(prospect, Feasibility.AFTER_REPAIR)
        return prospect

    def hopeless(self, request: Request) -> Reason | None:
        """Why the request would not fit even if every device were whole, ready and empty; None when it would.

        Asked of a registry in which nothing runs: a quota stands against it that is too small as a whole.
        """
        self.settle()
        wrong = self._invalid_reason(request)
        if wrong is not None:
            return wrong
        shape = self._least_shape(request, self.queues[request.queue_id])
        if self.fit.prospect(shape) is Feasibility.NEVER:
            return self.fit.why(shape)
        amount = self._least(request, self.fit.least_mib(shape, usable=False))
        bound = self.model_quota.short(request.tenant_id, request.model, amount) if request.model else None
        return bound or (self.shortage(request, amount) if self._exceeds(request, amount) else None)

    def _least_shape(self, request: Request, queue: Queue) -> Shape:
        shape = self.shapes.of(request, queue, self.policy)
        return self.shapes.sized(shape, request.min_shares or request.shares)

    def shortage(self, request: Request, amount: Triple) -> Reason | None:
        """What stands against so much more for the request's tenant and queue."""
        return self.tenant_quota.shortage(request.tenant_id, amount) or self.queue_quota.shortage(
            request.queue_id, amount
        )

    def beyond(self, request: Request, grants: tuple[Grant, ...]) -> Reason | None:
        """What stands against these grants for the request's tenant and queue."""
        return self.shortage(request, granted(grants)) or self.model_quota.shortage(request.tenant_id, grants)

    def open_shape(self, tenant_id: str, shape: Shape) -> Shape:
        """The shape on the models on which the tenant may have more, where it has any."""
        if not self.model_quota.binds(tenant_id):
            return shape
        left = self.model_quota.left_of(tenant_id, shape)
        return shape if left is None else self.shapes.of_models(shape, left)

    def _least(self, request: Request, least_mib: int) -> Triple:
        """What it uses at the least where its cards bring so much memory."""
        percent, mib, shares = least(replace(request, shares=request.min_shares or request.shares))
        return percent, max(mib, least_mib), shares

    def _exceeds_quota(self, request: Request, least_mib: int) -> bool:
        amount = self._least(request, least_mib)
        if request.model and self.model_quota.short(request.tenant_id, request.model, amount, empty=True):
            return True
        return self._exceeds(request, amount)

    def _exceeds(self, request: Request, amount: Triple) -> bool:
        return self.tenant_quota.exceeds(request.tenant_id, amount) or self.queue_quota.exceeds(
            request.queue_id, amount
        )


def least(request: Request) -> Triple:
    """What the request uses at least; whole cards may bring more memory."""
    return (request.shares * request.compute_percent, request.shares * request.memory_mib, request.shares)


def _refuse_twins(kind: str, ids: list[str]) -> None:
    if len(set(ids)) != len(ids):
        twin = next(each for each in ids if ids.count(each) > 1)
        raise ValueError(f"The snapshot has two of the {kind} {twin!r}: read each row once.")
