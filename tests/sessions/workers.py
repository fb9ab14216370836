"""Real worker processes for tests.

Most are forked from a process that has imported PyTorch already, which saves seconds each; `is_started` starts
one by its command line, as the shim does.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from weir.link.remote import RemoteLink

from node_agent.files import write_json

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-sixteen-characters-or-more"


ENVIRONMENT = {"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "OMP_NUM_THREADS": "1"}
NURSERY = multiprocessing.get_context("forkserver")
NURSERY.set_forkserver_preload(["node_agent.sessions.worker"])


_CLONE_NEWNET = 0x40000000


def _forked(folder: str, netns: str) -> None:
    """What a worker forked from the nursery does: the same as `python -m node_agent.sessions.worker`."""
    from node_agent.sessions.worker import main

    if netns:
        with open(f"/var/run/netns/{netns}") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "the namespace cannot be entered")
    os.chdir(folder)
    with open("worker.err", "wb") as errors:
        os.dup2(errors.fileno(), 2)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    sys.exit(main())


class Worker:
    """One worker in a folder; `netns` names the network namespace it runs in."""

    def __init__(self, folder: Path, *, netns: str = "", is_started: bool = False, **wish: Any) -> None:
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
        if is_started:
            self._start()
        else:
            self._fork(netns)

    def _start(self) -> None:
        with (self.folder / "worker.err").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "node_agent.sessions.worker"],
                cwd=self.folder,
                env={**os.environ, **ENVIRONMENT},
                stderr=errors,
            )
        self.pid = process.pid
        self.exit_code, self._wait = process.poll, process.wait
        self.terminate, self._kill = process.terminate, process.kill

    def _fork(self, netns: str) -> None:
        outer = {name: os.environ.get(name) for name in ENVIRONMENT}
        os.environ.update(ENVIRONMENT)
        process = NURSERY.Process(target=_forked, args=(str(self.folder), netns), daemon=True)
        process.start()
        for name, value in outer.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        self.pid = process.pid
        self.exit_code, self._wait = lambda: process.exitcode, process.join
        self.terminate, self._kill = process.terminate, process.kill

    def wait_exit(self, timeout_s: float = 120) -> int | None:
        """Its exit code."""
        self._wait(timeout_s)
        return self.exit_code()

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

    def wait(self, wanted: Callable[[dict[str, Any]], Any], timeout_s: float = 300) -> dict[str, Any]:
        """The first status for which `wanted` holds."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            status = self.status()
            if status and wanted(status):
                return status
            if self.exit_code() is not None and not status:
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
        self._kill()
        self._wait()


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
