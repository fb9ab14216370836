"""A real Ray of the tests in a folder: a head with its dashboard behind a token, and a second node on this machine.

It has ports of its own and leaves nothing behind: it is stopped by its processes, since `ray stop` ends every Ray of a
machine.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from portal.devstack.servers.privileges import child_setup
from portal.devstack.servers.processes import last_lines, wait_until
from tests.harness.ports import row_of_ports
from tests.harness.ray_install import ray_folder, ray_lacks

NODES = 2
_READY_S = 180
_MARK = "WEIR_RAY_CLUSTER"
# Of each node: so much of everything, and two resources of its own names.
_NODE = (
    "--num-cpus=8",
    "--num-gpus=2",
    f"--memory={16_000 * 2**20}",
    f"--object-store-memory={80 * 2**20}",
    '--resources={"NPU": 4, "my_card": 3}',
    "--include-log-monitor=false",
    "--disable-usage-stats",
    "--block",
)
_NODE_PORTS = (
    "dashboard-agent-listen-port", "dashboard-agent-grpc-port", "runtime-env-agent-port", "metrics-export-port",
    "node-manager-port", "object-manager-port",
)  # fmt: skip
_HEAD_PORTS = ("port", "dashboard-port", "ray-client-server-port")


@dataclass
class RayCluster:
    """One that runs: the address of its dashboard, and the token that it asks for."""

    folder: Path
    address: str
    token: str
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def asked(self, path: str) -> Any:
        """What the dashboard itself answers, past the adapter."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.get(self.address + path, headers=headers, timeout=60, trust_env=False)
        return answer.raise_for_status().json()

    def start(self, name: str, *words: str) -> None:
        """Start a node, which says what it has to say into a log of its name."""
        with (self.folder / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [str(ray_folder() / "bin" / "ray"), "start", *words, *_NODE],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=child_setup(),
            )

    def alive(self) -> int:
        """How many nodes the dashboard counts."""
        with suppress(httpx.HTTPError, ValueError, KeyError):
            rows = self.asked("/api/v0/nodes")["data"]["result"]["result"]
            return sum(row["state"] == "ALIVE" for row in rows)
        return 0

    def wait(self, name: str, nodes: int) -> None:
        """Wait until so many nodes are there and jobs are taken. Raises TimeoutError with the end of the node's log."""
        process = self.processes[name]
        is_ready = wait_until(
            lambda: process.poll() is not None or self.alive() >= nodes, timeout_s=_READY_S, every_s=0.1
        )
        if not is_ready or process.poll() is not None:
            said = "\n".join(last_lines(self.folder / f"{name}.out"))
            raise TimeoutError(f"{name} is not ready ({process.poll()}):\n{said}")

    def stop(self) -> None:
        """End all of it, at once: nobody needs what it holds."""
        mark = f"{_MARK}={self.folder}".encode()
        for name in list(self.processes):
            process = self.processes.pop(name)
            process.kill()
            process.wait()
        # Whatever it has started, and what that starts while it is ended.
        assert wait_until(lambda: not _ended(mark), timeout_s=60, every_s=0.1), "a process of Ray's stays"


def _ended(mark: bytes) -> int:
    """How many processes that bear a mark were there, and are ended now."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
                count += 1
    return count


@contextmanager
def running_ray(folder: Path) -> Iterator[RayCluster]:
    """One with all its nodes; gone afterwards."""
    count = len(_HEAD_PORTS) + NODES * len(_NODE_PORTS)
    first = row_of_ports(count)
    numbers = iter(range(first, first + count))
    head = {name: next(numbers) for name in _HEAD_PORTS}
    token = secrets.token_urlsafe(32)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_enable_metrics_collection": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        _MARK: str(folder),
    }
    made = RayCluster(folder, f"http://127.0.0.1:{head['dashboard-port']}", token, environment)
    try:
        for name, words in {
            "head": [
                "--head",
                "--dashboard-host=127.0.0.1",
                f"--temp-dir={folder / 't'}",
                *[f"--{option}={port}" for option, port in head.items()],
            ],
            "second": [f"--address=127.0.0.1:{head['port']}"],
        }.items():
            made.start(name, *words, *[f"--{option}={next(numbers)}" for option in _NODE_PORTS])
            made.wait(name, len(made.processes))
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def ray() -> Iterator[RayCluster]:
    """One with two nodes for all tests of a worker."""
    if why := ray_lacks():
        pytest.skip(why)
    # Sockets have short paths.
    with TemporaryDirectory(prefix="weir-ray-") as folder, running_ray(Path(folder)) as cluster:
        yield cluster
