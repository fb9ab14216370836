"""What would have been: the past judged anew."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduling.engine.model.types import (
    Device,
    Node,
    Ordering,
    Placing,
    Policy,
    Queue,
    Request,
    Reservation,
    Snapshot,
    Window,
)
from apps.scheduling.engine.simulate.replay import (
    KnownReservation,
    Past,
    jain_permille,
    percentile,
    replay,
    satisfied,
)
from tests.examples import examples

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
    assert found.micros == {"a": 1_000_000}
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


@pytest.mark.req("ELA-103", "ELA-902")
def test_elastic_work_grows_into_what_is_free_and_shrinks_for_what_waits():
    work = [past("big", 0, 400, shares=4, min_shares=1), past("next", 100, 100, tenant="b")]
    still = replay(pool(4, elastic=False), work, until_s=HOUR)
    assert (still.resizes, still.waits) == (1, {"big": 0, "next": 0})
    assert still.use[-1] == (500, 0)
    grown = replay(pool(4, hysteresis_s=0), work, until_s=HOUR)
    # One share is given up at 100 s, and taken back at 200 s when the other has ended.
    assert grown.waits == {"big": 0, "next": 0}
    assert grown.resizes == 2
    assert grown.use[-1] == (425, 0)
    assert grown.served == {"a": 4 * 100 * 400, "b": 100 * 100}


@pytest.mark.req("ELA-103")
def test_what_was_done_with_few_shares_is_done_sooner_with_many():
    narrow = Past(past("n", 0, 800, shares=4, min_shares=1).request, 800, 3_600_000, share_s=800)
    found = replay(pool(4), [narrow], until_s=HOUR)
    assert found.served == {"a": 800 * 100}
    assert found.use == ((0, 100), (200, 0))
    assert found.micros == {"a": 800_000}


@pytest.mark.req("ELA-103", "POOL-12.23")
def test_sessions_are_moved_so_that_a_whole_card_is_free():
    def session(name, at):
        asked = past(name, at, 1000, percent=40, tenant="s").request
        return Past(asked, 1000, movable=True)

    work = [session("s1", 0), session("s2", 1), past("card", 10, 100, exclusive=True)]
    spread = {"placing": Placing.DEVICE_BALANCED}
    stuck = replay(pool(2, **spread), work, until_s=2 * HOUR)
    moved = replay(pool(2, consolidate=True, **spread), work, until_s=2 * HOUR)
    assert (stuck.moves, stuck.waits["card"]) == (0, 990)
    assert (moved.moves, moved.waits["card"]) == (1, 0)
    assert moved.served == stuck.served


@pytest.mark.req("ELA-103", "ELA-305")
def test_a_reservation_binds_from_when_it_was_made():
    kept = KnownReservation(Reservation("r", 100, 500, tenant_id="b", device_ids=frozenset({"d0"})), 50, 500)
    early = [past("long", 0, 1000, duration_s=1000), past("mine", 100, 100, tenant="b", duration_s=100)]
    assert replay(pool(), early, until_s=HOUR, kept=[kept]).waits == {"long": 0, "mine": 900}
    late = [past("long", 60, 300, duration_s=300), past("mine", 100, 100, tenant="b", duration_s=100)]
    # What would run into it waits until it is over, though nothing arrives and nothing ends then.
    assert replay(pool(), late, until_s=HOUR, kept=[kept]).waits == {"long": 440, "mine": 0}
    gone = KnownReservation(kept.reservation, 50, 70)
    assert replay(pool(), late, until_s=HOUR, kept=[gone]).waits == {"long": 10, "mine": 270}


def test_what_starts_by_the_clock_starts_without_anything_else_happening():
    work = [past("a", 0, 50, earliest_start_s=700)]
    assert replay(pool(), work, until_s=HOUR).waits == {"a": 700}
    rules = replace(pool(), queues=(Queue("q", windows=(Window(300, 900),)),))
    assert replay(rules, [past("a", 0, 50)], until_s=HOUR).waits == {"a": 300}


@pytest.mark.req("ELA-812")
def test_what_was_preempted_often_enough_is_left_alone_and_its_loss_is_told():
    low = past("low", 0, 1000, cost=3_600_000, preemptible=True)
    high = [past(f"h{index}", 100 * (index + 1), 50, tenant="b", priority=9) for index in range(3)]
    rules = {"preemption": True, "ordering": Ordering.PRIORITY, "elastic": False}
    found = replay(pool(preempt_limit=2, **rules), [low, *high], until_s=HOUR)
    assert found.preemptions == 2
    assert found.waits["h2"] > 0
    # 100 s before the first, 50 s between the end of that and the second: a thousandth of money each second.
    assert (found.lost, found.lost_micros) == (150 * 100, 150_000)
    assert replay(pool(preempt_limit=None, **rules), [low, *high], until_s=HOUR).preemptions == 3


@pytest.mark.req("ELA-1008")
def test_fair_share_remembers_what_was_used_within_the_replay():
    first = [past("a1", 0, 1000, tenant="a")]
    then = [past("a2", 500, 100, tenant="a"), past("b1", 600, 100, tenant="b")]
    queue = pool(ordering=Ordering.FAIR_SHARE)
    assert replay(queue, first + then, until_s=HOUR).waits == {"a1": 0, "b1": 400, "a2": 600}
    assert replay(pool(), first + then, until_s=HOUR).waits == {"a1": 0, "a2": 500, "b1": 500}


def test_what_was_there_before_takes_its_room_and_counts_in_no_wait():
    old = replace(past("old", 0, 300), carried=True)
    found = replay(pool(), [old, past("new", 1000, 100)], from_s=1000, until_s=HOUR)
    assert found.waits == {"new": 300}
    assert found.unstarted == ()
    assert found.served == {"a": 400 * 100}


def test_a_replay_is_ended_by_who_watches_it():
    def stop():
        raise TimeoutError

    with pytest.raises(TimeoutError):
        replay(pool(), [past("a", 0, 100)], until_s=HOUR, beat=stop)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 900), st.integers(1, 400), st.integers(1, 4), st.booleans(), st.integers(0, 3)
        ),
        min_size=1,
        max_size=25,
    ),
    st.integers(0, 3),
)
@settings(max_examples=examples(60), deadline=None)
def test_all_work_is_done_once_whatever_is_decided(rows, seed):
    work = [
        Past(
            past(f"w{index}", at, runs_s, shares=shares, percent=percent(index), tenant="ab"[index % 2],
                 min_shares=1 if elastic else None, priority=priority, preemptible=elastic).request,
            runs_s, 3_600_000, movable=not elastic,
        )
        for index, (at, runs_s, shares, elastic, priority) in enumerate(rows)
    ]  # fmt: skip
    rules = pool(4, preemption=True, consolidate=True, hysteresis_s=10, ordering=Ordering.PRIORITY)
    found = replay(rules, work, until_s=200 * HOUR, seed=seed)
    assert found.unstarted == ()
    for tenant, asked in found.asked.items():
        # Work that is divided among a number of shares that does not divide it runs to the end of its second.
        assert 0 <= found.served[tenant] - asked <= 400 * len(work) * 4
    assert max(percent for _at, percent in found.use) <= 100
    assert found.use[-1][1] == 0


def percent(index):
    return (30, 50, 100)[index % 3]
