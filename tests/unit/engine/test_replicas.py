"""Replicas of several cards: so many at a time, each on one node, never a part of one (ELA-505)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.scheduling.engine.cycle.explain import explain
from apps.scheduling.engine.model.types import (
    Feasibility,
    Grant,
    Limit,
    Node,
    Placing,
    Policy,
    Quota,
    ReasonCode,
    Request,
    RunningWorkload,
    Snapshot,
)
from apps.scheduling.engine.simulate.eta import offer
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.unit.engine.pools import ask, device, holding, on_nodes, only, placed, pool, reasons, run

pytestmark = pytest.mark.req("ELA-505")


def whole(seq: int, replicas: int, per: int, **more: Any) -> Request:
    """So many replicas of so many whole cards."""
    return ask(seq, 100, 0, shares=replicas * per, shares_per_replica=per, exclusive=True, **more)


def running(replicas: int, per: int, **more: Any) -> RunningWorkload:
    """Elastic work "e" of as many replicas, on the first cards of n0, n1, …, that may shrink to one and grow to 4."""
    grants = tuple(
        Grant(f"n{i}/{k}", f"n{i}", 100, 10_000, True) for i in range(replicas) for k in range(per)
    )
    asks = whole(0, 4, per, min_shares=per, id="e")
    work = RunningWorkload("e", "acme", "q", grants, shares=4 * per, min_shares=per, asks=asks)
    return replace(work, **more)


def by_replica(grants: tuple[Grant, ...], per: int) -> list[set[str]]:
    """The nodes of each replica."""
    return [{grant.node_id for grant in grants[i : i + per]} for i in range(0, len(grants), per)]


@pytest.mark.parametrize("placing", list(Placing))
def test_two_replicas_of_eight_take_sixteen_cards_each_replica_on_a_node(placing: Placing) -> None:
    made = run(pool(3, 8), whole(1, 2, 8, placing=placing, local_node_id="n0"))
    if placing is Placing.LOCAL:
        assert reasons(made)["r1"].code is ReasonCode.REPLICAS, "one node, and it takes one of two"
        return
    grants = only(made).grants
    assert len({grant.device_id for grant in grants}) == 16
    assert [len(nodes) for nodes in by_replica(grants, 8)] == [1, 1]


def test_sixteen_cards_in_pieces_are_not_two_replicas_of_eight() -> None:
    """Three nodes have six idle cards each: room for 18 shares, and for no replica of eight."""
    busy = tuple(
        holding(f"b{n}{k}", f"n{n}/{k}", 100, exclusive=True, mib=10_000) for n in range(3) for k in (0, 1)
    )
    snapshot = pool(3, 8, running=busy)
    assert placed(run(snapshot, whole(1, 16, 1))) == ["r1"]
    made = run(snapshot, whole(1, 2, 8))
    assert reasons(made)["r1"].params == (("asked", 8), ("free", 6), ("devices", 18))
    told = explain(made, "r1")
    assert told is not None
    assert told.sentence == "No single node has room for a replica of 8 shares; the best would take 6."
    assert not told.permanent


def test_all_replicas_start_or_none() -> None:
    busy = (holding("b", "n1/0", 100, exclusive=True, mib=10_000),)
    made = run(pool(2, 4, running=busy), whole(1, 2, 4), whole(2, 1, 4))
    assert placed(made) == ["r2"], "the first holds nothing while it lacks its second replica"
    told = explain(made, "r1")
    assert told is not None
    assert told.sentence.startswith("Only 1 of the 2 replicas of 4 shares would fit now, each on one node")


def test_a_replica_larger_than_any_node_never_fits_and_is_told_so() -> None:
    warm = SchedulerState(pool(4, 8))
    reason = warm.hopeless(whole(1, 2, 9))
    assert reason is not None
    assert (reason.code, dict(reason.params)["free"]) == (ReasonCode.REPLICA, 8)
    assert warm.prospect(whole(1, 2, 9)) is Feasibility.NEVER
    assert warm.prospect(whole(1, 4, 8)) is Feasibility.AFTER_RELEASES
    assert warm.prospect(whole(1, 5, 8)) is Feasibility.NEVER
    assert warm.prospect(whole(1, 9, 4, min_shares=8)) is Feasibility.AFTER_RELEASES


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"shares": 16, "shares_per_replica": 5}, "shares_per_replica"),
        ({"shares": 16, "shares_per_replica": 0}, "shares_per_replica"),
        ({"shares": 16, "shares_per_replica": 8, "min_shares": 4}, "min_shares"),
    ],
)
def test_a_part_of_a_replica_is_no_request(wrong: dict[str, int], field: str) -> None:
    reason = reasons(run(pool(2, 8), ask(1, **wrong)))["r1"]
    assert (reason.code, dict(reason.params)["field"]) == (ReasonCode.REQUEST_INVALID, field)


def test_a_replica_lies_on_one_island_where_it_can() -> None:
    """Two links of four cards on a node, numbered crosswise: each replica gets a link."""
    cards = tuple(device("n0", k, link_group="ab"[k % 2]) for k in range(8))
    grants = only(run(replace(pool(1, 8), devices=cards), whole(1, 2, 4))).grants
    links = {card.id: card.link_group for card in cards}
    assert [len({links[grant.device_id] for grant in grants[i : i + 4]}) for i in (0, 4)] == [1, 1]


def test_host_processors_bound_the_replicas_of_a_node() -> None:
    nodes = (Node("n0", host_cpu_milli=5_000), Node("n1", host_cpu_milli=2_000))
    made = run(replace(pool(2, 8), nodes=nodes), whole(1, 3, 2, host_cpu_milli=1_000))
    assert sorted(on_nodes(made)) == ["n0"] * 4 + ["n1"] * 2
    assert reasons(run(replace(pool(2, 8), nodes=nodes), whole(1, 4, 2, host_cpu_milli=1_000)))


# --- elastic -----------------------------------------------------------------------------------------------------


def test_elastic_work_starts_with_as_many_whole_replicas_as_fit() -> None:
    busy = (holding("b", "n1/0", 100, exclusive=True, mib=10_000),)
    grants = only(run(pool(3, 4, running=busy), whole(1, 4, 4, min_shares=4))).grants
    assert sorted(next(iter(nodes)) for nodes in by_replica(grants, 4)) == ["n0", "n2"]


@pytest.mark.req("ELA-904", "ELA-506")
@pytest.mark.parametrize(
    ("idle", "shares"), [((3, 3, 3), 4), ((4, 3, 0), 8), ((4, 4, 3), 12), ((4,) * 6, 16)]
)
def test_it_grows_by_whole_replicas_up_to_its_most(idle: tuple[int, ...], shares: int) -> None:
    """It has a replica on n0; of each other node of four cards so many are idle."""
    busy = tuple(
        holding(f"b{n}{k}", f"n{n}/{k}", 100, 10_000, exclusive=True)
        for n, free in enumerate(idle, 1)
        for k in range(free, 4)
    )
    snapshot = pool(1 + len(idle), 4, running=(running(1, 4), *busy), policy=Policy(hysteresis_s=0))
    changes = run(snapshot, now=1_000).resizes
    assert [change.shares for change in changes] == ([shares] if shares > 4 else [])
    assert all(len(nodes) == 1 for change in changes for nodes in by_replica(change.grants, 4))


@pytest.mark.req("ELA-904")
def test_growth_stops_where_the_quota_has_no_room_for_a_whole_replica() -> None:
    quotas = (("acme", Quota(nominal=Limit(shares=11))),)
    snapshot = pool(4, 4, running=(running(1, 4),), tenant_quotas=quotas, policy=Policy(hysteresis_s=0))
    (change,) = run(snapshot, now=1_000).resizes
    assert change.shares == 8


@pytest.mark.req("ELA-809")
def test_it_shrinks_by_a_whole_replica_though_one_card_is_asked() -> None:
    snapshot = pool(3, 4, running=(running(3, 4),))
    made = run(snapshot, ask(1, 100, 0, exclusive=True, priority=1))
    (change,) = made.resizes
    assert change.shares == 8
    assert [hold.grants[0].node_id for hold in made.nominated_holds] == ["n2"]


@pytest.mark.req("ELA-809")
def test_it_never_shrinks_below_its_least_replicas() -> None:
    snapshot = pool(1, 4, running=(running(1, 4),))
    assert run(snapshot, ask(1, 100, 0, exclusive=True, priority=1)).resizes == ()


# --- making room -------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-702", "ELA-808")
def test_work_is_stopped_only_where_that_makes_room_for_whole_replicas() -> None:
    """Four nodes of four, each with one small victim; two are urgent enough to stay."""
    busy = tuple(
        holding(f"b{n}", f"n{n}/0", 100, 10_000, exclusive=True, preemptible=True, priority=-(n < 2))
        for n in range(4)
    )
    snapshot = pool(4, 4, running=busy, policy=Policy(preemption=True))
    made = run(snapshot, whole(1, 2, 4))
    assert sorted(each.running_id for each in made.preemptions) == ["b0", "b1"]
    (hold,) = made.nominated_holds
    assert by_replica(hold.grants, 4) in ([{"n0"}, {"n1"}], [{"n1"}, {"n0"}])
    none = run(snapshot, whole(1, 3, 4))
    assert none.preemptions == (), "a third replica cannot be had: nobody is stopped for two"


@pytest.mark.req("POOL-12.23")
def test_sessions_are_moved_only_to_free_whole_replicas_and_a_replica_is_not_parted() -> None:
    """A session on a card of each of n0 and n1; they fit beside the one on n2."""
    sessions = tuple(
        holding(f"s{n}", f"n{n}/0", 20, movable=True, asks=ask(50 + n, 20, id=f"s{n}")) for n in range(3)
    )
    snapshot = pool(3, 2, running=sessions, policy=Policy(consolidate=True))
    made = run(snapshot, whole(1, 2, 2))
    assert {move.running_id for move in made.moves} < {"s0", "s1", "s2"}
    assert len(made.moves) == 2
    (hold,) = made.nominated_holds
    assert all(len(nodes) == 1 for nodes in by_replica(hold.grants, 2))

    bound = tuple(
        replace(each, grants=each.grants * 2, asks=ask(60, 20, id=each.id, shares=2, shares_per_replica=2))
        for each in sessions
    )
    assert run(replace(snapshot, running=bound), whole(1, 2, 2)).moves == ()


# --- figures -----------------------------------------------------------------------------------------------------


def test_smaller_cards_are_taken_for_replicas_where_the_quota_of_memory_is_tight() -> None:
    cards = tuple(
        device(node, k, memory_mib=4_000 if (node == "n2" or k < 2) else 9_000)
        for node in ("n0", "n1", "n2")
        for k in range(4)
    )
    quotas = (("acme", Quota(nominal=Limit(memory_mib=16_000))),)
    snapshot: Snapshot = replace(pool(3, 4), devices=cards, tenant_quotas=quotas)
    grants = only(run(snapshot, whole(1, 2, 2))).grants
    assert sum(grant.memory_mib for grant in grants) == 16_000
    assert all(len(nodes) == 1 for nodes in by_replica(grants, 2))
    assert SchedulerState(snapshot).prospect(whole(1, 3, 2)) is Feasibility.NEVER


def test_the_dry_run_offers_whole_replicas() -> None:
    busy = (holding("b", "n2/0", 100, exclusive=True, mib=10_000),)
    found = offer(pool(3, 4, running=busy), whole(1, 3, 4), now=0)
    assert found.shares_now == 8
