from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class QuotaFigures:
    """A quota item's figures (PLAT-TEN-11): `allocatable` = total - allocated; `left` is what may be asked."""

    item: str
    total: int
    allocated: int
    used: int
    in_process: int
    model: str = ""
    """Of a quota on devices of one model (ELA-308)."""

    @property
    def allocatable(self) -> int:
        return self.total - self.allocated

    @property
    def left(self) -> int:
        return max(0, self.total - self.used - self.in_process)

    def as_json(self) -> dict[str, Any]:
        return {
            "item": self.item,
            "model": self.model,
            "total": self.total,
            "allocated": self.allocated,
            "allocatable": self.allocatable,
            "used": self.used,
            "in_process": self.in_process,
            "left": self.left,
        }


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """When a request would start; `start_at` is None where nobody can say. `basis`: see the engine's EtaBasis."""

    start_at: datetime | None
    basis: str
    sentence: str

    def as_json(self) -> dict[str, Any]:
        start_at = self.start_at.isoformat() if self.start_at else None
        return {"start_at": start_at, "basis": self.basis, "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class CycleReport:
    """What one cycle did: whether this process led, how many were placed, skipped as stale, and wait."""

    led: bool
    placed: int = 0
    stale: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asks for who submits work directly; amounts are per share.

    Each `shares_per_replica` of its shares are a replica, on one node; how many it wants, and at the least, may be said
    in shares or in `replicas` (ELA-505).
    `environment` and `spec` decide the amounts where they say so. `node` and `local_node` are names or uids.
    `wait_for_quota` lets it wait until the tenant's quota has room, instead of being refused (POOL-12.6). Without a
    `priority` it has that of who submits it, without a `queue` it goes to the default one. With `oversubscribe` it
    shares its devices where its queue leaves that to it (PLAT-CLU-55). With `min_shares` it is elastic (ELA-901).
    Before it is stopped to go on later its program is sent `checkpoint_signal`, or `checkpoint_command` runs beside
    it (ELA-810). `client_key`: asked twice with the same one it is one workload.
    """

    name: str
    kind: str = "program"
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    spec: str = ""
    environment: str = ""
    compute_percent: int | None = None
    memory_mib: int | None = None
    shares: int | None = None
    replicas: int | None = None
    shares_per_replica: int = 1
    whole_cards: bool = False
    distinct_devices: bool = False
    single_node: bool = False
    queue: str = ""
    priority: int | None = None
    urgent: bool = False
    oversubscribe: bool = False
    preemptible: bool = False
    checkpoint_signal: str = ""
    checkpoint_command: tuple[str, ...] = ()
    min_shares: int | None = None
    min_replicas: int | None = None
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    earliest_start_at: datetime | None = None
    deadline_at: datetime | None = None
    purpose: str = ""
    any_models: tuple[str, ...] = ()
    reservation: str = ""
    client_key: str = ""
    max_attempts: int = 1
    retry_delay_s: int = 30
    vendor: str = ""
    model: str = ""
    node: str = ""
    device: str = ""
    resource_group: str = ""
    affinity: str = ""
    anti_affinity: str = ""
    placing: str = ""
    local_node: str = ""
    run_timeout_s: int | None = None
    idle_timeout_s: int | None = None
    requeue_on_loss: bool = False
    driver: str = ""
    wait_for_quota: bool = False

    @property
    def work(self) -> dict[str, Any]:
        """What its node is to run, and how it is asked to save itself."""
        work: dict[str, Any] = {"argv": list(self.argv), "env": dict(self.env)}
        if self.checkpoint_signal or self.checkpoint_command:
            argv = list(self.checkpoint_command)
            work["checkpoint"] = {"signal": self.checkpoint_signal, "argv": argv}
        return work


@dataclass(frozen=True, slots=True)
class Amounts:
    """What each of `shares` shares gets, and where that was said."""

    shares: int
    compute_percent: int
    memory_mib: int
    spec: str = ""

    def quota(self) -> dict[str, int]:
        """What it takes of a tenant's quota."""
        return {
            "instances": self.shares,
            "compute_percent": self.shares * self.compute_percent,
            "gpu_memory_mib": self.shares * self.memory_mib,
        }
