"""Near each other: one island, one NUMA node, one rack, few nodes; hosts, drivers and any of several models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.scheduling.engine.model.types import Node, Placing, Policy, ReasonCode, Snapshot
from tests.unit.engine.pools import ask, device, holding, on_nodes, only, placed, pool, reasons, run


def islands(*names: str, field: str = "link_group") -> Snapshot:
    """One node whose cards lie in these islands."""
    cards = tuple(device("n0", i, **{field: name}) for i, name in enumerate(names))
    return replace(pool(1), devices=cards)


@pytest.mark.parametrize("field", ["link_group", "numa"])
@pytest.mark.parametrize("placing", [Placing.NODE_COMPACT, Placing.SPREAD, Placing.DEVICE_BALANCED])
def test_several_cards_lie_on_one_island_the_tightest_that_takes_them(field: str, placing: Placing) -> None:
    snapshot = replace(islands("a", "b", "a", "b", "a", field=field), policy=Policy(placing=placing))
    pair = only(run(snapshot, ask(1, 100, shares=2, exclusive=True)))
    assert {grant.device_id for grant in pair.grants} == {"n0/1", "n0/3"}
    three = only(run(snapshot, ask(1, 100, shares=3, exclusive=True)))
    assert {grant.device_id for grant in three.grants} == {"n0/0", "n0/2", "n0/4"}
    assert len(only(run(snapshot, ask(1, 100, shares=4, exclusive=True))).grants) == 4


def test_a_gang_over_nodes_keeps_to_one_rack_and_few_nodes() -> None:
    racks = ("r1", "r2", "r2", "r1", "r1")
    nodes = tuple(Node(f"n{i}", rack=rack) for i, rack in enumerate(racks))
    snapshot = replace(
        pool(5, 4), nodes=nodes, running=tuple(holding(f"w{k}", f"n1/{k}", 100) for k in range(2))
    )
    assert set(on_nodes(run(snapshot, ask(1, 100, shares=6)))) == {"n1", "n2"}
    assert set(on_nodes(run(snapshot, ask(1, 100, shares=8)))) <= {"n0", "n3", "n4"}
    assert len(set(on_nodes(run(snapshot, ask(1, 100, shares=8))))) == 2
    assert len(on_nodes(run(snapshot, ask(1, 100, shares=16)))) == 16


@pytest.mark.parametrize(
    ("of", "word", "code"),
    [
        ("host_cpu_milli", 4_000, ReasonCode.HOST_CPU),
        ("host_memory_mib", 4_000, ReasonCode.HOST_MEMORY),
        ("scratch_disk_mib", 4_000, ReasonCode.SCRATCH_DISK),
    ],
)
def test_host_cpu_memory_and_disk_are_counted(of: str, word: int, code: ReasonCode) -> None:
    nodes = (Node("n0", **{of: 10_000}), Node("n1"))
    snapshot = replace(pool(2, 4), nodes=nodes)
    wish = {of: word, "node_id": "n0"}
    made = run(snapshot, *(ask(i, 10, **wish) for i in range(3)))
    assert placed(made) == ["r0", "r1"]
    assert (reasons(made)["r2"].code, reasons(made)["r2"].get("free")) == (code, 2_000)
    gang = run(snapshot, ask(1, 10, shares=3, single_node=True, **{of: word}))
    assert set(on_nodes(gang)) == {"n1"}, "it counts nothing"
    spread = run(snapshot, ask(1, 100, shares=6, **{of: word}))
    assert sorted(on_nodes(spread)) == ["n0", "n0", "n1", "n1", "n1", "n1"]
    never = run(snapshot, ask(1, 10, node_id="n0", **{of: 10_001}))
    assert never.refusals[0].permanent


def test_work_on_several_storages_goes_where_all_are_seen() -> None:
    nodes = (Node("n0", storage="a"), Node("n1", storage="a b"), Node("n2", storage="b"))
    snapshot = replace(pool(3, 1), nodes=nodes)
    wanted = {"": {"n0", "n1", "n2"}, "a": {"n0", "n1"}, "a b": {"n1"}}
    for storage, where in wanted.items():
        made = run(snapshot, *(ask(i, 100, storage=storage) for i in range(3)))
        assert {each.grants[0].node_id for each in made.placements} == where
    assert reasons(run(snapshot, ask(1, 10, storage="c")))["r1"].code == ReasonCode.STORAGE


def test_any_of_several_models_and_the_driver_decide() -> None:
    cards = (
        device("n0", 0, model="a"), device("n0", 1, model="b", drivers=frozenset({"cuda"})),
        device("n0", 2, model="c", drivers=frozenset({"cann"})),
    )  # fmt: skip
    snapshot = replace(pool(), devices=cards)
    either = frozenset({"b", "c"})
    made = run(snapshot, *(ask(i, 100, models=either) for i in range(3)))
    assert {each.grants[0].device_id for each in made.placements} == {"n0/1", "n0/2"}
    assert only(run(snapshot, ask(1, 100, models=either, driver="cann"))).grants[0].device_id == "n0/2"
    assert only(run(snapshot, ask(1, 100, model="a", driver="musa"))).grants[0].device_id == "n0/0"
    refused = reasons(run(snapshot, ask(1, 100, models=either, driver="musa")))["r1"]
    assert (refused.code, refused.get("asked")) == (ReasonCode.DRIVER, "musa")
