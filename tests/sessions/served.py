"""A worker's service in this process: real listener, sockets and loop, in threads; quicker to start than a process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from weir.link.remote import RemoteLink

from node_agent.sessions.connection.certificate import context_make
from node_agent.sessions.connection.listener import Listener
from node_agent.sessions.execution.core import Session
from node_agent.sessions.worker_loop import Service
from tests.sessions.workers import TOKEN


class Served:
    """One service; `service` and `listener` may be looked into."""

    def __init__(self, *, quota_mib: int = 64, **options: Any) -> None:
        self.service = Service(Session("cpu", quota_mib), token=TOKEN, **options)
        self.listener = Listener("127.0.0.1", self.service, context_make())
        self.thread = threading.Thread(target=self.service.run, args=(self.listener,), daemon=True)
        self.listener.open()
        self.thread.start()

    def link(self, **options: Any) -> RemoteLink:
        """Attach to it."""
        options = {
            "port": self.listener.port,
            "fingerprint": self.listener.fingerprint,
            "token": TOKEN,
            **options,
        }
        return RemoteLink("127.0.0.1", **options)

    def wait(self, wanted: Callable[[Service], Any], timeout_s: float = 60) -> None:
        """Until `wanted` holds."""
        deadline = time.monotonic() + timeout_s
        while not wanted(self.service):
            if time.monotonic() > deadline:
                raise AssertionError("it did not come about in time")
            time.sleep(0.005)


@contextlib.contextmanager
def served(**options: Any) -> Iterator[Served]:
    """A service that ends with the block."""
    made = Served(**options)
    try:
        yield made
    finally:
        made.service.stop_soon()
        made.thread.join(5)
        made.listener.close()
