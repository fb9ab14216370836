"""Tests that run at the same time never meet on a device; a pool that lacks some says so."""

import pytest

from apps.conformance.harness import leases as module
from apps.conformance.harness.leases import Leases, choose
from apps.conformance.harness.record import NotRun


@pytest.fixture(autouse=True)
def looks_often(monkeypatch):
    monkeypatch.setattr(module, "_POLL_S", 0.01)


def card(node: str, index: int, **more: object) -> dict:
    return {
        "uid": f"{node}-{index}", "node": node, "index": index, "is_simulated": False, "is_enabled": True,
        "health": "ok", "held_percent": 0, **more,
    }  # fmt: skip


POOL = [card("a", 0), card("a", 1), card("b", 0), *(card("s", n, is_simulated=True) for n in range(3))]


def uids(cards: list[dict] | None) -> list[str]:
    return [row["uid"] for row in cards or []]


def test_real_cards_come_before_simulated_ones_and_nodes_are_even():
    assert uids(choose(POOL, 1, 1)) == ["a-0"]
    assert uids(choose(POOL, 2, 2)) == ["a-0", "b-0"]
    assert uids(choose(POOL, 3, 1)) == ["s-0", "s-1", "s-2"]
    assert uids(choose(POOL, 4, 2)) == ["a-0", "s-0", "a-1", "s-1"]
    assert choose(POOL, 7, 3) is None
    assert choose(POOL[:2], 2, 2) is None


def test_two_tests_never_have_the_same_card():
    leases = Leases(lambda: POOL)
    first, second = leases.take("one"), leases.take("two")
    assert uids(first) != uids(second)
    leases.give_back("one")
    assert uids(leases.take("three")) == uids(first)


def test_a_card_in_use_is_waited_for_and_one_that_is_not_there_is_not():
    busy = [card("a", 0, held_percent=30)]
    with pytest.raises(NotRun, match=r"in use for 0\.1 s"):
        Leases(lambda: busy).take("x", patience_s=0.1)
    with pytest.raises(NotRun, match="2 devices on 2 nodes"):
        Leases(lambda: busy).take("x", count=2, nodes=2)
    with pytest.raises(NotRun):
        Leases(lambda: [card("a", 0, is_enabled=False), card("a", 1, group="lab")]).take("x")


def test_real_cards_are_waited_for_where_the_pool_could_give_them():
    leases = Leases(lambda: POOL)
    assert uids(leases.take("one", count=3, nodes=2)) == ["a-0", "b-0", "a-1"]
    with pytest.raises(NotRun, match=r"in use for 0\.1 s"):
        leases.take("two", patience_s=0.1)
    assert uids(leases.take("three", fits=lambda row: row["node"] == "s")) == ["s-0"]


def test_a_whole_node_is_taken_or_none_of_it():
    leases = Leases(lambda: POOL)
    assert uids(leases.take_node("one", nodes=2)) == ["b-0"]
    leases.take("two")
    with pytest.raises(NotRun, match=r"in use for 0\.1 s"):
        leases.take_node("three", nodes=2, patience_s=0.1)
    with pytest.raises(NotRun, match="4 nodes"):
        leases.take_node("four", nodes=4)


def test_what_a_test_of_this_run_has_put_into_a_group_is_waited_for_and_not_missed():
    pool = [card("a", 0), card("b", 0)]
    leases = Leases(lambda: pool)
    leases.take("one", count=2, nodes=2)
    pool[:] = [{**row, "group": "cf-1"} for row in pool]
    with pytest.raises(NotRun, match=r"in use for 0\.1 s"):
        leases.take("two", count=2, nodes=2, patience_s=0.1)
