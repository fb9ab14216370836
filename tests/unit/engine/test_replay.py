"""What would have been: the past judged anew."""

import pytest

from apps.scheduling.engine.replay import Past, jain_permille, percentile, replay, satisfied
from apps.scheduling.engine.types import Device, Node, Ordering, Policy, Queue, Request, Snapshot

HOUR = 3600


def pool(cards=1, **policy):
    return Snapshot(
        nodes=(Node("n"),),
        devices=tuple(Device(f"d{index}", "n", memory_mib=8192) for index in range(cards)),
        queues=(Queue("q"),),
        policy=Policy(**policy),
    )


def past(name, at, runs_s, *, tenant="a", percent=100, cost=0, **more):
    number = sum(map(ord, name))
    asked = Request(name, tenant, "q", number, percent, 100, submitted_at_s=at, **more)
    return Past(asked, runs_s, cost)


@pytest.mark.req("ELA-508")
def test_work_waits_for_its_room_and_the_order_decides():
    work = [past("a", 0, 100), past("b", 1, 100, priority=1), past("c", 2, 100, priority=9)]
    first = replay(pool(), work, until_s=HOUR)
    assert first.waits == {"a": 0, "b": 99, "c": 198}
    ranked = replay(pool(ordering=Ordering.PRIORITY), work, until_s=HOUR)
    assert ranked.waits == {"a": 0, "b": 199, "c": 98}


def test_more_cards_shorten_the_waits_and_the_same_is_served():
    work = [past(name, 0, 600, tenant=name) for name in "abcd"]
    one, four = replay(pool(1), work, until_s=HOUR), replay(pool(4), work, until_s=HOUR)
    assert sorted(one.waits.values()) == [0, 600, 1200, 1800]
    assert set(four.waits.values()) == {0}
    assert one.served == four.served == one.asked == dict.fromkeys("abcd", 60_000)
    assert four.use[0] == (0, 100)


def test_what_does_not_start_in_time_is_told_and_money_counts_what_ran():
    work = [past("a", 0, HOUR, cost=2_000_000), past("b", 0, HOUR, cost=2_000_000)]
    found = replay(pool(), work, until_s=HOUR // 2)
    assert found.unstarted == ("b",)
    assert found.micros == 1_000_000
    assert found.served == {"a": 100 * HOUR // 2}


def test_the_same_past_gives_the_same_outcome():
    work = [
        past(f"w{index}", index * 7 % 50, 30 + index, percent=30, tenant="ab"[index % 2])
        for index in range(40)
    ]
    assert replay(pool(3), work, until_s=HOUR, seed=5) == replay(pool(3), work, until_s=HOUR, seed=5)


def test_an_empty_past_has_no_outcome():
    assert replay(pool(), [], until_s=HOUR).waits == {}


def test_figures():
    assert percentile([], 50) == 0
    assert [percentile([5, 1, 9, 3], percent) for percent in (1, 50, 95, 100)] == [1, 3, 9, 9]
    assert jain_permille([1, 1, 1]) == 1000
    assert jain_permille([1, 0, 0, 0]) == 250
    assert jain_permille([]) == 1000
    work = [past("a", 0, 600, tenant="a"), past("b", 0, 600, tenant="b")]
    assert satisfied(replay(pool(), work, until_s=600)) == [1.0, 0.0]
