"""A pool kept warm through any history decides as one built anew, and keeps all promises on the way."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from apps.scheduling.engine.types import (
    Amount,
    Device,
    Grant,
    Limit,
    Node,
    Ordering,
    Placing,
    Plan,
    Policy,
    Queue,
    Quota,
    Request,
    Reservation,
    RunHistory,
    Running,
    Snapshot,
    Window,
)
from apps.scheduling.engine.warm import Warm
from tests.unit.engine.pools import ask, pool

TENANTS = ("acme", "globex", "initech")
QUEUES = ("a", "b", "top")
CARD_MIB = 1_000

policies = st.builds(
    Policy,
    ordering=st.sampled_from(Ordering),
    placing=st.sampled_from(Placing),
    backfill=st.sampled_from([True, True, False]),
    patience_s=st.sampled_from([None, 0, 60]),
    aging_s=st.sampled_from([None, 10]),
    reserved_starts=st.integers(0, 2),
    preemption=st.booleans(),
    reclaim=st.booleans(),
    consolidate=st.booleans(),
    hysteresis_s=st.sampled_from([0, 50]),
    tenant_default=st.sampled_from([Quota(), Quota(nominal=Limit(compute_percent=500))]),
)
guarantees = st.sampled_from([Amount(), Amount(), Amount(compute_percent=100)])
queue_quotas = st.builds(Quota, nominal=st.builds(Limit, st.sampled_from([None, 300])), guaranteed=guarantees)


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, Any]:
    """All of a request but its identity and time."""
    whole = draw(st.sampled_from([False, False, True]))
    shares = draw(st.integers(1, 3))
    return {
        "tenant_id": draw(st.sampled_from(TENANTS)),
        "queue_id": draw(st.sampled_from(QUEUES)),
        "compute_percent": 100 if whole else draw(st.sampled_from([10, 30, 50, 60])),
        "memory_mib": draw(st.sampled_from([0, 100, 400])),
        "shares": shares,
        "min_shares": draw(st.sampled_from([None, None, 1])),
        "exclusive": whole,
        "single_node": draw(st.booleans()),
        "distinct_devices": draw(st.booleans()),
        "priority": draw(st.integers(0, 2)),
        "duration_s": draw(st.sampled_from([None, 30, 200])),
        "preemptible": draw(st.booleans()),
        "urgent": draw(st.sampled_from([False] * 5 + [True])),
        "placing": draw(st.none() | st.sampled_from(Placing)),
        "model": draw(st.sampled_from([None, None, "x"])),
        "deadline_s": draw(st.sampled_from([None, None, 400])),
        "earliest_start_s": draw(st.sampled_from([None, None, 100])),
        "host_cpu_milli": draw(st.sampled_from([0, 0, 500])),
        "affinity": draw(st.sampled_from(["", "", "u"])) if shares == 1 else "",
        "anti_affinity": draw(st.sampled_from(["", "", "", "v"])),
        "reservation_id": draw(st.sampled_from([None] * 6 + ["v"])),
    }


@st.composite
def nodes(draw: st.DrawFn, node_id: str) -> Node:
    up = st.sampled_from([True] * 4 + [False])
    cpu = draw(st.sampled_from([None, 1_000]))
    return Node(
        node_id,
        ready=draw(up),
        schedulable=draw(up),
        host_cpu_milli=cpu,
        rack=draw(st.sampled_from(["", "r"])),
    )


@st.composite
def devices(draw: st.DrawFn, node_id: str, number: int) -> Device:
    return Device(
        f"{node_id}/{number}", node_id, CARD_MIB, model=draw(st.sampled_from("xy")),
        healthy=draw(st.sampled_from([True] * 4 + [False])), link_group=draw(st.sampled_from(["", "i", "j"])),
        oversubscription_permille=draw(st.sampled_from([1000, 1000, 1500])),
    )  # fmt: skip


class History(RuleBasedStateMachine):
    """Rows come, change and go; plans are carried out in part, late, or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.warm = Warm()
        self.now = 0
        self.made = Plan()
        self.seq = 0
        self.first_hold: dict[str, int] = {}

    @initialize(policy=policies, data=st.data())
    def fill(self, policy: Policy, data: st.DataObject) -> None:
        self.warm.policy_put(policy)
        for queue_id in QUEUES:
            self.set_queue(queue_id, data)
        for name in ("n0", "n1"):
            self.warm.node_put(data.draw(nodes(name)))
            for number in range(3):
                self.warm.device_put(data.draw(devices(name, number)))

    @rule(queue_id=st.sampled_from(QUEUES), data=st.data())
    def set_queue(self, queue_id: str, data: st.DataObject) -> None:
        self.warm.queue_put(
            Queue(
                queue_id, parent_id=None if queue_id == "top" else "top", weight=data.draw(st.integers(0, 3)),
                priority=data.draw(st.integers(0, 1)), quota=data.draw(queue_quotas),
                ordering=data.draw(st.none() | st.sampled_from(Ordering)), preempts=data.draw(st.booleans()),
                windows=data.draw(st.sampled_from([(), (), (Window(0, 300),)])),
            )
        )  # fmt: skip

    @rule(policy=policies)
    def set_policy(self, policy: Policy) -> None:
        self.warm.policy_put(policy)

    @rule(name=st.sampled_from(["n0", "n1", "n2"]), data=st.data())
    def set_node(self, name: str, data: st.DataObject) -> None:
        self.warm.node_put(data.draw(nodes(name)))

    @rule(name=st.sampled_from(["n0", "n1", "n2"]), number=st.integers(0, 3), data=st.data())
    def set_device(self, name: str, number: int, data: st.DataObject) -> None:
        device = data.draw(devices(name, number))
        old = self.warm.devices.get(device.id)
        if old is not None:  # what is sold twice stays so while it is in use
            device = replace(device, oversubscription_permille=old.oversubscription_permille)
        self.warm.device_put(device)

    @rule(name=st.sampled_from(["n1/0", "n1/1"]))
    def lose_device(self, name: str) -> None:
        self.warm.device_drop(name)

    @rule(wish=wishes(), count=st.integers(1, 3))
    def submit(self, wish: dict[str, Any], count: int) -> None:
        for _ in range(count):
            self.seq += 1
            self.warm.request_put(
                Request(f"r{self.seq}", submitted_seq=self.seq, submitted_at_s=self.now, **wish)
            )

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        waiting = sorted(request.id for request in self.warm.backlog.requests())
        if waiting:
            self.warm.request_drop(data.draw(st.sampled_from(waiting)))

    @rule(data=st.data(), whole=st.booleans())
    def carry_out(self, data: st.DataObject, whole: bool) -> None:
        """Start what was planned, but for what is stale by now."""
        self.plan()
        for placement in self.made.placements:
            if whole or data.draw(st.booleans()):
                self.start(placement.request_id, placement.grants)
        for each in self.made.preemptions:
            self.warm.running_put(replace(self.warm.running[each.running_id], preempted=True))
        for change in self.made.resizes:
            work = self.warm.running[change.running_id]
            grants = (*work.grants, *change.grants)
            target = change.shares if change.shares < len(work.grants) else None
            self.warm.running_put(replace(work, grants=grants, target_shares=target, resized_at_s=self.now))
        self.warm.holds_put(self.made.freed_holds)

    def start(self, request_id: str, grants: tuple[Grant, ...]) -> None:
        request = self.warm.backlog.request(request_id)
        assert request is not None
        self.warm.request_drop(request_id)
        ends = None if request.duration_s is None else self.now + request.duration_s
        self.warm.running_put(
            Running(
                request_id, request.tenant_id, request.queue_id, grants, ends, request.priority,
                request.preemptible, self.now, shares=request.shares, min_shares=request.min_shares, asks=request,
                movable=request.duration_s is None and not request.preemptible,
            )
        )  # fmt: skip

    @rule(data=st.data())
    def end_work(self, data: st.DataObject) -> None:
        running = sorted(self.warm.running)
        if running:
            self.warm.running_drop(data.draw(st.sampled_from(running)))

    @rule()
    def all_leave_that_should(self) -> None:
        for work in list(self.warm.running.values()):
            if work.preempted or (work.ends_at_s is not None and work.ends_at_s <= self.now):
                self.warm.running_drop(work.id)
            elif work.target_shares is not None:
                self.warm.running_put(
                    replace(work, grants=work.grants[: work.target_shares], target_shares=None)
                )

    @rule(step=st.sampled_from([1, 10, 100, -20]))
    def pass_time(self, step: int) -> None:
        self.now = max(0, self.now + step)

    @rule(
        kind=st.sampled_from(["none", "devices", "count", "closed"]), holder=st.sampled_from([None, "acme"])
    )
    def reserve(self, kind: str, holder: str | None) -> None:
        named: dict[str, dict[str, Any]] = {
            "devices": {"device_ids": frozenset({"n0/0"})}, "count": {"count": 2, "compute_percent": 60},
            "closed": {"device_ids": frozenset({"n1/1"}), "closed": True},
        }  # fmt: skip
        rows = (Reservation("v", self.now, self.now + 150, holder, **named[kind]),) if kind != "none" else ()
        self.warm.reservations_put(rows)

    @rule(past=st.dictionaries(st.sampled_from(TENANTS), st.integers(0, 9_999)))
    def remember(self, past: dict[str, int]) -> None:
        self.warm.shares_put(past, {"acme": 2})
        self.warm.history_put((RunHistory(1, 2, 3),))

    @rule(tenant=st.sampled_from(TENANTS), most=st.sampled_from([None, 200]))
    def set_quota(self, tenant: str, most: int | None) -> None:
        self.warm.tenant_quota_put(
            tenant, None if most is None else Quota(nominal=Limit(compute_percent=most))
        )

    @invariant()
    def all_holds(self) -> None:
        """What is promised of every plan."""
        self.plan()
        self.nothing_is_given_twice()
        self.every_request_is_judged_once()
        self.nobody_is_stopped_without_right()
        self.elastic_work_stays_within_its_bounds()
        self.windows_and_times_are_kept()
        self.no_start_delays_a_reserved_one()

    def plan(self) -> None:
        """The warm plan is the plan on the rows read anew, and planning changes nothing."""
        self.made = self.warm.plan(self.now, seed=7)
        rows = self.warm.snapshot()
        turned = replace(
            rows, running=rows.running[::-1], requests=rows.requests[::-1], devices=rows.devices[::-1]
        )
        assert Warm(turned).plan(self.now, seed=7) == self.made
        assert self.warm.plan(self.now, seed=7) == self.made

    def nothing_is_given_twice(self) -> None:
        """With all that was planned, no device has more than it had, nor a whole card a second holder."""
        held = Counter[tuple[str, int]]()
        for grants in (*(work.grants for work in self.warm.running.values()), *self.planned()):
            for grant in grants:
                held[grant.device_id, 0] += grant.compute_percent
                held[grant.device_id, 1] += grant.memory_mib
        for grants in self.planned():
            for grant in grants:
                device = self.warm.devices[grant.device_id]
                assert held[device.id, 0] <= device.compute_capacity_percent
                assert held[device.id, 1] <= device.memory_capacity_mib

    def planned(self) -> list[tuple[Grant, ...]]:
        grown = [change.grants for change in self.made.resizes]
        moved = [(move.to,) for move in self.made.moves]
        return [placement.grants for placement in self.made.placements] + grown + moved

    def every_request_is_judged_once(self) -> None:
        judged = [placement.request_id for placement in self.made.placements]
        judged += [refusal.request_id for refusal in self.made.refusals]
        assert sorted(judged) == sorted(request.id for request in self.warm.backlog.requests())

    def nobody_is_stopped_without_right(self) -> None:
        requests = {request.id: request for request in self.warm.backlog.requests()}
        for each in self.made.preemptions:
            victim, request = self.warm.running[each.running_id], requests[each.for_request_id]
            assert victim.preemptible
            assert not victim.preempted
            if each.reason == "priority":
                assert victim.priority < request.priority
                assert self.warm.policy.preemption
            else:
                assert self.warm.policy.reclaim

    def elastic_work_stays_within_its_bounds(self) -> None:
        for change in self.made.resizes:
            work = self.warm.running[change.running_id]
            assert (work.min_shares or 1) <= change.shares <= work.shares
            assert change.shares != len(work.grants)

    def windows_and_times_are_kept(self) -> None:
        for placement in self.made.placements:
            request = self.warm.backlog.request(placement.request_id)
            assert request is not None
            ends = self.now + (request.duration_s or 0)
            assert request.earliest_start_s is None or request.earliest_start_s <= self.now
            assert request.deadline_s is None or ends <= request.deadline_s
            for window in self.warm.queues[request.queue_id].windows:
                assert window.from_s <= self.now < window.to_s
                assert ends <= window.to_s

    def no_start_delays_a_reserved_one(self) -> None:
        """At each hold's start, what was planned and what runs until then leave room for all that is held there."""
        for hold in self.made.holds:
            for device_id in {grant.device_id for grant in hold.grants}:
                need = sum(grant.compute_percent for grant in hold.grants if grant.device_id == device_id)
                lasting = self.lasting(device_id, hold.start_at_s, freed=hold.kind.value == "freed")
                assert need + lasting <= self.warm.devices[device_id].compute_capacity_percent

    def lasting(self, device_id: str, at: int, *, freed: bool) -> int:
        """Percent of the device in use then; of freed room, with all gone that leaves."""
        stopped = {each.running_id for each in self.made.preemptions}
        shrunk = {change.running_id: change.shares for change in self.made.resizes}
        total = 0
        for work in self.warm.running.values():
            if (
                work.preempted
                or work.id in stopped
                or (not freed and work.ends_at_s is not None and work.ends_at_s <= at)
            ):
                continue
            most = min(
                shrunk.get(work.id, 99),
                len(work.grants) if work.target_shares is None else work.target_shares,
            )
            total += sum(
                grant.compute_percent for grant in work.grants[:most] if grant.device_id == device_id
            )
        moved = {(move.running_id, move.share) for move in self.made.moves}
        total -= sum(
            self.warm.running[name].grants[share].compute_percent
            for name, share in moved
            if self.warm.running[name].grants[share].device_id == device_id
        )
        for placement in self.made.placements:
            request = self.warm.backlog.request(placement.request_id)
            assert request is not None
            if freed or request.duration_s is None or self.now + request.duration_s > at:
                total += sum(
                    grant.compute_percent for grant in placement.grants if grant.device_id == device_id
                )
        return total + sum(
            g.compute_percent for c in self.made.resizes for g in c.grants if g.device_id == device_id
        )


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=int(os.environ.get("WEIR_ENGINE_EXAMPLES", "8")),
    stateful_step_count=12,
    derandomize="WEIR_ENGINE_EXAMPLES" not in os.environ,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestHistory = pytest.mark.req("ELA-109", "ELA-404", "ELA-603", "ELA-814")(TestHistory)


def test_a_change_of_one_row_shows_in_the_next_plan() -> None:
    warm = Warm(replace(pool(2, 2), requests=tuple(ask(i, 100) for i in range(6))))
    assert len(warm.plan(0, 1).placements) == 4
    warm.device_put(replace(warm.devices["n0/0"], healthy=False))
    assert len(warm.plan(0, 1).placements) == 3
    warm.node_put(replace(warm.nodes["n1"], schedulable=False))
    assert len(warm.plan(0, 1).placements) == 1
    warm.node_put(replace(warm.nodes["n1"], schedulable=True))
    warm.device_drop("n1/1")
    assert len(warm.plan(0, 1).placements) == 2
    warm.request_drop("r0")
    assert [placement.request_id for placement in warm.plan(0, 1).placements] == ["r1", "r2"]


def test_a_node_that_closes_takes_nothing_more_though_it_was_looked_at_before() -> None:
    warm = Warm(replace(pool(2, 1), requests=(ask(1, 60, shares=2), ask(2, 10, placing=Placing.BEST_FIT))))
    assert len(warm.plan(0, 1).placements) == 2
    warm.node_put(replace(warm.nodes["n0"], ready=False))
    assert [placement.request_id for placement in warm.plan(0, 1).placements] == ["r2"]
    warm.node_put(replace(warm.nodes["n1"], ready=False))
    assert not warm.plan(0, 1).placements


def test_a_plan_is_a_value_that_later_changes_leave_alone() -> None:
    warm = Warm(replace(Snapshot(), queues=(Queue("q"),), requests=tuple(ask(i) for i in range(3))))
    made = warm.plan(0, 1)
    warm.request_drop("r1")
    assert [refusal.request_id for refusal in made.refusals] == ["r0", "r1", "r2"]
