"""Holds a session's share of a card: busy time by events on the card, never by the time that passes here."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Protocol

import torch

from node_agent.sessions.execution.pace import Pacer
from node_agent.sessions.execution.turn_taking import TurnTaking
from node_agent.turn import PERIOD_S, Turn, turn_clock_s

# Short beside a turn, long beside what an event costs.
_SPAN_S = 0.001
_OPERATORS_PER_SPAN = 16
_SPANS_AHEAD = 8
_BURST_S = 0.02


class _Event(Protocol):
    """A moment in what a card was given to do."""

    def record(self) -> object: ...

    def query(self) -> bool: ...

    def synchronize(self) -> object: ...

    def elapsed_time(self, end: Any) -> float: ...


class _Moment:
    """A moment on a device that has ended an operator when it returns: milliseconds between two are those here."""

    def record(self) -> None:
        self._at_s = time.perf_counter()

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: _Moment) -> float:
        return (end._at_s - self._at_s) * 1e3


class CardClock:
    """Cuts what is issued into spans between two events and paces by what they measured.

    At most a few spans run ahead of the measurement, so a wait comes before the share is passed by much. Where others
    have the card too, `turn_set` says when it is this session's: the time between two events passes while another's
    kernels run, and would be counted for both.
    """

    def __init__(self, device: torch.device, percent: int = 100) -> None:
        self.busy_s = 0.0
        self._device = device
        self._pacer = Pacer(percent, time.monotonic(), burst_s=_BURST_S)
        self._taking = TurnTaking()
        self._spans: deque[tuple[_Event, _Event, int]] = deque()
        self._begun: _Event | None = None
        self._issued, self._most = 0, _OPERATORS_PER_SPAN

    def start(self) -> None:
        self._take_turn()
        self._begun = self._mark()
        self._issued = 0

    def tick(self) -> None:
        self._issued += 1
        if self._begun is not None and self._issued >= self._most:
            self.stop()
            self.start()

    def stop(self) -> None:
        if self._begun is not None:
            self._spans.append((self._begun, self._mark(), self._issued))
            self._begun = None
        self._harvest()

    def share_set(self, percent: int) -> None:
        self._pacer.share_set(percent, time.monotonic())

    def turn_set(self, turn: Turn | None) -> None:
        # Between two turns nothing is used.
        self._pacer.burst_s = _BURST_S if turn is None else 2 * PERIOD_S
        self._taking.turn = turn

    def _take_turn(self) -> None:
        while (wait_s := self._taking.wait_s(turn_clock_s(), len(self._spans))) > 0:
            time.sleep(wait_s)
            self._harvest()

    def _mark(self) -> _Event:
        if self._device.type == "cpu":
            event: _Event = _Moment()
            event.record()
            return event
        module = torch.get_device_module(self._device)
        event = module.Event(enable_timing=True)
        event.record(module.current_stream(self._device))  # type: ignore[call-arg]
        return event

    def _harvest(self) -> None:
        spent_s = 0.0
        while self._spans and (len(self._spans) > _SPANS_AHEAD or self._spans[0][1].query()):
            begun, ended, operators = self._spans.popleft()
            ended.synchronize()
            span_s = begun.elapsed_time(ended) / 1e3
            self._taking.measured(span_s)
            spent_s += span_s
            # Long operators are counted one by one, short ones together.
            wanted = operators * _SPAN_S / max(span_s, 1e-6)
            self._most = min(max(int(wanted), 1), 2 * self._most, _OPERATORS_PER_SPAN)
        self.busy_s += spent_s
        wait_s = self._pacer.spent(spent_s, time.monotonic())
        if wait_s > 0.001:
            time.sleep(wait_s)
