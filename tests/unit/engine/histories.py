"""Random histories of a warm pool: rows come, change and go; plans are carried out in part, late, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    Alone,
    Amount,
    Device,
    Grant,
    Limit,
    Node,
    Ordering,
    Placing,
    Policy,
    Queue,
    Quota,
    Request,
    Reservation,
    RunHistory,
    RunningWorkload,
    Window,
)
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.unit.engine.promises import check

TENANTS = ("acme", "globex", "initech")
QUEUES = ("a", "b", "top")
NODES = ("n0", "n1", "n2")
CARD_MIB = 1_000

flags = st.sampled_from([True] * 5 + [False])
seldom = st.sampled_from([False] * 5 + [True])
policies = st.builds(
    Policy,
    ordering=st.sampled_from(Ordering),
    placing=st.sampled_from(Placing),
    backfill=flags,
    patience_s=st.sampled_from([None, 0, 60]),
    aging_s=st.sampled_from([None, 10]),
    reserved_starts=st.integers(0, 2),
    preemption=flags,
    reclaim=st.booleans(),
    consolidate=flags,
    min_run_s=st.sampled_from([0, 0, 20]),
    preempt_limit=st.sampled_from([None, 1]),
    hysteresis_s=st.sampled_from([0, 50]),
)
queue_quotas = st.builds(
    Quota,
    nominal=st.builds(Limit, st.sampled_from([None, None, 300])),
    borrow=st.sampled_from([Amount(), Amount(compute_percent=50)]),
    guaranteed=st.sampled_from([Amount(), Amount(), Amount(compute_percent=100)]),
    lend=st.sampled_from([Limit(), Limit(compute_percent=0), Limit(compute_percent=60)]),
)
SIZES = ((10, 100), (30, 100), (50, 400), (60, 400), (100, 0), (100, 400))


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, Any]:
    """All of a request but its identity and time."""
    percent, mib = draw(st.sampled_from(SIZES))
    per = draw(st.sampled_from([1, 1, 1, 2]))
    shares = per * draw(st.sampled_from([1, 1, 2, 3]))
    wish: dict[str, Any] = {
        "tenant_id": draw(st.sampled_from(TENANTS)),
        "queue_id": draw(st.sampled_from(QUEUES)),
        "compute_percent": percent,
        "memory_mib": mib,
        "shares": shares,
        "exclusive": percent == 100 and draw(st.booleans()),
        "priority": draw(st.integers(0, 2)),
        "duration_s": draw(st.sampled_from([None, 30, 200])),
        "preemptible": draw(flags),
        "min_shares": draw(st.sampled_from([None, per])),
        "shares_per_replica": per,
    }
    if draw(seldom):
        wish |= draw(rare_wishes(shares))
    if draw(seldom):
        wish |= draw(terms)
    return wish


terms = st.sampled_from(
    [{"alone": Alone.DEVICE}, {"alone": Alone.NODE}, {"max_on_device": 1}, {"max_on_device": 2}]
)


@st.composite
def rare_wishes(draw: st.DrawFn, shares: int) -> dict[str, Any]:
    """What few requests ask for."""
    return {
        "single_node": draw(st.booleans()),
        "distinct_devices": draw(st.booleans()),
        "urgent": draw(seldom),
        "placing": draw(st.none() | st.sampled_from(Placing)),
        "local_node_id": draw(st.sampled_from([None, "n0"])),
        "model": draw(st.sampled_from([None, None, "x"])),
        "deadline_s": draw(st.sampled_from([None, None, 400])),
        "earliest_start_s": draw(st.sampled_from([None, None, 100])),
        "host_cpu_milli": draw(st.sampled_from([0, 0, 500])),
        "affinity": draw(st.sampled_from(["", "", "u"])) if shares == 1 else "",
        "anti_affinity": draw(st.sampled_from(["", "", "", "v"])),
        "reservation_id": draw(st.sampled_from([None] * 3 + ["v"])),
    }


@st.composite
def nodes(draw: st.DrawFn, node_id: str) -> Node:
    """A node, most of the time in service."""
    cpu, rack = draw(st.sampled_from([None, 1_000])), draw(st.sampled_from(["", "r"]))
    return Node(node_id, ready=draw(flags), schedulable=draw(flags), host_cpu_milli=cpu, rack=rack)


@st.composite
def devices(draw: st.DrawFn, node_id: str, number: int) -> Device:
    """One of its devices."""
    return Device(
        f"{node_id}/{number}", node_id, CARD_MIB, model=draw(st.sampled_from("xxy")), healthy=draw(flags),
        link_group=draw(st.sampled_from(["", "i", "j"])), numa=draw(st.sampled_from(["", "m"])),
        oversubscription_permille=draw(st.sampled_from([1000, 1000, 1500])),
    )  # fmt: skip


class History(RuleBasedStateMachine):
    """One history. Every step is drawn by its weight, so that work runs, and gives way, in most of them."""

    rebuilt_every = 1
    """In so many steps the rows are read anew once, and the plan on them compared."""

    def __init__(self) -> None:
        super().__init__()
        self.warm = SchedulerState()
        self.now = 0
        self.made = Plan()
        self.seq = self.checks = 0

    @initialize(policy=policies, data=st.data())
    def fill(self, policy: Policy, data: st.DataObject) -> None:
        """A small pool, and something that waits for it."""
        self.warm.policy_put(policy)
        for queue_id in QUEUES:
            self.set_queue(queue_id, data)
        for name in NODES[:2]:
            self.warm.node_put(Node(name))
            for number in range(3):
                self.warm.device_put(data.draw(devices(name, number)))
        self.submit(data)

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """Something happens."""
        STEPS[data.draw(st.sampled_from(WEIGHTED))](self, data)

    # --- the registry ----------------------------------------------------------------------------------------------

    def set_queue(self, queue_id: str, data: st.DataObject) -> None:
        self.warm.queue_put(
            Queue(
                queue_id, parent_id=None if queue_id == "top" else "top", weight=data.draw(st.integers(0, 3)),
                priority=data.draw(st.integers(0, 1)), quota=data.draw(queue_quotas),
                ordering=data.draw(st.none() | st.sampled_from(Ordering)), preempts=data.draw(flags),
                reclaim=data.draw(flags), windows=data.draw(st.sampled_from([(), (), (Window(0, 300),)])),
            )
        )  # fmt: skip

    def queue(self, data: st.DataObject) -> None:
        self.set_queue(data.draw(st.sampled_from(QUEUES)), data)

    def policy(self, data: st.DataObject) -> None:
        self.warm.policy_put(data.draw(policies))

    def node(self, data: st.DataObject) -> None:
        self.warm.node_put(data.draw(nodes(data.draw(st.sampled_from(NODES)))))

    def device(self, data: st.DataObject) -> None:
        device = data.draw(devices(data.draw(st.sampled_from(NODES)), data.draw(st.integers(0, 3))))
        old = self.warm.devices.get(device.id)
        if old is not None:  # what is sold twice stays so while it is in use
            device = replace(device, oversubscription_permille=old.oversubscription_permille)
        self.warm.device_put(device)

    def lose_device(self, data: st.DataObject) -> None:
        self.warm.device_drop(data.draw(st.sampled_from(["n1/0", "n1/1"])))

    def reserve(self, data: st.DataObject) -> None:
        named: dict[str, dict[str, Any]] = {
            "devices": {"device_ids": frozenset({"n0/0"})}, "count": {"count": 2, "compute_percent": 60},
            "closed": {"device_ids": frozenset({"n1/1"}), "closed": True},
        }  # fmt: skip
        kind = data.draw(st.sampled_from(["none", "none", *named]))
        holder = data.draw(st.sampled_from([None, "acme"]))
        rows = (Reservation("v", self.now, self.now + 150, holder, **named[kind]),) if kind != "none" else ()
        self.warm.reservations_put(rows)

    def remember(self, data: st.DataObject) -> None:
        past = data.draw(st.dictionaries(st.sampled_from(TENANTS), st.integers(0, 9_999)))
        self.warm.shares_put(past, {"acme": 2})
        self.warm.history_put((RunHistory(1, 2, 3),))

    def tenant_quota(self, data: st.DataObject) -> None:
        most = data.draw(st.sampled_from([None, 200, 400]))
        quota = None if most is None else Quota(nominal=Limit(compute_percent=most))
        model = data.draw(st.sampled_from([None, None, "x", "y"]))
        if model is not None:
            own = data.draw(
                st.sampled_from([Limit(compute_percent=130), Limit(shares=2), Limit(memory_mib=900)])
            )
            quota = replace(quota or Quota(), by_model=((model, own),))
        self.warm.tenant_quota_put(data.draw(st.sampled_from(TENANTS)), quota)

    # --- work ------------------------------------------------------------------------------------------------------

    def submit(self, data: st.DataObject) -> None:
        wish = data.draw(wishes())
        for _ in range(data.draw(st.integers(1, 3))):
            self.seq += 1
            self.warm.request_put(
                Request(f"r{self.seq}", submitted_seq=self.seq, submitted_at_s=self.now, **wish)
            )

    def withdraw(self, data: st.DataObject) -> None:
        waiting = sorted(request.id for request in self.warm.backlog.requests())
        if waiting:
            self.warm.request_drop(data.draw(st.sampled_from(waiting)))

    def carry_out(self, data: st.DataObject) -> None:
        """Do what was planned; some of the starts may be stale by now."""
        stale = data.draw(st.sampled_from([False, False, True]))
        for placement in self.made.placements:
            if not stale or data.draw(st.booleans()):
                self.start(placement.request_id, placement.grants, data)
        for each in self.made.preemptions:
            self.warm.running_put(replace(self.warm.running[each.running_id], preempted=True))
        for change in self.made.resizes:
            work = self.warm.running[change.running_id]
            grants = (*work.grants, *change.grants)
            target = change.shares if change.shares < len(work.grants) else None
            self.warm.running_put(replace(work, grants=grants, target_shares=target, resized_at_s=self.now))
        for move in self.made.moves:
            work = self.warm.running[move.running_id]
            away = work.moving | {move.share}
            self.warm.running_put(replace(work, grants=(*work.grants, move.to), moving=away))
        self.warm.holds_put(self.made.nominated_holds)

    def start(self, request_id: str, grants: tuple[Grant, ...], data: st.DataObject) -> None:
        request = self.warm.backlog.request(request_id)
        assert request is not None
        self.warm.request_drop(request_id)
        ends = None if request.duration_s is None else self.now + request.duration_s
        self.warm.running_put(
            RunningWorkload(
                request_id, request.tenant_id, request.queue_id, grants, ends, request.priority,
                request.preemptible, self.now, shares=request.shares, min_shares=request.min_shares, asks=request,
                movable=request.duration_s is None, cost_per_hour_micros=data.draw(st.sampled_from([0, 9_000])),
                preempted_count=data.draw(st.sampled_from([0, 0, 1])),
            )
        )  # fmt: skip

    def end_work(self, data: st.DataObject) -> None:
        running = sorted(self.warm.running)
        if running:
            self.warm.running_drop(data.draw(st.sampled_from(running)))

    def checkpoint(self, data: st.DataObject) -> None:
        for work in list(self.warm.running.values()):
            if data.draw(st.booleans()):
                self.warm.running_put(replace(work, checkpoint_at_s=self.now))

    def leave(self, data: st.DataObject) -> None:
        """All goes that should have gone."""
        for work in list(self.warm.running.values()):
            if work.preempted or (work.ends_at_s is not None and work.ends_at_s <= self.now):
                self.warm.running_drop(work.id)
            elif work.target_shares is not None:
                grants = work.grants[: work.target_shares]
                self.warm.running_put(replace(work, grants=grants, target_shares=None))
            elif work.moving:
                grants = tuple(grant for i, grant in enumerate(work.grants) if i not in work.moving)
                self.warm.running_put(replace(work, grants=grants, moving=frozenset()))

    def time(self, data: st.DataObject) -> None:
        """The clock goes on, or is set back."""
        self.now = max(0, self.now + data.draw(st.sampled_from([1, 10, 10, 100, -20])))

    # --- what holds ------------------------------------------------------------------------------------------------

    @invariant()
    def all_holds(self) -> None:
        """All promises are kept, the warm plan is the plan on the rows read anew, and planning changes nothing."""
        self.made = plan_kept(self.warm, self.now, seed=7)
        check(self.warm, self.made, self.now)
        self.checks += 1
        if self.checks % self.rebuilt_every:
            return
        rows = self.warm.snapshot()
        turned = replace(
            rows, running=rows.running[::-1], requests=rows.requests[::-1], devices=rows.devices[::-1]
        )
        assert plan_kept(SchedulerState(turned), self.now, seed=7) == self.made
        assert plan_kept(self.warm, self.now, seed=7) == self.made


STEPS = {
    step.__name__: step
    for step in (
        History.submit, History.carry_out, History.leave, History.time, History.end_work, History.checkpoint,
        History.withdraw, History.queue, History.policy, History.node, History.device, History.lose_device,
        History.reserve, History.remember, History.tenant_quota,
    )
}  # fmt: skip
WEIGHTED = (
    *("submit", "carry_out") * 6, *("leave", "time") * 3, "end_work", "checkpoint", "withdraw", "queue", "policy",
    "node", "device", "lose_device", "reserve", "remember", "tenant_quota",
)  # fmt: skip
