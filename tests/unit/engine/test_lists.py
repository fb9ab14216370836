"""The lists of the pool are put in order only when they are looked at; nobody can tell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apps.scheduling.engine.model.types import Device, Grant, Node, RunningWorkload
from apps.scheduling.engine.resources.level_index import Levels
from apps.scheduling.engine.resources.pool import Pool
from tests.unit.engine.pools import device

NODES = tuple(Node(f"n{i}") for i in range(3))
DEVICES = tuple(device(node.id, k) for node in NODES for k in range(2))
ACTS = st.lists(
    st.tuples(
        st.sampled_from(DEVICES), st.integers(0, 60), st.integers(0, 5_000), st.booleans(), st.booleans()
    ),
    max_size=30,
)


def standing(levels: Levels) -> dict[int, int]:
    """Which places stand where."""
    found = {level: mask for level, mask in enumerate(levels.masks) if mask}
    assert levels.present == sum(1 << level for level in found)
    return found


def seen(pool: Pool) -> tuple[dict[int, int], dict[int, int], int]:
    """All that the lists say."""
    return standing(pool.by_free), standing(pool.by_use), pool.idle


@given(ACTS)
def test_the_lists_are_those_of_a_pool_built_anew(acts: list[tuple[Device, int, int, bool, bool]]) -> None:
    pool = Pool(NODES, DEVICES)
    held: list[Grant] = []
    for each, percent, mib, looks, gives in acts:
        grant = Grant(each.id, each.node_id, percent, mib)
        pool.take(grant)
        held.append(grant)
        if gives:
            pool.give(held.pop(0))
        if looks:
            assert pool.by_use.present
            assert pool.by_free.present
    anew = Pool(NODES, DEVICES, [RunningWorkload("w", "t", "q", tuple(held))])
    assert seen(pool) == seen(anew)
    pool.give_all(held)
    assert seen(pool) == seen(Pool(NODES, DEVICES))


def test_servers_that_changed_are_told_from_the_latest_back() -> None:
    pool = Pool(NODES, DEVICES)
    for place in (0, 2, 1, 2):
        pool.take(Grant(f"n{place}/0", f"n{place}", 10, 10))
    assert list(pool.changed(0)) == [2, 1, 0]
    assert list(pool.changed(2)) == [2, 1]
    assert list(pool.changed(pool.stamp)) == []
