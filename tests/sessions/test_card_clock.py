"""The clock of a session on a card, over a device that has ended an operator when it returns."""

import time

import pytest

torch = pytest.importorskip("torch", reason="sessions need PyTorch")

from node_agent.sessions.execution.pace_card import CardClock  # noqa: E402
from node_agent.turn import PERIOD_S, Turn, turn_clock_s  # noqa: E402

pytestmark = pytest.mark.req("POOL-12.1", "POOL-7.3b")
SECONDS = 8 * PERIOD_S


def moments(clock: CardClock, work_s: float = 0.0005) -> list[float]:
    """When it let operators through."""
    found, until_s = [], turn_clock_s() + SECONDS
    while turn_clock_s() < until_s:
        clock.start()
        found.append(turn_clock_s())
        end_s = time.perf_counter() + work_s
        while time.perf_counter() < end_s:
            pass
        clock.tick()
        clock.stop()
    return found


def test_operators_run_in_the_turn_and_are_counted() -> None:
    clock, turn = CardClock(torch.device("cpu"), 60), Turn(0.2, 0.8)
    clock.turn_set(turn)
    found = moments(clock)
    late = [at for at in found if not turn.may_run(at)]
    assert found
    # A process that waits for a core notices late.
    assert len(late) <= 0.1 * len(found) + 2
    assert {turn.number(at) for at in found} >= {turn.number(found[0]) + k for k in range(1, 4)}
    assert 0 < clock.busy_s <= SECONDS + PERIOD_S


def test_long_operators_are_counted_one_by_one_and_short_ones_together() -> None:
    clock = CardClock(torch.device("cpu"))

    def spans(operators: int, work_s: float) -> int:
        marks = 0
        plain = clock._mark

        def mark() -> object:
            nonlocal marks
            marks += 1
            return plain()

        clock._mark = mark  # type: ignore[method-assign,assignment]
        clock.start()
        for _ in range(operators):
            time.sleep(work_s)
            clock.tick()
        clock.stop()
        clock._mark = plain  # type: ignore[method-assign]
        return marks // 2

    spans(32, 0.003)
    assert spans(32, 0.003) >= 32
    spans(320, 0.0)
    assert spans(320, 0.0) <= 80
