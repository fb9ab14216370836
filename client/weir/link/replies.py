"""Requests that wait for their replies, matched by number (ELA-1208)."""

from __future__ import annotations

import threading

from weir_wire import wire
from weir_wire.wire import Fault, SessionFault, SessionLost


class Waiter:
    """One request. PARTs are written to `into`."""

    __slots__ = ("_done", "_faults", "_lost", "body", "into")

    def __init__(self, into: memoryview | None) -> None:
        self.into = into
        self.body = memoryview(b"")
        self._faults: list[Fault] = []
        self._lost: SessionLost | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def part(self, offset: int, data: memoryview) -> None:
        """Part of the reply. Raises WireError where there is no room for it."""
        if self.into is None or offset + len(data) > len(self.into):
            raise wire.WireError("a reply that is longer than was asked for")
        self.into[offset : offset + len(data)] = data

    def settle(self, faults: list[Fault], body: memoryview) -> None:
        """The reply is complete; the body is copied."""
        self._faults, self.body = faults, memoryview(bytes(body))
        self._done.release()

    def fail(self, lost: SessionLost) -> None:
        """No reply will come."""
        self._lost = lost
        self._done.release()

    def wait(self) -> memoryview:
        """The body. Raises SessionFault and SessionLost."""
        self._done.acquire()
        if self._lost is not None:
            raise SessionLost(*self._lost.args)
        if self._faults:
            raise SessionFault(self._faults)
        return self.body


class Waiters:
    """All requests under way. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[int, Waiter] = {}

    def add(self, number: int, waiter: Waiter) -> None:
        """A request of this number was sent."""
        with self._lock:
            self._rows[number] = waiter

    def find(self, number: int) -> Waiter | None:
        """Who waits for this reply; None for one that was answered before."""
        return self._rows.get(number)

    def pop(self, number: int) -> Waiter | None:
        """Take out who waits for this reply; None for one that was answered before."""
        with self._lock:
            return self._rows.pop(number, None)

    def fail_all(self, lost: SessionLost) -> None:
        """None of them will be answered."""
        with self._lock:
            rows, self._rows = self._rows, {}
        for waiter in rows.values():
            waiter.fail(lost)
