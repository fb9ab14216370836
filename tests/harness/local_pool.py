"""A portal of the demo whose two nodes have an accelerator each, and its own pool as a centre.

They are simulated, as they say: the pool, its scheduler, its agents and what the jobs run are real.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Client
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest

from portal.devstack.bootstrap import ROOT
from portal.devstack.servers.processes import wait_until
from portal.devstack.stack import Stack
from tests.harness.adapter_process import KEY
from tests.harness.portal import own_environment, portal_folder

ACCOUNT = {"tenant": "acme", "user": "alice"}
_AGENT = {"WEIR_AGENT_DEVICES": "none", "WEIR_AGENT_SIMULATE": "ascend:1:Ascend 910B:1024"}
_STARTS_S = 180


@dataclass
class LocalPool:
    """It runs; `call` makes one call of its adapter in a process of the portal."""

    stack: Stack
    socket: str

    def call(self, name: str, *arguments: object, settings: dict[str, str] | None = None) -> Any:
        """What the adapter answers to one of its calls; raises what it raises."""
        with Client(self.socket, "AF_UNIX", authkey=KEY) as process:
            process.send((name, settings or ACCOUNT, arguments))
            how, found = process.recv()
        if how == "error":
            raise found
        return found

    def scalar(self, statement: str, *values: object) -> Any:
        """What the portal's database answers to a statement that finds one value."""
        with psycopg.connect(self.stack.environment["WEIR_DATABASE_URL"], autocommit=True) as database:
            found = database.execute(statement, values)
            return found.fetchone()[0] if found.description else None


@dataclass
class AdapterThere:
    """The adapter of the pool, each call made in the portal's process."""

    pool: LocalPool
    settings: dict[str, str] = field(default_factory=lambda: dict(ACCOUNT))

    def __getattr__(self, name: str) -> Any:
        from apps.jointcloud.local.adapter import LocalAdapter

        found = getattr(LocalAdapter, name)
        if not callable(found):
            return found
        return lambda *arguments: self.pool.call(name, *arguments, settings=self.settings)


@contextmanager
def running_local_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPool]:
    """One with all accelerators free; gone afterwards."""
    with ExitStack() as ends:
        # What it starts with is of the start alone: the worker runs other tests beside it.
        with own_environment(), pytest.MonkeyPatch.context() as environment:
            for name, value in _AGENT.items():
                environment.setenv(name, value)
            folder = portal_folder(tmp_path_factory, "local-pool")
            stack = Stack.in_folder(folder, nodes=2, simulate="", center_processes=1)
            ends.callback(stack.stop)
            stack.start()
            pool = ends.enter_context(_adapter_process(stack))
        yield pool


@contextmanager
def _adapter_process(stack: Stack) -> Iterator[LocalPool]:
    with TemporaryDirectory(prefix="weir-local-") as sockets:
        path = str(Path(sockets) / "adapter")
        command = [sys.executable, "-m", "tests.harness.adapter_process", path, ACCOUNT["tenant"]]
        process = subprocess.Popen(command, cwd=ROOT, env=stack.environment)
        try:
            pool = LocalPool(stack, path)
            assert wait_until(lambda: Path(path).exists(), timeout_s=_STARTS_S)
            assert wait_until(_is_whole(pool), timeout_s=_STARTS_S), pool.call("resources")
            yield pool
        finally:
            process.terminate()
            process.wait(30)


def _is_whole(pool: LocalPool) -> Callable[[], bool]:
    def ask() -> bool:
        told = pool.call("resources")
        return bool(told.nodes == 2 and told.total.npu == 2)

    return ask
