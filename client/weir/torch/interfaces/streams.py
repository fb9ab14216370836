"""Streams and events: a session runs everything in the order it was sent, so each device has one stream.

Work of several streams is right in that order; it does not overlap.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from weir.torch import devices
from weir.torch.interfaces import choosing

_PlainStream: Any = torch.Stream
_PlainEvent: Any = torch.Event


class Stream(_PlainStream):  # type: ignore[misc]
    """The order in which a device's work runs."""

    def __new__(cls, device: devices.Place = None, *, priority: int = 0) -> Stream:
        return super().__new__(cls, torch.device("weir", devices.index_of(device)), priority=priority)  # type: ignore[no-any-return]

    def synchronize(self) -> None:
        """Wait until all that was sent has run. Raises what failed."""
        devices.get(self.device).synchronize()

    def query(self) -> bool:
        """Whether all that was sent has run: waits for it, so True."""
        self.synchronize()
        return True

    def record_event(self, event: Any = None) -> Any:
        """Note this place in the order."""
        made = event if event is not None else Event(self.device)
        made.record(self)
        return made

    def wait_event(self, event: Any) -> None:
        """What comes after runs after it by itself on one device; another device's work is waited for here."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """As `wait_event` of an event recorded now."""
        if stream.device != self.device:
            stream.synchronize()


class Event(_PlainEvent):  # type: ignore[misc]
    """A place in the order of a device's work. With `enable_timing`, recording it waits until that place is reached."""

    _at_s: float | None
    _place: torch.device
    _is_timed: bool

    def __new__(cls, device: devices.Place = None, *, enable_timing: bool = False, **_: bool) -> Event:
        place = torch.device("weir", devices.index_of(device))
        made: Event = super().__new__(cls, place, enable_timing=enable_timing)
        made._place, made._is_timed, made._at_s = place, enable_timing, None
        return made

    def record(self, stream: Any = None) -> None:
        """Note the place where the stream is now."""
        if stream is not None:
            self._place = stream.device
        if self._is_timed:
            self.synchronize()
        self._at_s = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Let the stream's later work run after this place."""
        if self._at_s is not None and stream is not None and stream.device != self._place:
            self.synchronize()

    def query(self) -> bool:
        """Whether this place is reached: waits for it, so True."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait until this place is reached. Raises what failed."""
        devices.get(self._place).synchronize()

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this event to the other. Raises ValueError where one is not timed or not recorded."""
        if not (self._is_timed and end_event._is_timed):
            raise ValueError("both events need enable_timing=True")
        if self._at_s is None or end_event._at_s is None:
            raise ValueError("both events have to be recorded first")
        return float(end_event._at_s - self._at_s) * 1000


def current_stream(device: devices.Place = None) -> Stream:
    """The stream of a device."""
    return Stream(device)


@contextmanager
def stream(chosen: Any) -> Iterator[None]:
    """Work in here is of this stream's device."""
    if chosen is None:
        yield
    else:
        with devices.chosen(chosen.device):
            yield


def set_stream(chosen: Any) -> None:
    """From here on work is of this stream's device."""
    devices.set_current(chosen.device)


def register() -> None:
    choosing.stand_in("Stream", Stream)
    choosing.stand_in("Event", Event)
    module: Any = torch.weir  # type: ignore[attr-defined]
    for name in ("Stream", "Event", "current_stream", "stream", "set_stream"):
        setattr(module, name, globals()[name])
    module.default_stream = current_stream
