"""A Ray of our own in a folder: a head with its dashboard behind a token, and where they are asked for more nodes.

It has ports of its own. It is stopped by its processes, since `ray stop` ends every Ray of a machine.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from portal.devstack.engines.marked import marked_end
from portal.devstack.engines.ray_install import ray_folder
from portal.devstack.servers.privileges import child_setup
from portal.devstack.servers.processes import last_lines, wait_until

_READY_S = 180
_MARK = "WEIR_RAY_CLUSTER"
_NODE = (
    f"--object-store-memory={80 * 2**20}",
    "--include-log-monitor=false",
    "--disable-usage-stats",
    "--block",
)
_NODE_PORTS = (
    "dashboard-agent-listen-port", "dashboard-agent-grpc-port", "runtime-env-agent-port", "metrics-export-port",
    "node-manager-port", "object-manager-port",
)  # fmt: skip
_HEAD_PORTS = ("port", "dashboard-port", "ray-client-server-port")


def ray_ports(nodes: int) -> int:
    """How many ports in a row so many nodes take."""
    return len(_HEAD_PORTS) + nodes * len(_NODE_PORTS)


@dataclass
class RayCluster:
    """One that runs: the address of its dashboard, and the token that it asks for.

    `each` is what `ray start` is told of every node: what it holds.
    """

    folder: Path
    address: str
    token: str
    environment: dict[str, str]
    each: Sequence[str]
    ports: Iterator[int]
    head: dict[str, int]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    def made(cls, folder: Path, token: str, each: Sequence[str], nodes: int, first_port: int) -> RayCluster:
        """One in a folder whose path is short enough for sockets, with nothing started."""
        numbers = iter(range(first_port, first_port + ray_ports(nodes)))
        head = {name: next(numbers) for name in _HEAD_PORTS}
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": token,
            "RAY_enable_metrics_collection": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            _MARK: str(folder),
        }
        address = f"http://127.0.0.1:{head['dashboard-port']}"
        return cls(folder, address, token, environment, each, numbers, head)

    def head_start(self) -> None:
        """Start its head and return when it takes jobs. Raises TimeoutError, OSError."""
        places = [f"--{option}={port}" for option, port in self.head.items()]
        words = ["--head", "--dashboard-host=127.0.0.1", f"--temp-dir={self.folder / 't'}", *places]
        self._node_start("head", words)

    def node_start(self, name: str) -> None:
        """Start one more node and return when it is there. Raises TimeoutError, OSError."""
        self._node_start(name, [f"--address=127.0.0.1:{self.head['port']}"])

    def asked(self, path: str) -> Any:
        """What the dashboard itself answers, past the adapter."""
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.get(self.address + path, headers=headers, timeout=60, trust_env=False)
        return answer.raise_for_status().json()

    def alive(self) -> int:
        """How many nodes the dashboard counts."""
        with suppress(httpx.HTTPError, ValueError, KeyError):
            rows = self.asked("/api/v0/nodes")["data"]["result"]["result"]
            return sum(row["state"] == "ALIVE" for row in rows)
        return 0

    def said(self, name: str) -> str:
        """The end of what a node has said."""
        return "\n".join(last_lines(self.folder / f"{name}.out"))

    def dead(self) -> str:
        """The name of a node of it that has ended by itself; "" where all run."""
        return next((name for name, process in self.processes.items() if process.poll() is not None), "")

    def stop(self) -> None:
        """End all of it, at once: nobody needs what it holds. Raises TimeoutError where something stays."""
        for name in list(self.processes):
            process = self.processes.pop(name)
            # Some of them overwrite where the mark stands.
            below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.kill()
            process.wait()
            for one in below:
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            _gone, left = psutil.wait_procs(below, timeout=60)
            if left:
                raise TimeoutError(f"processes of Ray's stay: {left}")
        # Whatever it has started, and what that starts while it is ended.
        if not ray_end(self.folder):
            raise TimeoutError("a process of Ray's stays")

    def _node_start(self, name: str, words: Sequence[str]) -> None:
        own = [f"--{option}={next(self.ports)}" for option in _NODE_PORTS]
        with (self.folder / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [str(ray_folder() / "bin" / "ray"), "start", *words, *own, *self.each, *_NODE],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=child_setup(),
            )
        self._wait(name, len(self.processes))

    def _wait(self, name: str, nodes: int) -> None:
        """Wait until so many nodes are there and jobs are taken."""
        process = self.processes[name]
        is_ready = wait_until(
            lambda: process.poll() is not None or self.alive() >= nodes, timeout_s=_READY_S, every_s=0.1
        )
        if not is_ready or process.poll() is not None:
            raise TimeoutError(f"{name} is not ready ({process.poll()}):\n{self.said(name)}")


def ray_end(folder: Path) -> bool:
    """End whatever still runs of the Ray of a folder, by its process ids; whether nothing of it is left."""
    return marked_end(_MARK, str(folder))
