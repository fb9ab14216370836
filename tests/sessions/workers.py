"""Real worker processes for tests, as the shim starts them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from weir.link_remote import RemoteLink

from node_agent.runtime.files import write_json

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-sixteen-characters-or-more"


class Worker:
    """One worker in a folder; `prefix` runs it elsewhere (a network namespace)."""

    def __init__(self, folder: Path, *, prefix: list[str] | None = None, **wish: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.wish: dict[str, Any] = {
            "slice_uid": folder.name,
            "device": "cpu",
            "compute_percent": 100,
            "memory_mib": 64,
            "token": TOKEN,
            "ticket": None,
            "move_to": None,
            "host": "127.0.0.1",
            "detach_s": 60,
            "idle_timeout_s": None,
            **wish,
        }
        self.change()
        environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}",
            "OMP_NUM_THREADS": "1",
        }
        with (folder / "worker.err").open("wb") as errors:
            self.process = subprocess.Popen(
                [*(prefix or []), sys.executable, "-m", "node_agent.sessions.worker"],
                cwd=folder,
                env=environment,
                stderr=errors,
            )

    def change(self, **wish: Any) -> None:
        """Write session.json anew, as the shim does."""
        self.wish.update(wish)
        write_json(self.folder / "session.json", self.wish)

    def status(self) -> dict[str, Any]:
        """status.json as it is now; {} before it was written."""
        try:
            found: dict[str, Any] = json.loads((self.folder / "status.json").read_bytes())
        except OSError:
            return {}
        return found

    def wait(self, wanted: Callable[[dict[str, Any]], Any], timeout_s: float = 30) -> dict[str, Any]:
        """The first status for which `wanted` holds."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            status = self.status()
            if status and wanted(status):
                return status
            if self.process.poll() is not None and not status:
                break
            time.sleep(0.005)
        raise AssertionError(f"{self.status()} {(self.folder / 'worker.err').read_text()}")

    def link(self, **options: Any) -> RemoteLink:
        """Attach to it."""
        status = self.wait(lambda found: found["port"])
        host = options.pop("host", self.wish["host"])
        token = options.pop("token", self.wish["token"])
        return RemoteLink(host, status["port"], status["fingerprint"], token, **options)

    def target(self) -> dict[str, Any]:
        """It, as `move_to` of another worker's session.json."""
        status = self.wait(lambda found: found["port"])
        return {
            "slice_uid": self.wish["slice_uid"],
            "host": self.wish["host"],
            "port": status["port"],
            "fingerprint": status["fingerprint"],
            "ticket": self.wish["ticket"],
        }

    def kill(self) -> None:
        """At once and without a word."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def workers(folder: Path) -> Iterator[Callable[..., Worker]]:
    """`make(name, **wish)`; all of them end with the test."""
    made: list[Worker] = []

    def make(name: str, **options: Any) -> Worker:
        made.append(Worker(folder / name, **options))
        return made[-1]

    try:
        yield make
    finally:
        for worker in made:
            worker.kill()
