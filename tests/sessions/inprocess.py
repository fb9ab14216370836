"""A Link to a Session in the same process, without sockets: for tests of the device itself."""

from __future__ import annotations

import threading
from typing import Any

import torch
from node_agent.sessions.core import Session
from weir import wire
from weir.link import Link
from weir.wire import Kind


class InProcessLink(Link):
    """Runs every frame at once. The session has a random state of its own, as in a process of its own."""

    transport = "in-process"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.quota_mib = session.quota_mib
        self.device = session.device
        self._lock = threading.RLock()
        self._random = torch.random.get_rng_state()
        self._is_closed = False

    def send(self, kind: int, *parts: Any) -> None:
        self._handle(kind, parts)

    def request(self, kind: int, *parts: Any) -> memoryview:
        reply = self._handle(kind, parts)
        if reply is None:
            raise AssertionError(f"frame kind {kind} is no request")
        if reply.faults:
            raise wire.SessionFault(reply.faults)
        return memoryview(b"".join(bytes(part) for part in reply.body))

    def read(self, handle: int, nbytes: int, into: memoryview | None = None) -> memoryview:
        data = self.request(Kind.READ, wire.READ_REQUEST.pack(handle, nbytes))
        if into is None:
            return memoryview(bytearray(data))
        into[:] = data
        return into

    def wake(self) -> None:
        self.on_flush()

    def close(self) -> None:
        self._is_closed = True

    def _handle(self, kind: int, parts: tuple[Any, ...]) -> Any:
        payload = memoryview(b"".join(bytes(memoryview(part)) for part in parts))
        if len(payload) > wire.MAX_PAYLOAD:
            raise AssertionError("a frame longer than the protocol allows")
        with self._lock:
            if self._is_closed:
                raise wire.SessionLost("the session was closed")
            outer = torch.random.get_rng_state()
            torch.random.set_rng_state(self._random)
            try:
                return self.session.handle(kind, payload)
            finally:
                self._random = torch.random.get_rng_state()
                torch.random.set_rng_state(outer)
