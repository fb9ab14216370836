"""A Link to a Session in the same process, without sockets: for tests of the device itself."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from weir.link.interface import Link

from node_agent.sessions.execution.core import Session
from weir_wire import wire
from weir_wire.wire import Kind


class InProcessLink(Link):
    """Runs every frame before it returns, in a thread of its own: what PyTorch keeps per thread (grad mode, autocast,
    dispatch) is not the caller's. The session has a random state of its own. `frames` counts frames by kind."""

    transport = "in-process"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.quota_mib = session.quota_mib
        self.device = session.device
        self.frames: Counter[int] = Counter()
        self._lock = threading.RLock()
        self._card = session.torch_device if session.torch_device.type == "cuda" else None
        self._random = self._random_states()
        self._worker: ThreadPoolExecutor | None = ThreadPoolExecutor(max_workers=1)

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
        """Nothing is sent late here: what waits goes with the next flush."""

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown(wait=False)

    def _handle(self, kind: int, parts: tuple[Any, ...]) -> Any:
        payload = memoryview(b"".join(bytes(memoryview(part)) for part in parts))
        if len(payload) > wire.MAX_PAYLOAD:
            raise AssertionError("a frame longer than the protocol allows")
        with self._lock:
            if self._worker is None:
                raise wire.SessionLost("the session was closed")
            self.frames[kind] += 1
            outer = self._random_states()
            try:
                return self._submitted(kind, payload)
            finally:
                self._random_set(outer)

    def _submitted(self, kind: int, payload: memoryview) -> Any:
        assert self._worker is not None
        try:
            answer = self._worker.submit(self._run, kind, payload)
        except RuntimeError as error:  # the interpreter is shutting down
            raise wire.SessionLost("the process ends") from error
        return answer.result()

    def _run(self, kind: int, payload: memoryview) -> Any:
        self._random_set(self._random)
        try:
            return self.session.handle(kind, payload)
        finally:
            self._random = self._random_states()

    def _random_states(self) -> list[torch.Tensor]:
        """Of the CPU, and of the card that the session computes on."""
        return [
            torch.random.get_rng_state(),
            *([torch.cuda.get_rng_state(self._card)] if self._card is not None else []),
        ]

    def _random_set(self, states: list[torch.Tensor]) -> None:
        torch.random.set_rng_state(states[0])
        if self._card is not None:
            torch.cuda.set_rng_state(states[1], self._card)
