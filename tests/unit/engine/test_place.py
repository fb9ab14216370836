"""Where shares go: the platform's Spread and BestFit, and the six policies of the pooling standard."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import (
    Device,
    Grant,
    Node,
    Placing,
    Policy,
    Queue,
    ReasonCode,
    Snapshot,
)
from tests.unit.engine.pools import (
    ask,
    device,
    holding,
    on_nodes,
    only,
    placed,
    pool,
    reasons,
    run,
    with_policy,
)


@pytest.mark.req("PLAT-AICFG-19", "ELA-410")
def test_spread_is_the_default_and_lands_on_random_nodes() -> None:
    assert Policy().placing is Placing.SPREAD
    nodes = Counter(on_nodes(run(pool(10, 4), *(ask(i, 10, 100) for i in range(100)))))
    assert len(nodes) == 10
    assert len(set(nodes.values())) > 1, "random, so not evenly dealt out"


@pytest.mark.req("PLAT-AICFG-19")
def test_spread_draws_by_the_seed() -> None:
    drawn = {on_nodes(run(pool(10), ask(1), seed=seed))[0] for seed in range(40)}
    assert len(drawn) > 5


def test_spread_considers_every_node_that_fits_and_no_other() -> None:
    full = tuple(holding(f"w{i}", f"n{i}/0", 60) for i in range(8))
    drawn = {on_nodes(run(replace(pool(10), running=full), ask(1, 50), seed=seed))[0] for seed in range(40)}
    assert drawn == {"n8", "n9"}


@pytest.mark.req("PLAT-AICFG-20", "ELA-410")
def test_best_fit_takes_the_node_with_the_least_combined_use() -> None:
    running = (
        holding("a", "n0/0", 10, 6_000),
        holding("b", "n1/0", 30, 1_000),
        holding("c", "n2/0", 50, 5_000),
    )
    snapshot = with_policy(replace(pool(3), running=running), placing=Placing.BEST_FIT)
    assert on_nodes(run(snapshot, ask(1, 10, 100))) == ["n1"]


@pytest.mark.req("PLAT-AICFG-20")
def test_best_fit_follows_the_use_it_makes_itself() -> None:
    snapshot = with_policy(pool(3, 2), placing=Placing.BEST_FIT)
    assert on_nodes(run(snapshot, *(ask(i, 10, 1_000) for i in range(6)))) == ["n0", "n1", "n2"] * 2


@pytest.mark.req("PLAT-AICFG-20")
def test_best_fit_passes_over_a_less_used_node_without_room() -> None:
    running = (holding("a", "n0/0", 60, 0), holding("b", "n1/0", 40, 4_000))
    snapshot = with_policy(replace(pool(2), running=running), placing=Placing.BEST_FIT)
    assert on_nodes(run(snapshot, ask(1, 50, 100))) == ["n1"]


@pytest.mark.req("POOL-12.27", "POOL-7.2a", "ELA-410")
def test_device_compact_fills_the_fullest_device_of_the_pool() -> None:
    running = (holding("a", "n1/1", 40), holding("b", "n2/0", 10))
    snapshot = with_policy(replace(pool(3, 2), running=running), placing=Placing.DEVICE_COMPACT)
    made = run(snapshot, ask(1, 30), ask(2, 30), ask(3, 30))
    assert [p.grants[0].device_id for p in made.placements] == ["n1/1", "n1/1", "n2/0"]


@pytest.mark.req("POOL-12.27", "POOL-7.2a", "ELA-410")
def test_node_compact_fills_the_fullest_node_and_balances_its_devices() -> None:
    running = (holding("a", "n1/1", 40), holding("b", "n2/0", 10))
    snapshot = with_policy(replace(pool(3, 2), running=running), placing=Placing.NODE_COMPACT)
    made = run(snapshot, ask(1, 30), ask(2, 30), ask(3, 30), ask(4, 80))
    assert [p.grants[0].device_id for p in made.placements] == ["n1/0", "n1/0", "n1/1", "n2/1"]


@pytest.mark.req("POOL-12.27", "POOL-7.2a", "ELA-410")
def test_node_balanced_goes_to_the_least_used_node() -> None:
    running = (holding("a", "n0/0", 40), holding("b", "n1/0", 10), holding("c", "n1/1", 10))
    snapshot = with_policy(replace(pool(3, 2), running=running), placing=Placing.NODE_BALANCED)
    assert on_nodes(run(snapshot, ask(1, 30), ask(2, 30), ask(3, 30))) == ["n2", "n1", "n2"]


@pytest.mark.req("POOL-12.27", "POOL-7.2a", "ELA-410")
def test_local_is_the_local_node_or_nothing_and_local_first_goes_on() -> None:
    running = (holding("a", "n1/0", 90),)
    snapshot = replace(pool(3), running=running)
    local = {"local_node_id": "n1"}
    made = run(
        snapshot,
        ask(1, 10, placing=Placing.LOCAL, **local),
        ask(2, 20, placing=Placing.LOCAL, **local),
        ask(3, 20, placing=Placing.LOCAL_FIRST, **local),
        ask(4, 20, placing=Placing.LOCAL_FIRST, local_node_id="n2"),
        ask(5, 20, placing=Placing.LOCAL_FIRST, local_node_id="n2"),
        ask(6, 20, placing=Placing.LOCAL, local_node_id="n9"),
        ask(7, 20, placing=Placing.LOCAL),
    )
    assert placed(made) == ["r1", "r3", "r4", "r5", "r7"]
    assert on_nodes(made) == ["n1", "n0", "n2", "n2", "n0"]
    assert reasons(made)["r2"].code is ReasonCode.COMPUTE_PERCENT
    assert reasons(made)["r6"].code is ReasonCode.LOCAL_NODE


@pytest.mark.req("POOL-12.27")
@pytest.mark.parametrize("placing", [Placing.NODE_COMPACT, Placing.DEVICE_COMPACT])
def test_compact_sees_what_other_shapes_filled_since(placing: Placing) -> None:
    snapshot = with_policy(pool(3), placing=placing)
    made = run(snapshot, ask(1, 10), ask(2, 50, node_id="n2"), ask(3, 10))
    assert on_nodes(made) == ["n0", "n2", "n2"]


@pytest.mark.req("ELA-410")
def test_device_balanced_takes_the_least_used_device_of_the_pool() -> None:
    running = (holding("a", "n0/0", 90), holding("b", "n1/0", 20), holding("c", "n1/1", 20))
    snapshot = with_policy(replace(pool(2, 2), running=running), placing=Placing.DEVICE_BALANCED)
    made = run(snapshot, ask(1, 30), ask(2, 5), ask(3, 10))
    assert [p.grants[0].device_id for p in made.placements] == ["n0/1", "n1/0", "n1/1"]


@pytest.mark.req("ELA-410")
def test_request_goes_before_queue_and_queue_before_policy() -> None:
    queues = (Queue("q"), Queue("own", placing=Placing.NODE_COMPACT))
    snapshot = with_policy(replace(pool(), queues=queues), placing=Placing.DEVICE_BALANCED)
    made = run(
        snapshot, ask(1, 1), ask(2, 1, queue_id="own"), ask(3, 1, queue_id="own", placing=Placing.BEST_FIT)
    )
    assert [p.policy for p in made.placements] == [
        Placing.DEVICE_BALANCED,
        Placing.NODE_COMPACT,
        Placing.BEST_FIT,
    ]


def test_a_device_without_its_node_is_left_out() -> None:
    snapshot = Snapshot(nodes=(Node("n0"),), devices=(device("n9", 0),), queues=(Queue("q"),))
    assert reasons(run(snapshot, ask(1)))["r1"].code is ReasonCode.POOL_EMPTY


@pytest.mark.req("ELA-403")
@pytest.mark.parametrize("placing", list(Placing))
def test_several_shares_lie_on_several_devices(placing: Placing) -> None:
    snapshot = with_policy(pool(2, 2), placing=placing)
    grants = only(run(snapshot, ask(1, 60, shares=4))).grants
    assert {grant.device_id for grant in grants} == {"n0/0", "n0/1", "n1/0", "n1/1"}


@pytest.mark.req("ELA-707")
@pytest.mark.parametrize("placing", list(Placing))
def test_several_shares_keep_to_one_node_where_one_takes_all(placing: Placing) -> None:
    running = tuple(holding(f"w{i}", f"n{i}/0", 60) for i in range(4))
    snapshot = with_policy(replace(pool(5, 2), running=running), placing=placing)
    assert set(on_nodes(run(snapshot, ask(1, 60, shares=2)))) == {"n4"}


@pytest.mark.req("ELA-707")
def test_a_single_node_request_is_not_split() -> None:
    running = (holding("a", "n0/0", 60), holding("b", "n1/0", 60))
    snapshot = replace(pool(2, 2), running=running)
    made = run(snapshot, ask(1, 100, shares=2, single_node=True), ask(2, 100, shares=2))
    assert placed(made) == ["r2"]
    assert reasons(made)["r1"].code is ReasonCode.COUNT_ON_ONE_NODE


@pytest.mark.parametrize(("percent", "mib"), [(20, 0), (1, 1_000)])
def test_emptier_devices_come_first_share_by_share(percent: int, mib: int) -> None:
    snapshot = with_policy(pool(1, 2), placing=Placing.BEST_FIT)
    grants = only(run(snapshot, ask(1, percent, mib, shares=4))).grants
    assert [grant.device_id for grant in grants] == ["n0/0", "n0/1"] * 2


def test_distinct_devices_never_share_one() -> None:
    grants = only(run(pool(1, 3), ask(1, 10, shares=3, distinct_devices=True))).grants
    assert len({grant.device_id for grant in grants}) == 3


def test_whole_cards_are_wholly_free_ones() -> None:
    snapshot = replace(pool(1, 3), running=(holding("w", "n0/1", 1, 1),))
    made = run(snapshot, ask(1, 100, shares=2, exclusive=True), ask(2, 1, 1))
    assert [g.device_id for g in made.placements[0].grants] == ["n0/0", "n0/2"]
    assert all(g.exclusive and g.memory_mib == 10_000 for g in made.placements[0].grants)
    assert made.placements[1].grants[0].device_id == "n0/1"


def test_a_card_held_whole_by_running_work_takes_nothing() -> None:
    card = Device("n0/0", "n0", 10_000, oversubscription_permille=2000)
    whole = holding("w", "n0/0", 100, 10_000, exclusive=True)
    assert placed(run(replace(pool(), devices=(card,), running=(whole,)), ask(1, 1, 0))) == []


def test_an_oversold_card_in_use_is_not_given_whole() -> None:
    ratios = {"oversubscription_permille": 3000, "memory_oversubscription_permille": 3000}
    snapshot = replace(pool(), devices=(device("n0", 0, **ratios),), running=(holding("w", "n0/0", 1, 1),))
    assert reasons(run(snapshot, ask(1, 100, exclusive=True)))["r1"].code is ReasonCode.CARD_NOT_IDLE


# --- which device, by words, classes and groups -------------------------------------------------------------------


def devices_of(made: Plan) -> list[str]:
    return [grant.device_id for placement in made.placements for grant in placement.grants]


def oversold(**more: Any) -> Snapshot:
    ratios = {"oversubscription_permille": 2000, "memory_oversubscription_permille": 2000}
    cards = tuple(device(f"n{i}", 0, **ratios) for i in range(3))
    return replace(pool(3), devices=cards, **more)


@pytest.mark.req("POOL-12.9")
@pytest.mark.parametrize("placing", list(Placing))
def test_work_of_one_affinity_shares_one_device(placing: Placing) -> None:
    snapshot = with_policy(oversold(), placing=placing)
    made = run(snapshot, ask(1, 100, affinity="w"), ask(2, 100, affinity="w"), ask(3, 100, affinity="w"))
    assert placed(made) == ["r1", "r2"]
    assert len(set(devices_of(made))) == 1
    assert reasons(made)["r3"].code is ReasonCode.COMPUTE_PERCENT


@pytest.mark.req("POOL-12.9")
def test_affinity_follows_what_runs_already_and_waits_for_its_device() -> None:
    runs = replace(holding("a", "n2/0", 60), grants=(Grant("n2/0", "n2", 60, 1_000, affinity="w"),))
    snapshot = replace(pool(3), running=(runs,))
    assert devices_of(run(snapshot, ask(1, 40, affinity="w"))) == ["n2/0"]
    assert placed(run(snapshot, ask(1, 41, affinity="w"))) == []
    elsewhere = reasons(run(snapshot, ask(1, 40, affinity="w", node_id="n0")))["r1"]
    assert elsewhere.code is ReasonCode.AFFINITY


@pytest.mark.req("POOL-12.9")
def test_anti_affinity_keeps_both_sides_apart() -> None:
    first = run(pool(3), *(ask(i, 10, anti_affinity="w") for i in range(4)))
    assert len(set(devices_of(first))) == 3
    assert reasons(first)["r3"].code is ReasonCode.ANTI_AFFINITY
    gang = run(pool(3), ask(1, 10, shares=3, anti_affinity="w"))
    assert len(set(devices_of(gang))) == 3
    later = run(pool(), ask(1, 10, anti_affinity="w"), ask(2, 10, affinity="w"), ask(3, 10))
    assert placed(later) == ["r1", "r3"]


@pytest.mark.req("POOL-12.15")
def test_shares_go_to_virtual_devices_and_whole_cards_to_physical_ones() -> None:
    cards = (device("n0", 0, sliced=True), device("n0", 1, sliced=False))
    snapshot = replace(pool(), devices=cards)
    made = run(snapshot, ask(1, 100, exclusive=True), ask(2, 100, exclusive=True), ask(3, 10), ask(4, 95))
    assert devices_of(made) == ["n0/1", "n0/0"]
    only_virtual = run(replace(snapshot, devices=cards[:1]), ask(1, 100, exclusive=True))
    assert reasons(only_virtual)["r1"].code is ReasonCode.NOT_PHYSICAL
    assert not only_virtual.refusals[0].permanent
    assert reasons(run(replace(snapshot, devices=cards[1:]), ask(1, 1)))["r1"].code is ReasonCode.NOT_VIRTUAL


@pytest.mark.req("POOL-12.13")
def test_devices_of_a_group_serve_those_who_ask_for_it() -> None:
    cards = (device("n0", 0, resource_group="lab"), device("n0", 1))
    snapshot = replace(pool(), devices=cards)
    made = run(snapshot, ask(1, 60), ask(2, 60), ask(3, 60, resource_group="lab"))
    assert devices_of(made) == ["n0/1", "n0/0"]
    assert reasons(run(replace(snapshot, devices=cards[:1]), ask(1)))["r1"].code is ReasonCode.GROUP_RESERVED
