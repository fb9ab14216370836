"""Sessions on one card, in a model of it: each gets what was sold, because no two give it work at once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.runtime.shim.sharing.device_sharing import Entry
from node_agent.runtime.shim.sharing.turns import turn_of
from node_agent.sessions.execution.pace import Pacer
from node_agent.sessions.execution.turn_taking import TurnTaking
from node_agent.turn import PERIOD_S, Turn

pytestmark = pytest.mark.req("POOL-12.1", "POOL-7.3b")
SHARES = ([50, 50], [30, 60], [10, 20, 30, 35])
TICK_S, SECONDS, AHEAD = 0.0002, 8.0, 8


class Client:
    """A session that always has more to do, as CardClock paces it: spans of a card's work, a few ahead."""

    def __init__(self, percent: int, turn: Turn | None, span_s: float) -> None:
        self.taking, self.span_s, self.chance = TurnTaking(), span_s, random.Random(percent)
        self.pacer = Pacer(percent, 0.0, burst_s=0.02 if turn is None else 2 * PERIOD_S)
        self.taking.turn = turn
        self.queue: list[float] = []
        self.began_s: float | None = None
        self.due_s = self.ran_s = 0.0

    def issue(self, now_s: float) -> None:
        while now_s >= self.due_s and len(self.queue) <= AHEAD:
            wait_s = self.taking.wait_s(now_s, len(self.queue))
            if wait_s > 0:
                # A sleep ends a little late.
                self.due_s = now_s + wait_s + self.chance.random() * 0.0005
                return
            self.queue.append(self.span_s * (0.5 + self.chance.random()))

    def ran(self, passed_s: float, now_s: float) -> None:
        """Of the span at the front so much ran; what it is counted for is the time from its begin to its end."""
        self.began_s = now_s if self.began_s is None else self.began_s
        self.queue[0] -= passed_s
        self.ran_s += passed_s
        if self.queue[0] > 0:
            return
        self.queue.pop(0)
        counted_s, self.began_s = now_s + TICK_S - self.began_s, None
        self.taking.measured(counted_s)
        wait_s = self.pacer.spent(counted_s, now_s + TICK_S)
        if wait_s > 0.001:
            self.due_s = max(self.due_s, now_s + wait_s)


def delivered(percents: list[int], turns: list[Turn | None], span_s: float) -> tuple[list[float], float]:
    """What each got of the card, in percent, and the part of the time in which it had work of several."""
    clients = [Client(*pair, span_s) for pair in zip(percents, turns, strict=True)]
    both = 0
    for step in range(int(SECONDS / TICK_S)):
        now_s = step * TICK_S
        for one in clients:
            one.issue(now_s)
        running = [one for one in clients if one.queue]
        both += len(running) > 1
        for one in running:
            one.ran(TICK_S / len(running), now_s)
    return [100 * one.ran_s / SECONDS for one in clients], both * TICK_S / SECONDS


def turns_of(percents: list[int]) -> list[Turn | None]:
    rows = [Entry(100 + k, 5, percent, 100, 0, 1) for k, percent in enumerate(percents)]
    return [turn_of(own, [row for row in rows if row is not own]) for own in rows]


@pytest.mark.parametrize("percents", SHARES, ids=str)
@pytest.mark.parametrize("span_s", [0.0008, 0.005], ids=["short spans", "long spans"])
def test_by_turns_each_gets_what_was_sold(percents: list[int], span_s: float) -> None:
    got, both = delivered(percents, turns_of(percents), span_s)
    assert both < 0.06
    for one, sold in zip(got, percents, strict=True):
        assert 0.85 * sold <= one <= sold + 1, (got, both)


@pytest.mark.parametrize("percents", SHARES, ids=str)
def test_without_turns_each_is_counted_for_the_others_kernels(percents: list[int]) -> None:
    """The model shows what an H100 showed before there were turns: 60 to 80 % of what was sold."""
    got, both = delivered(percents, [None] * len(percents), 0.005)
    assert both > 0.15
    assert all(one < 0.85 * sold for one, sold in zip(got, percents, strict=True)), got


def test_a_span_longer_than_a_turn_runs_and_is_paid_for() -> None:
    (long, other), _ = delivered([10, 50], turns_of([10, 50]), 0.05)
    assert 4 <= long <= 11
    assert other >= 33


def test_who_is_alone_waits_for_no_turn() -> None:
    taking = TurnTaking()
    taking.measured(5.0)
    assert taking.wait_s(1e6, 8) == 0


@given(st.floats(0, 1e7), st.integers(0, 98), st.integers(1, 99), st.integers(0, 8))
def test_a_wait_ends_in_a_turn(now_s: float, begin: int, length: int, ahead: int) -> None:
    taking = TurnTaking()
    taking.turn = Turn(begin / 100, min(begin + length, 100) / 100)
    taking.measured(0.004)
    waited = 0
    while (wait_s := taking.wait_s(now_s, ahead)) > 0:
        assert wait_s <= PERIOD_S
        now_s += wait_s + 1e-5
        waited += 1
        # At the second waking at the latest: the first may be a hair early by the clock's own rounding.
        assert waited <= 2
    assert taking.turn.may_run(now_s)


def test_a_turn_survives_the_file() -> None:
    turn = Turn(0.25, 0.75)
    assert Turn.of(turn.to_json()) == turn
    assert Turn.of(None) is None
    for wrong in ({"begin": 0.5, "end": 0.25}, {"begin": -1, "end": 1}, {"begin": 0, "end": 2}):
        with pytest.raises(ValueError, match="a turn"):
            Turn.of(wrong)
