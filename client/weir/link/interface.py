"""What the device "weir" needs of its session: the Link. How frames travel is behind it."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from weir_wire import wire
from weir_wire.wire import Kind


def _print_notice(code: str, text: str) -> None:
    print(f"weir: {text}", file=sys.stderr, flush=True)


class Link(ABC):
    """A session as its client sees it. Safe to use from several threads.

    `transport`, `latency_us` (round trip) and `bandwidth_mib_s` describe the connection, None where it has none.
    `host` is where this client found the worker. `quota_mib`, `compute_percent` and `device` (the worker's, as "cpu" or
    "cuda:0") are the worker's word and may change while it runs. `on_notice(code, text)` is called when the session is
    about to end. `on_flush()`, set by whoever buffers operators, is called shortly after `wake()`, from a thread of the
    link.
    """

    quota_mib: int = 0
    compute_percent: int = 100
    device: str = "cpu"
    host: str = ""
    transport: str = ""
    latency_us: float | None = None
    bandwidth_mib_s: float | None = None
    on_notice: Callable[[str, str], None] = staticmethod(_print_notice)
    on_flush: Callable[[], None] = staticmethod(lambda: None)

    @abstractmethod
    def send(self, kind: int, *parts: Any) -> None:
        """Send a frame made of these buffers, in order with all others; returns before it has run.

        What the buffers hold is copied before this returns. Blocks where the worker is too far behind.
        Raises wire.SessionLost.
        """

    @abstractmethod
    def request(self, kind: int, *parts: Any) -> memoryview:
        """Send a request (wire.REQUESTS, or RNG get) and wait for its body.

        Raises wire.SessionFault with what failed since the last reply, and wire.SessionLost.
        """

    @abstractmethod
    def read(self, handle: int, nbytes: int, into: memoryview | None = None) -> memoryview:
        """The contiguous bytes of a tensor, written to `into` where given (writable, of nbytes bytes).

        Raises as `request` does.
        """

    @abstractmethod
    def wake(self) -> None:
        """Ask for a call of `on_flush` within about a millisecond: something waits to be sent."""

    @abstractmethod
    def close(self) -> None:
        """End the session. Does nothing the second time, and nothing in a forked child."""

    def upload(self, handle: int, dtype: str, shape: Iterable[int], data: Any) -> None:
        """Make a tensor of the contiguous bytes `data` under a new handle. Raises wire.SessionLost."""
        flat = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        for parts in wire.upload_frames(handle, dtype, shape, flat):
            self.send(Kind.UPLOAD, *parts)

    def stat(self) -> dict[str, Any]:
        """What the worker says of the session (Kind.STAT), and of the connection; all sent before it has run."""
        measured = {"latency_us": self.latency_us, "bandwidth_mib_s": self.bandwidth_mib_s}
        return {**wire.load_json(self.request(Kind.STAT)), "transport": self.transport, **measured}
