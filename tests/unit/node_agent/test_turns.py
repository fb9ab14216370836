"""Works on one card run one after another: each its part of every period, nobody at the time of another."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.runtime.shim.sharing.device_sharing import Entry
from node_agent.runtime.shim.sharing.throttle import STEP_MIN_S, Throttle
from node_agent.runtime.shim.sharing.turns import turn_of
from node_agent.turn import PERIOD_S, Turn

pytestmark = pytest.mark.req("POOL-12.1", "POOL-7.3b")
SHARES = st.lists(st.integers(1, 100), min_size=1, max_size=12)


def entries(percents: list[int], is_busy: int = 1) -> list[Entry]:
    return [Entry(100 + k, 5, percent, 100, 0, is_busy) for k, percent in enumerate(percents)]


def turns(percents: list[int]) -> list[Turn | None]:
    rows = entries(percents)
    return [turn_of(own, [row for row in rows if row is not own]) for own in rows]


@given(SHARES)
def test_turns_never_meet_and_are_as_long_as_was_sold(percents: list[int]) -> None:
    found = [turn for turn in turns(percents) if turn is not None]
    assert len(found) == (len(percents) if len(percents) > 1 else 0)
    ordered = sorted(found, key=lambda turn: turn.begin)
    assert all(one.end <= other.begin + 1e-9 for one, other in itertools.pairwise(ordered))
    whole = max(100, sum(percents))
    for turn, percent in zip(found, percents, strict=False):
        assert turn.end - turn.begin == pytest.approx(percent / whole)
        assert 0 <= turn.begin < turn.end <= 1 + 1e-9


def test_who_is_alone_waits_for_nobody() -> None:
    assert turns([30]) == [None]
    # More was promised than there is, and the other does not compute.
    assert turn_of(entries([70])[0], entries([70, 70], is_busy=0)[1:]) is None
    # There is room for all, and the others do not compute; once one does, its place is left to each of them.
    own, idle, busy = entries([20])[0], entries([20, 30], is_busy=0)[1], entries([20, 30, 40])[2]
    assert turn_of(own, [idle]) is None
    assert turn_of(busy, [own, idle]) == Turn(0.5, 0.9)


@given(st.floats(0, 1e6), st.integers(1, 99))
def test_what_is_left_of_a_turn_leads_to_its_change(now_s: float, percent: int) -> None:
    turn = Turn(0.0, percent / 100)
    left_s = turn.left_s(now_s)
    assert 0 <= left_s <= PERIOD_S
    assert turn.may_run(now_s + left_s + 1e-4) != turn.may_run(now_s + left_s - 1e-4) or left_s < 1e-3


@pytest.mark.parametrize("percents", [[50, 50], [30, 60], [10, 20, 30, 35]], ids=str)
def test_each_gets_its_share_and_two_hardly_ever_run_at_once(percents: list[int]) -> None:
    """Shims that are up to a millisecond late, with the throttle that counts what they let through too much."""
    chance, tick_s, seconds = random.Random(5), 0.0005, 20.0
    limits = [
        Throttle(percent, speed=1.0, now_s=0.0, used_s=0.0, burst_s=2 * PERIOD_S) for percent in percents
    ]
    due_s, runs, used_s, ran_s = ([start] * len(percents) for start in (0.0, False, 0.0, 0.0))
    both_s, found = 0.0, turns(percents)
    for step in range(int(seconds / tick_s)):
        now_s = step * tick_s
        both_s += tick_s * (sum(runs) > 1)
        for k, turn in enumerate(found):
            used_s[k] += tick_s * runs[k]
            # A card that two use gives each a part.
            ran_s[k] += tick_s * runs[k] / max(sum(runs), 1)
            if now_s >= due_s[k] and turn is not None:
                verdict = limits[k].step(now_s, used_s[k])
                runs[k] = verdict.may_run and turn.may_run(now_s)
                wait_s = min(verdict.ask_again_s, max(turn.left_s(now_s), STEP_MIN_S))
                due_s[k] = now_s + wait_s + chance.random() * 0.001
    assert both_s < 0.02 * seconds
    for percent, ran in zip(percents, ran_s, strict=True):
        assert 100 * ran / seconds == pytest.approx(percent, abs=1.5)
