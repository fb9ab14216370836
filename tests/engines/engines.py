"""The engines that the suite runs on: how each is reached, and what of it the suite has to know."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Protocol

from apps.centers.adapters.base import CallLimits, CenterAdapter, JobMessage, Quantities
from apps.centers.adapters.kinds import adapter_of
from apps.centers.adapters.ray.adapter import RayAdapter
from apps.centers.adapters.slurm.adapter import SlurmAdapter
from tests.harness.bad_network import BadNetwork, bad_network
from tests.harness.local_pool import AdapterThere, LocalPool
from tests.harness.ray import RayCluster
from tests.harness.slurm import USER, Cluster

# Whether what answers under a kind is the engine itself and not a stand-in.
REAL = {"local": True, "ray": True, "slurm": True}
# Kinds that nothing is sent to over a network, and what of the suite does not apply to them for that reason.
WIRELESS = {
    "local": "our own pool is called in its portal's process: no wire, no credential on it, no second clock, and no"
    " other portal's watchers reach it"
}
# Kinds that keep output as text: a NUL becomes another character.
TEXT_LOGS = frozenset({"local"})
# A call is given up after so long where a test waits for that.
SHORT = CallLimits(connect_s=2, answer_s=1.5)


class Engine(Protocol):
    """An engine that runs, with a network before it that can be made bad."""

    kind: ClassVar[str]
    # What the first line of the request that makes a job begins with, and of one that asks for a job.
    creating: ClassVar[str]
    asking: ClassVar[str]
    # What the engine's answer about a running job has as its message.
    words: ClassVar[bytes]
    # Whether a job that waits is over as soon as it is stopped.
    ends_waiting: ClassVar[bool]
    network: BadNetwork

    def adapter(
        self, limits: CallLimits | None = None, clock: Callable[[], float] = time.time
    ) -> CenterAdapter:
        """An adapter through the network, with bounds or a clock of its own."""
        ...

    def wrong(self) -> CenterAdapter:
        """One with a credential that the engine does not take."""
        ...

    def whole(self) -> Quantities:
        """All that the engine has of some resource on one of its places, of which it has two."""
        ...

    def count(self, key: str) -> int:
        """How many jobs of a key the engine has by its own tools."""
        ...

    def strange(self, body: bytes) -> bytes:
        """An answer about running jobs with a state that the engine has no word for."""
        ...


@dataclass
class SlurmEngine:
    """The cluster of the tests."""

    kind: ClassVar[str] = "slurm"
    creating: ClassVar[str] = "POST"
    asking: ClassVar[str] = "GET /slurm/"
    words: ClassVar[bytes] = b'"None"'
    ends_waiting: ClassVar[bool] = True
    cluster: Cluster
    network: BadNetwork

    @property
    def settings(self) -> dict[str, str]:
        return {
            "address": self.network.address,
            "user": USER,
            "folder": str(self.cluster.work),
            "log_folder": str(self.cluster.work),
            "devices": "user_define=card",
        }

    @property
    def secrets(self) -> dict[str, str]:
        return {"key": base64.b64encode(self.cluster.key).decode()}

    def adapter(
        self, limits: CallLimits | None = None, clock: Callable[[], float] = time.time
    ) -> SlurmAdapter:
        return SlurmAdapter(self.settings, self.secrets, True, limits=limits, clock=clock)

    def wrong(self) -> CenterAdapter:
        return adapter_of(
            "slurm", self.settings, {"key": base64.b64encode(b"k" * 32).decode()}, local_addresses=True
        )

    def whole(self) -> Quantities:
        return Quantities(cpu=1, memory=100, npu=4)

    def count(self, key: str) -> int:
        told = self.cluster.command("squeue", "--noheader", "--states=all", f"--name={key}", "--format=%i")
        return len(told.split())

    def strange(self, body: bytes) -> bytes:
        assert b'"RUNNING"' in body
        return body.replace(b'"RUNNING"', b'"LEVITATING"')


@contextmanager
def slurm_engine(cluster: Cluster) -> Iterator[SlurmEngine]:
    """The cluster behind a network of its own."""
    with bad_network(cluster.address) as network:
        yield SlurmEngine(cluster, network)


@dataclass
class RayEngine:
    """The Ray of the tests, which asks for a token."""

    kind: ClassVar[str] = "ray"
    creating: ClassVar[str] = "POST"
    asking: ClassVar[str] = "GET /"
    words: ClassVar[bytes] = b'"Job is currently running."'
    # It is told so when it begins.
    ends_waiting: ClassVar[bool] = False
    cluster: RayCluster
    network: BadNetwork

    @property
    def settings(self) -> dict[str, str]:
        return {"address": self.network.address, "devices": "user_define=my_card"}

    @property
    def secrets(self) -> dict[str, str]:
        return {"token": self.cluster.token}

    def adapter(self, limits: CallLimits | None = None, clock: Callable[[], float] = time.time) -> RayAdapter:
        """Nothing of it goes by the clock of this machine."""
        return RayAdapter(self.settings, self.secrets, True, limits=limits)

    def wrong(self) -> CenterAdapter:
        return adapter_of("ray", self.settings, {"token": "k" * 43}, local_addresses=True)

    def whole(self) -> Quantities:
        return Quantities(cpu=1, memory=100, npu=4)

    def count(self, key: str) -> int:
        return sum(job["submission_id"] == key for job in self.cluster.asked("/api/jobs/"))

    def strange(self, body: bytes) -> bytes:
        assert b'"RUNNING"' in body
        return body.replace(b'"RUNNING"', b'"LEVITATING"')


@contextmanager
def ray_engine(cluster: RayCluster) -> Iterator[RayEngine]:
    """The cluster behind a network of its own."""
    with bad_network(cluster.address) as network:
        yield RayEngine(cluster, network)


class NoNetwork:
    """Before an engine without a wire: nothing is ever asked over it."""

    def __init__(self) -> None:
        self.asked: list[str] = []


@dataclass
class LocalEngine:
    """Our own pool, called in a process of its portal."""

    kind: ClassVar[str] = "local"
    ends_waiting: ClassVar[bool] = True
    pool: LocalPool
    network: NoNetwork

    def adapter(self) -> AdapterThere:
        return AdapterThere(self.pool)

    def whole(self) -> Quantities:
        return Quantities(cpu=1, memory=100, npu=1)

    def count(self, key: str) -> int:
        return int(self.pool.scalar("SELECT count(*) FROM scheduling_workload WHERE client_key = %s", key))


@contextmanager
def local_engine(pool: LocalPool) -> Iterator[LocalEngine]:
    """The pool of a portal of its own."""
    yield LocalEngine(pool, NoNetwork())


def job(command: str, quantities: Quantities | None = None, **environment: str) -> JobMessage:
    """A small job."""
    return JobMessage(command, quantities or Quantities(cpu=1, memory=50), environment)
