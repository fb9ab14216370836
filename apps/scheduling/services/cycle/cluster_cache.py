"""The leader's copy of the pool: read once, then kept by following the feed of changes.

What the cache holds is level-based: a line of the feed only says which row to read again. So lines may come twice,
late or in any order; a cache that follows all of them equals one that is read anew (tested).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, date
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.kernel.prepared_queries import prepared
from apps.scheduling.engine.model import types as engine
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from apps.scheduling.selectors.queues.arrivals import mix_read
from apps.scheduling.services.cycle.apply_plan import Chosen
from apps.scheduling.snapshot import cluster, workloads


class ClusterCache:
    """The engine's state, and which row each of its entries was read from."""

    def __init__(self) -> None:
        self.state = SchedulerState()
        self.rules: dict[str, Any] = {}
        self.nodes: dict[int, engine.Node] = {}
        self.devices: dict[int, engine.Device] = {}
        self.waiting: dict[int, str] = {}
        self.running: dict[int, engine.RunningWorkload] = {}
        self.keys: dict[str, int] = {}
        """Of workloads, by what the engine calls them."""
        self.names = workloads.Names()
        self._is_cut = False
        """More waited than was read: the rest is read once half of it has gone."""
        self._mixed: date | None = None
        """The day whose mix of arrivals the engine has."""

    def read(self) -> None:
        """Read everything anew."""
        self.nodes, self.devices = cluster.nodes_read(), cluster.devices_read()
        requests, self.running = workloads.work_read()
        holds, self.rules = workloads.nominated_room_read(), cluster.rules_read()
        self.waiting = {pk: request.id for pk, request in requests.items()}
        self._is_cut = len(requests) >= workloads.MAX_WAITING
        self.keys = {uid: pk for pk, uid in self.waiting.items()}
        self.keys |= {work.id: pk for pk, work in self.running.items()}
        self.keys |= {hold.request_id: pk for pk, hold in holds.items()}
        self.state = SchedulerState(
            engine.Snapshot(
                nodes=tuple(self.nodes.values()),
                devices=tuple(self.devices.values()),
                requests=tuple(requests.values()),
                running=tuple(self.running.values()),
                holds=tuple(holds.values()),
                **self.rules,
            )
        )
        self._mixed = None
        self._mix_read()

    def _mix_read(self) -> None:
        """Once a day: each new mix makes the engine measure the pool anew."""
        today = timezone.now().astimezone(UTC).date()
        if today != self._mixed:
            self._mixed = today
            self.state.mix_put(mix_read(today))

    def begin(self) -> None:
        """Read everything anew, for a leader that follows from now on."""
        with transaction.atomic():
            # Before the reading: what commits after it leaves its line.
            feed_take()
            self.read()

    def follow(self) -> bool:
        """Read again what was changed since; whether anything was. What is taken off the feed is gone: should the
        reading fail, the cache is to be read anew."""
        changed = feed_take()
        self._nodes_read(changed["node"])
        self._devices_read(changed["device"])
        if changed["rules"]:
            self.rules_read()
        known = {uid: pk for pk in changed["work"] if (uid := self._uid(pk))}
        self.work_read(changed["work"])
        self._forget(known)
        if self._is_cut and len(self.waiting) <= workloads.MAX_WAITING // 2:
            self.read()
            return True
        return any(changed.values())

    def _uid(self, pk: int) -> str | None:
        """What the engine calls a workload that waits or holds something."""
        work = self.running.get(pk)
        return work.id if work else self.waiting.get(pk)

    def _forget(self, known: dict[str, int]) -> None:
        """Of these what neither waits nor holds anything any more: a leader sees work by the million."""
        for uid, pk in known.items():
            if self._uid(pk) is None and uid not in self.state.holds:
                self.keys.pop(uid, None)

    def _nodes_read(self, pks: set[int]) -> None:
        found = cluster.nodes_read(pks) if pks else {}
        _refresh(self.nodes, pks, found, self.state.node_put, lambda old: self.state.node_drop(old.id))

    def _devices_read(self, pks: set[int]) -> None:
        found = cluster.devices_read(pks) if pks else {}
        _refresh(self.devices, pks, found, self.state.device_put, lambda old: self.state.device_drop(old.id))

    def work_read(self, pks: set[int]) -> None:
        """Read these workloads again."""
        if not pks:
            return
        requests, running = workloads.work_read_again(pks, self.names)
        for pk in pks:
            self._request_set(pk, requests.get(pk))
        _refresh(
            self.running, pks, running, self.state.running_put, lambda old: self.state.running_drop(old.id)
        )
        self.keys |= {each.id: pk for found in (requests, running) for pk, each in found.items()}

    def _request_set(self, pk: int, request: engine.Request | None) -> None:
        if request is not None:
            self.waiting[pk] = request.id
            self.state.request_put(request)
        elif pk in self.waiting:
            self.state.request_drop(self.waiting.pop(pk))

    def placed(self, chosen: Iterable[Chosen]) -> None:
        """What we placed ourselves, as it would be read."""
        chosen = list(chosen)
        self.names.learn(each.row for each in chosen)
        prices = workloads.prices_read(each.row for each in chosen)
        for each in chosen:
            asks = workloads.request_of(each.row, self.names)
            grants = [
                (want.device_uid, grant.node_id, want.compute_percent, want.memory_mib, want.exclusive)
                for want, grant in zip(each.share_requests, each.placement.grants, strict=True)
            ]
            self._request_set(each.row.pk, None)
            work = workloads.running_of(
                each.row, workloads.AllocatedShares(grants), asks, prices.get(each.row.uid, 0)
            )
            self.running[each.row.pk] = work
            self.state.running_put(work)

    def rules_read(self) -> None:
        """Read queues, quotas and policy anew; past use has faded meanwhile, windows come nearer."""
        old, new = self.rules, cluster.rules_read()
        self.rules = new
        if old["policy"] != new["policy"]:
            self.state.policy_put(new["policy"])
        queues = {queue.id: queue for queue in new["queues"]}
        for queue in old["queues"]:
            if queue.id not in queues:
                self.state.queue_drop(queue.id)
        for queue in new["queues"]:
            if self.state.queues.get(queue.id) != queue:
                self.state.queue_put(queue)
        quotas = dict(new["tenant_quotas"])
        for tenant_id in {*quotas, *dict(old["tenant_quotas"])}:
            if self.state.tenant_quotas.get(tenant_id) != quotas.get(tenant_id):
                self.state.tenant_quota_put(tenant_id, quotas.get(tenant_id))
        self.state.shares_put(dict(new["past_use"]), dict(new["tenant_weights"]))
        self.state.reservations_put(new["reservations"])
        self._mix_read()
        self._periods_read()

    def _periods_read(self) -> None:
        """When whose work may start: what waits is read again where that changed, and each day, since windows of the
        week are told as instants of the next days. And with whom it shares devices: then what runs is read too."""
        old, names = self.names, workloads.Names()
        changed = {pk for pk, mode in names.queues.items() if old.queues.get(pk, mode) != mode}
        if not changed and (names.periods, names.day) == (old.periods, old.day):
            return
        self.names = names
        self.work_read({*self.waiting, *(self.running if changed else ())})


def _refresh(
    known: dict[int, Any],
    pks: Iterable[int],
    found: dict[int, Any],
    put: Callable[[Any], None],
    drop: Callable[[Any], None],
) -> None:
    for pk in pks:
        old, new = known.pop(pk, None), found.get(pk)
        if old is not None and (new is None or new.id != old.id):
            drop(old)
        if new is not None:
            known[pk] = new
            if new != old:
                put(new)


def feed_take() -> dict[str, set[int]]:
    """Take what was changed off the feed, by kind."""
    changed: dict[str, set[int]] = defaultdict(set)
    with prepared() as cursor:
        cursor.execute("DELETE FROM scheduling_change RETURNING kind, key")
        for kind, key in cursor.fetchall():
            changed[kind].add(key)
    return changed
