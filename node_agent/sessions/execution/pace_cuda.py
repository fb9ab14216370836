"""Holds a session's share of an NVIDIA card: busy time by CUDA events, never by wall time."""

from __future__ import annotations

import time
from collections import deque

import torch

from node_agent.sessions.execution.pace import Pacer

_OPERATORS_PER_SPAN = 16
_SPANS_AHEAD = 8


class CudaClock:
    """Cuts what is issued into spans between two events and paces by what they measured.

    At most a few spans run ahead of the measurement, so a wait comes before the share is passed by much.
    """

    def __init__(self, device: torch.device, percent: int = 100) -> None:
        self.busy_s = 0.0
        self._device = device
        self._pacer = Pacer(percent, time.monotonic())
        self._spans: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()
        self._begun: torch.cuda.Event | None = None
        self._issued = 0

    def start(self) -> None:
        self._begun = self._mark()
        self._issued = 0

    def tick(self) -> None:
        self._issued += 1
        if self._begun is not None and self._issued >= _OPERATORS_PER_SPAN:
            self.stop()
            self.start()

    def stop(self) -> None:
        if self._begun is not None:
            self._spans.append((self._begun, self._mark()))
            self._begun = None
        self._harvest()

    def share_set(self, percent: int) -> None:
        self._pacer.share_set(percent, time.monotonic())

    def _mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _harvest(self) -> None:
        spent_s = 0.0
        while self._spans and (len(self._spans) > _SPANS_AHEAD or self._spans[0][1].query()):
            begun, ended = self._spans.popleft()
            ended.synchronize()
            spent_s += begun.elapsed_time(ended) / 1e3
        self.busy_s += spent_s
        wait_s = self._pacer.spent(spent_s, time.monotonic())
        if wait_s > 0.001:
            time.sleep(wait_s)
