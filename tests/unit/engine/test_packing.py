"""Placing against fragmentation: what is left must serve what usually comes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan, plan_kept
from apps.scheduling.engine.model.types import (
    USUAL,
    Node,
    Placing,
    Policy,
    ReasonCode,
    Request,
    RunningWorkload,
    Snapshot,
    Typical,
)
from apps.scheduling.engine.placement.usable_room import Measure
from apps.scheduling.engine.resources.pool import PLENTY
from apps.scheduling.engine.resources.workload_mix import tally
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.unit.engine.pools import CARD_MIB, ask, device, holding, pool, run

POLICY = Policy(placing=Placing.FRAGMENTATION)


def packed(nodes: int = 1, cards: int = 1, **more: Any) -> Snapshot:
    """A pool of equal nodes under the policy."""
    return pool(nodes, cards, policy=POLICY, **more)


def devices_of(made: Plan) -> list[str]:
    return [grant.device_id for placement in made.placements for grant in placement.grants]


@pytest.mark.req("ELA-704")
def test_small_work_fills_the_rest_that_serves_nothing_else() -> None:
    mix = (Typical(81, count=5), Typical(50, count=5), Typical(16))
    running = (holding("a", "n0/0", 50, 0), holding("b", "n0/1", 81, 0))
    made = run(packed(1, 3, running=running, mix=mix), ask(1, 16, 0))
    assert devices_of(made) == ["n0/1"]


@pytest.mark.req("ELA-704")
def test_a_half_goes_to_the_half_that_is_left() -> None:
    mix = (Typical(50), Typical(100))
    made = run(packed(1, 3, running=(holding("a", "n0/2", 50, 0),), mix=mix), ask(1, 50, 0))
    assert devices_of(made) == ["n0/2"]


def test_memory_binds_as_compute_does() -> None:
    running = (holding("a", "n0/0", 10, CARD_MIB), holding("b", "n0/1", 50, CARD_MIB // 2))
    made = run(packed(1, 3, running=running, mix=(Typical(50),)), ask(1, 50, CARD_MIB // 2))
    assert devices_of(made) == ["n0/1"]


@pytest.mark.req("POOL-7.2a")
def test_nodes_stay_whole_for_gangs_that_usually_come() -> None:
    mix = (Typical(30, count=3), Typical(100, shares=2, count=3))
    made = run(packed(2, 2, running=(holding("a", "n1/0", 90, 0),), mix=mix), ask(1, 30, 0))
    assert devices_of(made) == ["n1/1"]


def test_without_gangs_the_first_node_is_as_good() -> None:
    made = run(packed(2, 2, running=(holding("a", "n1/0", 90, 0),), mix=(Typical(10),)), ask(1, 30, 0))
    assert devices_of(made) == ["n0/0"]


def test_work_that_needs_little_host_cpu_leaves_the_rich_hosts() -> None:
    nodes = (Node("n0", host_cpu_milli=64_000), Node("n1", host_cpu_milli=4_000))
    mix = (Typical(100, host_cpu_milli=32_000), Typical(100, host_cpu_milli=1_000))
    snapshot = replace(packed(2, 2, mix=mix), nodes=nodes)
    assert devices_of(run(snapshot, ask(1, 100, 0, host_cpu_milli=1_000))) == ["n1/0"]
    assert devices_of(run(snapshot, ask(1, 100, 0, host_cpu_milli=32_000))) == ["n0/0"]


def test_cards_that_host_cpu_cannot_serve_are_no_loss() -> None:
    nodes = (Node("n0", host_cpu_milli=16_000), Node("n1", host_cpu_milli=8_000))
    snapshot = replace(packed(2, 2, mix=(Typical(100, host_cpu_milli=8_000),)), nodes=nodes)
    assert devices_of(run(snapshot, ask(1, 100, 0))) == ["n1/0"]


def test_a_gang_does_not_share_oversold_cards() -> None:
    devices = tuple(device("n0", i, oversubscription_permille=2000) for i in range(2))
    snapshot = replace(packed(1, 2, running=(holding("a", "n0/0", 50, 0),)), devices=devices)
    gang = ask(1, 100, 0, shares=2, exclusive=True, single_node=True)
    assert devices_of(run(snapshot, gang)) == []
    assert devices_of(run(replace(snapshot, running=()), gang)) == ["n0/0", "n0/1"]


def test_scarce_models_are_left_to_those_who_need_them() -> None:
    devices = (device("n0", 0, model="rare"), device("n1", 0, model="plain"), device("n2", 0, model="plain"))
    mix = (Typical(100, count=99), Typical(100, models=frozenset({"rare"})))
    snapshot = replace(packed(3, 1, mix=mix), devices=devices)
    assert devices_of(run(snapshot, ask(1, 100, 0))) == ["n1/0"]
    assert devices_of(run(snapshot, ask(1, 100, 0, model="rare"))) == ["n0/0"]


def test_a_gang_gets_idle_cards_of_one_node_or_none() -> None:
    snapshot = packed(2, 2, running=(holding("a", "n0/0", 10, 0),))
    gang = ask(1, 100, 0, shares=2, exclusive=True, single_node=True)
    assert devices_of(run(snapshot, gang)) == ["n1/0", "n1/1"]
    both = replace(snapshot, running=(*snapshot.running, holding("b", "n1/1", 10, 0)))
    assert devices_of(run(both, gang)) == []


def test_a_gang_that_may_span_nodes_does() -> None:
    gang = ask(1, 100, 0, shares=3, exclusive=True)
    assert sorted(devices_of(run(packed(2, 2), gang))) == ["n0/0", "n0/1", "n1/0"]


def test_a_card_in_full_is_refused_with_its_reason() -> None:
    made = run(packed(running=(holding("a", "n0/0", 60),)), ask(1, 50))
    assert made.refusals[0].reason.code is ReasonCode.COMPUTE_PERCENT


def test_host_work_leaves_the_cards_whole() -> None:
    nodes = (Node("n0", host_cpu_milli=8_000),)
    snapshot = replace(packed(1, 1), nodes=nodes)
    host, card = ask(1, 0, 0, host_cpu_milli=6_000), ask(2, 100, 0, exclusive=True, host_cpu_milli=2_000)
    assert devices_of(run(snapshot, host, card)) == ["n0/0", "n0/0"]
    more = run(snapshot, host, ask(2, 0, 0, host_cpu_milli=4_000))
    assert [refusal.reason.code for refusal in more.refusals] == [ReasonCode.HOST_CPU]


def test_work_that_asks_for_nothing_is_invalid() -> None:
    assert run(packed(), ask(1, 0, 0)).refusals[0].reason.code is ReasonCode.REQUEST_INVALID


def test_closed_and_pinned_devices_are_kept() -> None:
    snapshot = packed(2, 2)
    closed = replace(snapshot, nodes=(replace(snapshot.nodes[0], schedulable=False), snapshot.nodes[1]))
    assert devices_of(run(closed, ask(1, 10))) == ["n1/0"]
    assert devices_of(run(snapshot, ask(1, 10, device_id="n1/1"))) == ["n1/1"]


def test_a_server_changed_between_cycles_is_judged_anew() -> None:
    warm = SchedulerState(
        replace(packed(2, 1), nodes=(Node("n0", host_cpu_milli=4_000), Node("n1", host_cpu_milli=4_000)))
    )
    warm.request_put(ask(1, 10, 0, host_cpu_milli=4_000))
    assert devices_of(plan_kept(warm, 0, 1)) == ["n0/0"]
    warm.node_put(Node("n0", host_cpu_milli=1_000))
    assert devices_of(plan_kept(warm, 0, 1)) == ["n1/0"]
    warm.running_put(holding("a", "n1/0", 95))
    assert devices_of(plan_kept(warm, 0, 1)) == []


def test_a_new_mix_counts_from_the_next_cycle_on() -> None:
    running = (holding("a", "n0/0", 50, 0), holding("b", "n0/1", 30, 0))
    warm = SchedulerState(packed(1, 2, running=running, mix=(Typical(70),)))
    warm.request_put(ask(1, 20, 0))
    first = devices_of(plan_kept(warm, 0, 1))
    warm.mix_put((Typical(50),))
    assert (first, devices_of(plan_kept(warm, 0, 1))) == (["n0/0"], ["n0/1"])


def test_a_tally_counts_kinds_and_leaves_host_work_out() -> None:
    known = tally([ask(1, 30), ask(2, 30), ask(3, 0, 0, host_cpu_milli=1)])
    assert known == (Typical(30, count=2),)
    gang = ask(4, 100, 0, shares=8, exclusive=True, single_node=True, model="big")
    assert tally([ask(5, 30), gang], known) == (
        Typical(30, count=3), Typical(100, shares=8, models=frozenset({"big"})),
    )  # fmt: skip


sizes = st.sampled_from([5, 10, 25, 33, 50, 81, 100])
works = st.lists(
    st.tuples(sizes, st.integers(0, 4), st.sampled_from([0, 500, 3_000]), st.booleans()), max_size=14
)


def _requests(drawn: list[tuple[int, int, int, bool]]) -> tuple[Request, ...]:
    return tuple(
        ask(seq, percent, mib * 100, host_cpu_milli=cpu, exclusive=whole and percent == 100)
        for seq, (percent, mib, cpu, whole) in enumerate(drawn)
    )


@given(works, st.permutations(range(6)), st.sampled_from([(), USUAL, (Typical(81), Typical(16, count=9))]))
def test_nothing_is_given_twice_and_the_order_of_rows_does_not_matter(
    drawn: list[tuple[int, int, int, bool]], order: list[int], mix: tuple[Typical, ...]
) -> None:
    nodes = tuple(Node(f"n{i}", host_cpu_milli=4_000) for i in range(3))
    snapshot = replace(packed(3, 2, mix=mix), nodes=nodes, requests=_requests(drawn))
    made = plan(snapshot, now=0, seed=1)
    grants = [grant for placement in made.placements for grant in placement.grants]
    for each in snapshot.devices:
        mine = [grant for grant in grants if grant.device_id == each.id]
        assert sum(grant.compute_percent for grant in mine) <= 100
        assert sum(grant.memory_mib for grant in mine) <= CARD_MIB
        assert not any(grant.exclusive for grant in mine) or len(mine) == 1
    for node in nodes:
        assert sum(grant.host_cpu_milli for grant in grants if grant.node_id == node.id) <= 4_000
    other = replace(snapshot, devices=tuple(snapshot.devices[i] for i in order), nodes=nodes[::-1])
    assert plan(other, now=0, seed=1) == made


@given(works, st.lists(st.integers(0, 13), max_size=8))
def test_a_pool_kept_warm_chooses_as_one_built_anew(
    drawn: list[tuple[int, int, int, bool]], ended: list[int]
) -> None:
    warm = SchedulerState(packed(3, 2, mix=(Typical(50), Typical(33, count=3), Typical(100, shares=2))))
    requests = _requests(drawn)
    half = len(requests) // 2
    for request in requests[:half]:
        warm.request_put(request)
    for placement in plan_kept(warm, 0, 1).placements:
        warm.request_drop(placement.request_id)
        warm.running_put(RunningWorkload(placement.request_id, "acme", "q", placement.grants))
    for seq in ended:
        warm.running_drop(f"r{seq}")
    for request in requests[half:]:
        warm.request_put(request)
    assert plan_kept(warm, 9, 2) == plan(warm.snapshot(), now=9, seed=2)


KINDS = st.builds(
    Typical,
    st.sampled_from((1, 10, 25, 30, 50, 100)),
    st.integers(1, 4),
    st.sampled_from((0, 1_500, 4_000)),
    st.sampled_from((frozenset(), frozenset({"a"}))),
    st.integers(1, 50),
)


@given(
    st.lists(KINDS, max_size=6),
    st.lists(st.lists(st.integers(0, 200), min_size=3, max_size=3), min_size=1, max_size=5),
    st.sampled_from((-3_000, 0, 1_999, 6_000, 64_000, PLENTY)),
)
def test_the_usable_room_of_one_server_is_that_of_many(
    kinds: list[Typical], rows: list[list[int]], cpu: int
) -> None:
    measure = Measure(kinds, {"a": 3, "b": 6}, [frozenset({"a"}), frozenset({"b"})])
    classes = [place % 2 for place in range(len(rows))]
    many = measure.usable(np.array(rows), np.full(len(rows), cpu), np.array(classes))
    one = [measure.of_one(free, cpu, of_class) for free, of_class in zip(rows, classes, strict=True)]
    assert one == many.tolist()


@given(
    st.lists(
        st.builds(
            ask,
            st.integers(1, 10**6),
            st.sampled_from((0, 5, 30, 50, 100)),
            st.sampled_from((0, 500, 4_000)),
            exclusive=st.booleans(),
            shares=st.integers(1, 2),
            single_node=st.just(True),
            host_cpu_milli=st.sampled_from((1, 3_000)),
            model=st.sampled_from((None, "a")),
        ),
        max_size=20,
        unique_by=lambda each: each.id,
    ),
    st.booleans(),
)
def test_servers_judged_one_by_one_are_chosen_as_when_judged_at_once(asks: list[Request], even: bool) -> None:
    nodes = tuple(Node(f"n{i}", host_cpu_milli=16_000) for i in range(4))
    sizes = (CARD_MIB, CARD_MIB) if even else (CARD_MIB, CARD_MIB // 2)
    devices = tuple(
        device(node.id, k, memory_mib=mib, model="ab"[place % 2])
        for place, node in enumerate(nodes)
        for k, mib in enumerate(sizes)
    )
    snapshot = replace(packed(), nodes=nodes, devices=devices)
    made = []
    for few in (0, 1_000):
        with patch("apps.scheduling.engine.placement.fragmentation.FEW", few):
            made.append(run(snapshot, *asks))
    assert made[0].placements == made[1].placements


def test_a_host_that_gives_more_than_it_has_leaves_no_usable_room() -> None:
    """Starts reserved for later count at once: then a host may give out more than it has for a while."""
    measure = Measure((Typical(50, host_cpu_milli=2_000),), {"a": 2}, [frozenset({"a"})])
    assert measure.usable(np.array([[100, 100]]), np.array([-4_000]), np.array([0])).tolist() == [0]
    assert measure.of_one([100, 100], -4_000, 0) == 0
