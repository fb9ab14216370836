"""Replicas of the control module that a test starts beside the portal's own, on the same database."""

import os
import signal
import socket
import sys
from contextlib import suppress

import httpx

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.people import People
from apps.conformance.harness.processes import process_start

READY_S = 60


class Replica:
    """A web server of this release with the portal's own settings, on a port of its own."""

    def __init__(self, pool: CaseContext, port: int = 0) -> None:
        self.port = port or free_port()
        self._pool, self._name = pool, pool.name("replica")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *, is_waited_for: bool = True) -> None:
        self._pool.note("process", self._name)
        self._pool.folder.mkdir(parents=True, exist_ok=True)
        self._process = process_start(
            [
                sys.executable, "-m", "uvicorn", "portal.asgi:application", "--host", "127.0.0.1",
                "--port", str(self.port), "--no-access-log",
            ],
            label=self._name,
            environment={**os.environ, "WEIR_PROCESS_NAME": self._name},
            log=self._pool.folder / f"{self._name}.log",
        )  # fmt: skip
        if is_waited_for:
            self._pool.until("the replica to be ready", self.is_ready, READY_S)

    def is_ready(self) -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz", timeout=5).is_success
        return False

    def people(self) -> People:
        """The run's callers, speaking to this replica."""
        return self._pool.people.at(self.url)

    def kill(self) -> None:
        """As a power cut would end it."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
