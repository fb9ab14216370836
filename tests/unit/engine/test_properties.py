"""What holds for every pool, every policy and every history."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan
from apps.scheduling.engine.model.types import (
    Amount,
    Device,
    Feasibility,
    Grant,
    Limit,
    Node,
    Ordering,
    Placing,
    Policy,
    Queue,
    QueueState,
    Quota,
    Request,
    RunningWorkload,
    Snapshot,
)
from apps.scheduling.engine.queueing.admission import STARTING
from apps.scheduling.engine.queueing.quota import DIMENSIONS, granted
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.examples import IS_SEARCH, examples
from tests.unit.engine.promises import check_grants

TENANTS = ("acme", "globex")
QUEUES = ("a", "b", "top")
quick = settings(
    max_examples=examples(20),
    derandomize=not IS_SEARCH,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

flags = st.sampled_from([True, True, True, False])
limits = st.builds(
    Limit,
    compute_percent=st.none() | st.integers(0, 400),
    memory_mib=st.none() | st.integers(0, 4_000),
    shares=st.none() | st.integers(0, 8),
)
amounts = st.builds(Amount, st.integers(0, 100), st.integers(0, 500), st.integers(0, 2))
quotas = st.builds(Quota, nominal=limits, borrow=amounts, guaranteed=amounts, lend=limits)
policies = st.builds(
    Policy,
    ordering=st.sampled_from(Ordering),
    placing=st.sampled_from(Placing),
    backfill=st.booleans(),
    patience_s=st.none() | st.integers(0, 100),
    aging_s=st.none() | st.integers(1, 50),
)


@st.composite
def requests(draw: st.DrawFn, count: int = 12) -> tuple[Request, ...]:
    """Up to so many requests, whole cards and shares, some of them hopeless."""
    made = []
    for seq in range(draw(st.integers(0, count))):
        whole = draw(st.sampled_from([False, False, True]))
        per = draw(st.sampled_from([1, 1, 1, 2, 3]))
        shares = per * draw(st.integers(1, 4 if per == 1 else 2))
        made.append(
            Request(
                id=f"r{seq:02}",
                tenant_id=draw(st.sampled_from(TENANTS)),
                queue_id=draw(st.sampled_from((*QUEUES, "none")[: draw(st.integers(2, 4))])),
                submitted_seq=draw(st.integers(0, 5)),
                compute_percent=100 if whole else draw(st.integers(1, 100)),
                memory_mib=draw(st.integers(0, 900)),
                shares=shares,
                shares_per_replica=per,
                exclusive=whole,
                distinct_devices=draw(st.booleans()),
                single_node=draw(st.booleans()),
                priority=draw(st.integers(-2, 2)),
                submitted_at_s=draw(st.integers(0, 100)),
                placing=draw(st.none() | st.sampled_from(Placing)),
                node_id=draw(st.sampled_from([None] * 4 + ["n0"])),
                model=draw(st.sampled_from([None, None, "x", "y"])),
                resource_group=draw(st.sampled_from([None] * 5 + ["lab"])),
                local_node_id=draw(st.sampled_from([None, "n0", "n1"])),
                affinity=draw(st.sampled_from(["", "", "u", "v"])) if shares == 1 else "",
                anti_affinity=draw(st.sampled_from(["", "", "", "u", "w"])),
            )
        )
    return tuple(made)


@st.composite
def pools(draw: st.DrawFn) -> Snapshot:
    """A small uneven pool with a tree of queues and quotas, nothing running."""
    nodes = tuple(
        Node(f"n{i}", ready=draw(flags), schedulable=draw(flags)) for i in range(draw(st.integers(0, 3)))
    )
    devices = tuple(
        Device(
            f"{node.id}/{k}",
            node.id,
            draw(st.integers(0, 1_000)),
            model=draw(st.sampled_from("xy")),
            enabled=draw(flags),
            healthy=draw(flags),
            sliced=draw(st.sampled_from([None, None, True, False])),
            resource_group=draw(st.sampled_from([None, None, None, "lab"])),
            oversubscription_permille=draw(st.sampled_from([1000, 1000, 500, 1500, 2000])),
            memory_oversubscription_permille=draw(st.sampled_from([1000, 1000, 800, 1200])),
        )
        for node in nodes
        for k in range(draw(st.integers(0, 3)))
    )
    queues = tuple(
        Queue(
            queue_id,
            parent_id=None if queue_id == "top" else "top",
            priority=draw(st.integers(0, 1)),
            quota=draw(quotas),
            state=draw(st.sampled_from([QueueState.UP] * 4 + [QueueState.DRAIN, QueueState.DOWN])),
        )
        for queue_id in QUEUES
    )
    tenant_quotas = tuple((tenant, draw(quotas)) for tenant in TENANTS[: draw(st.integers(0, 2))])
    return Snapshot(nodes, devices, queues, (), (), tenant_quotas, draw(policies))


def started(made: Plan) -> tuple[RunningWorkload, ...]:
    """The plan's placements as running work."""
    return tuple(RunningWorkload(p.request_id, p.tenant_id, p.queue_id, p.grants) for p in made.placements)


def check_devices(snapshot: Snapshot) -> None:
    """No device gives out more percent or MiB than it has, and a whole card has one holder."""
    held: dict[str, list[Grant]] = defaultdict(list)
    for work in snapshot.running:
        for grant in work.grants:
            held[grant.device_id].append(grant)
    for device in snapshot.devices:
        grants = held.pop(device.id, [])
        assert sum(grant.compute_percent for grant in grants) <= device.compute_capacity_percent
        assert sum(grant.memory_mib for grant in grants) <= device.memory_capacity_mib
        assert not any(grant.exclusive for grant in grants) or len(grants) == 1
    assert not held, "granted on a device that is not there"


def check_quotas(snapshot: Snapshot) -> None:
    """Neither a tenant nor a queue, with all below it, is beyond nominal plus borrowed."""
    by_tenant: Counter[tuple[str, int]] = Counter()
    by_queue: Counter[tuple[str, int]] = Counter()
    for work in snapshot.running:
        for i, amount in enumerate(granted(work.grants)):
            by_tenant[work.tenant_id, i] += amount
            for queue_id in {work.queue_id, "top"}:
                by_queue[queue_id, i] += amount
    stated = dict(snapshot.tenant_quotas)
    for used, quotas_by_id in (
        (by_tenant, {tenant: stated.get(tenant, Quota()) for tenant in TENANTS}),
        (by_queue, {queue.id: queue.quota for queue in snapshot.queues}),
    ):
        for holder, quota in quotas_by_id.items():
            for i, name in enumerate(DIMENSIONS):
                nominal = getattr(quota.nominal, name)
                assert nominal is None or used[holder, i] <= nominal + getattr(quota.borrow, name)


def check_plan(snapshot: Snapshot, made: Plan) -> None:
    """Each request is in one of the two; a placed one has all it asked on devices that may serve it."""
    by_id = {request.id: request for request in snapshot.requests}
    served = [placement.request_id for placement in made.placements]
    refused = [refusal.request_id for refusal in made.refusals]
    assert sorted(served + refused) == sorted(by_id)
    devices = {device.id: device for device in snapshot.devices}
    nodes = {node.id: node for node in snapshot.nodes}
    up = {queue.id for queue in snapshot.queues if queue.state in STARTING}
    for placement in made.placements:
        request = by_id[placement.request_id]
        assert placement.queue_id in up
        assert len(placement.grants) == request.shares
        check_grants(request, placement.grants, devices, nodes)
    for queue_id in {refusal.queue_id for refusal in made.refusals}:
        places = [refusal.position for refusal in made.refusals if refusal.queue_id == queue_id]
        assert places == list(range(1, len(places) + 1))


@pytest.mark.req("ELA-404", "ELA-603", "ELA-610", "ELA-702", "ELA-814")
@quick
@given(pools(), requests(), requests(), st.integers(0, 9), st.data())
def test_two_cycles_with_releases_between(
    empty: Snapshot, first: tuple[Request, ...], second: tuple[Request, ...], seed: int, data: st.DataObject
) -> None:
    snapshot = replace(empty, requests=first)
    made = plan(snapshot, now=100, seed=seed)
    check_plan(snapshot, made)
    full = replace(snapshot, running=started(made), requests=())
    check_devices(full)
    check_quotas(full)
    left = tuple(work for work in full.running if data.draw(st.booleans()))
    arrived = tuple(replace(request, id=f"s{request.id}") for request in second)
    again = replace(full, running=left, requests=arrived)
    remade = plan(again, now=150, seed=seed)
    check_plan(again, remade)
    after = replace(again, running=left + started(remade))
    check_devices(after)
    check_quotas(after)


@quick
@given(pools(), requests(), st.integers(0, 9), st.randoms(use_true_random=False))
def test_same_seed_same_plan_whatever_the_order_of_rows(
    empty: Snapshot, asked: tuple[Request, ...], seed: int, shuffler: object
) -> None:
    snapshot = replace(empty, requests=asked)
    made = plan(snapshot, now=100, seed=seed)
    assert plan(snapshot, now=100, seed=seed) == made
    turned = replace(
        snapshot,
        requests=asked[::-1],
        nodes=snapshot.nodes[::-1],
        devices=snapshot.devices[::-1],
        queues=snapshot.queues[::-1],
    )
    assert plan(turned, now=100, seed=seed) == made


@pytest.mark.req("ELA-405")
@quick
@given(pools(), requests(), st.integers(0, 9))
def test_refused_requests_change_nothing(empty: Snapshot, asked: tuple[Request, ...], seed: int) -> None:
    """Without spread's draws, which the refused use up too, the placed are placed alike when asked alone."""
    placing = {each.id: replace(each, placing=each.placing or Placing.DEVICE_COMPACT) for each in asked}
    asked = tuple(
        replace(each, placing=Placing.DEVICE_BALANCED) if each.placing is Placing.SPREAD else each
        for each in placing.values()
    )
    made = plan(replace(empty, requests=asked), now=0, seed=seed)
    served = {placement.request_id for placement in made.placements}
    alone = tuple(each for each in asked if each.id in served)
    assert plan(replace(empty, requests=alone), now=0, seed=seed).placements == made.placements


@quick
@given(pools(), requests(1), st.integers(0, 9))
def test_alone_in_an_empty_pool_it_is_placed_or_told_why_it_never_will(
    empty: Snapshot, asked: tuple[Request, ...], seed: int
) -> None:
    for request in asked:
        snapshot = replace(plain(empty), requests=(request,))
        made = plan(snapshot, now=0, seed=seed)
        prospect = SchedulerState(snapshot).prospect(request)
        assert bool(made.placements) is (prospect is Feasibility.AFTER_RELEASES)
        assert all(refusal.permanent is (prospect is Feasibility.NEVER) for refusal in made.refusals)


def plain(snapshot: Snapshot) -> Snapshot:
    """A snapshot with all queues up and without guarantees, which are a reason of their own to wait."""

    def open_(quota: Quota) -> Quota:
        return replace(quota, guaranteed=Amount())

    queues = tuple(replace(q, state=QueueState.UP, quota=open_(q.quota)) for q in snapshot.queues)
    return replace(snapshot, queues=queues)


@pytest.mark.req("ELA-704", "ELA-507")
@quick
@given(pools(), requests(), st.integers(0, 9))
def test_what_fits_an_empty_pool_is_placed_once_work_ends(
    empty: Snapshot, asked: tuple[Request, ...], seed: int
) -> None:
    """All that started ends before the next cycle: nothing waits for longer than the line is."""
    snapshot = replace(plain(empty), requests=asked)
    waiting = asked
    for turn in range(len(asked)):
        made = plan(replace(snapshot, requests=waiting), now=turn, seed=seed)
        served = {placement.request_id for placement in made.placements}
        waiting = tuple(request for request in waiting if request.id not in served)
    cycle = SchedulerState(snapshot)
    assert not [request for request in waiting if cycle.prospect(request) is Feasibility.AFTER_RELEASES]


@pytest.mark.req("POOL-12.9", "POOL-12.13", "POOL-12.15")
@quick
@given(pools(), requests(), st.integers(0, 9))
def test_words_classes_and_groups_hold(empty: Snapshot, asked: tuple[Request, ...], seed: int) -> None:
    made = plan(replace(empty, requests=asked), now=0, seed=seed)
    devices = {device.id: device for device in empty.devices}
    wishes = {request.id: request for request in asked}
    together, apart = defaultdict(set), Counter()
    for placement in made.placements:
        wish = wishes[placement.request_id]
        for grant in placement.grants:
            device = devices[grant.device_id]
            assert device.sliced is not grant.exclusive or device.sliced is None
            assert device.resource_group == wish.resource_group or device.resource_group is None
            assert wish.resource_group in (None, device.resource_group)
            together[wish.affinity].add(grant.device_id)
            apart[wish.anti_affinity, grant.device_id] += 1
    for word, places in together.items():
        assert not word or len(places) == 1
    for (word, place), count in apart.items():
        assert not word or (count == 1 and place not in together[word])
