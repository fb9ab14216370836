from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from weir_wire.workload_request import WorkloadRequest as WorkloadRequest

# The components of a commodity that price a share's compute and memory, and its cores, main memory and GiB of disk of
# its node.
COMPUTE_COMPONENT, MEMORY_COMPONENT = "compute_share", "gpu_memory"
CPU_COMPONENT, HOST_MEMORY_COMPONENT, DISK_COMPONENT = "cpu", "memory", "scratch_disk"
# The queue that is there from the start, and takes what names no other.
DEFAULT_QUEUE = "default"
# Each reserved start and each move costs a search of the pool in every pass.
MOST_RESERVED_STARTS, MOST_MOVES = 16, 64


# What some commands of the node's own need beside the agent, as nodes call it among their components.
VSCODE_COMMAND = ("python", "-m", "node_agent.web.vscode")
_NEEDS: dict[tuple[str, ...], str] = {VSCODE_COMMAND: "vscode"}


def program_of(argv: Sequence[str]) -> str:
    """What must be installed on a node for a command that runs there without an image; "" for nothing by name."""
    return _NEEDS.get(tuple(argv[:3]), "")


@dataclass(frozen=True, slots=True)
class WorkImage:
    """The container image of work: what its node is told, for which machines it is, and what it runs where the work
    names no program."""

    told: dict[str, Any]
    architecture: str
    entry_point: tuple[str, ...]


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
class Amounts:
    """What each of `shares` shares gets, and where that was said.

    `host_cpu_milli` in thousandths of a core, `host_memory_mib` and `scratch_disk_mib` are of the share's node, beside
    its part of a device. With 0 percent and 0 MiB of a device it runs on the host alone.
    """

    shares: int
    compute_percent: int
    memory_mib: int
    spec: str = ""
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    scratch_disk_mib: int = 0

    @property
    def is_on_host(self) -> bool:
        return not self.compute_percent and not self.memory_mib and self.host_cpu_milli > 0

    def components(self) -> dict[str, int]:
        """What each share has, by the component of a commodity that prices it; a core or a GiB of disk that is begun
        counts whole. Of its node only what was asked for."""
        of_node = {
            CPU_COMPONENT: -(-self.host_cpu_milli // 1000),
            HOST_MEMORY_COMPONENT: self.host_memory_mib,
            DISK_COMPONENT: -(-self.scratch_disk_mib // 1024),
        }
        asked = {code: amount for code, amount in of_node.items() if amount}
        return {COMPUTE_COMPONENT: self.compute_percent, MEMORY_COMPONENT: self.memory_mib, **asked}

    def quota(self) -> dict[str, int]:
        """What it takes of a quota."""
        return {
            "instances": self.shares,
            "compute_percent": self.shares * self.compute_percent,
            "gpu_memory_mib": self.shares * self.memory_mib,
            "host_cpu_milli": self.shares * self.host_cpu_milli,
            "host_memory_mib": self.shares * self.host_memory_mib,
        }


@dataclass(frozen=True, slots=True)
class OrderedWork:
    """What an order asks the scheduler for: amounts, what runs, and where it may be; "" is any.

    `kind` is that of a workload, `driver` the way of slicing, queue and resource group by their code, `spec` a
    specification, or `mig_profile` a MIG profile, whose amounts these are, `storage` the mark of the storage that the
    volumes of `work` lie on, `containers` the architecture of the image that it runs in, `secrets` the keys of those
    that it is given, by name.
    """

    amounts: Amounts
    work: Mapping[str, Any]
    kind: str = "program"
    purpose: str = ""
    queue: str = ""
    resource_group: str = ""
    vendor: str = ""
    model: str = ""
    driver: str = ""
    spec: str = ""
    mig_profile: str = ""
    storage: str = ""
    containers: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict)
