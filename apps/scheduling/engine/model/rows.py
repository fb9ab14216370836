"""The rows of a pool: quotas, nodes, devices and queues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from apps.scheduling.engine.model.enums import Ordering, Placing, QueueState

Labels: TypeAlias = frozenset[tuple[str, str]]

WHOLE_CARD_PERCENT = 100
NO_LABELS: Labels = frozenset()


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity of the pool: percent of devices summed, MiB summed, number of shares."""

    compute_percent: int = 0
    memory_mib: int = 0
    shares: int = 0


@dataclass(frozen=True, slots=True)
class Limit:
    """An upper bound by dimension; None is no bound, 0 is nothing at all."""

    compute_percent: int | None = None
    memory_mib: int | None = None
    shares: int | None = None


UNLIMITED = Limit()
NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class Quota:
    """What one holder (a queue or a tenant) may use at most, and what is kept for it.

    The hard bound is `nominal` plus `borrow`. `guaranteed` is kept free for the holder while it is idle,
    except for the part that `lend` allows the siblings to use meanwhile (None: all of it) (ELA-312, ELA-603).
    """

    nominal: Limit = UNLIMITED
    borrow: Amount = NOTHING
    guaranteed: Amount = NOTHING
    lend: Limit = UNLIMITED
    by_model: tuple[tuple[str, Limit], ...] = ()
    """Of a tenant: what it may use of devices of one model, beside `nominal` (ELA-308)."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time in which work may start, from `from_s` to before `to_s`."""

    from_s: int
    to_s: int


@dataclass(frozen=True, slots=True)
class Node:
    """A server. `schedulable` is False while it is drained: running work stays, new work goes elsewhere.

    `host_cpu_milli`, `host_memory_mib` and `scratch_disk_mib`: what its host has for work; None is not counted.
    """

    id: str
    name: str = ""
    ready: bool = True
    schedulable: bool = True
    labels: Labels = NO_LABELS
    resource_groups: frozenset[str] = frozenset()
    host_cpu_milli: int | None = None
    host_memory_mib: int | None = None
    scratch_disk_mib: int | None = None
    rack: str = ""
    """Nodes of one rack are near each other; "" is unknown."""
    storage: str = ""
    """The marks of the storages whose volumes it can mount, with blanks between them; "" is none."""
    containers: str = ""
    """For which machines container images must be that work runs in there; "" is none."""
    packages: bool = False
    """Whether it installs packages for work."""
    programs: frozenset[str] = frozenset()
    """What is installed there that work may need by name: VS Code's server."""


class Size(NamedTuple):
    """A size in which a device gives its shares: percent and MiB of one, and so many of them on it at the most."""

    compute_percent: int
    memory_mib: int
    most: int


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator of a node. 2000 permille of over-subscription sells every percent of compute twice.

    Memory has a ratio of its own, since it is held to the MiB and rarely sold twice. `sliced` tells the two classes
    apart (POOL-12.15): True is virtual and takes shares, False is physical and is given whole, None takes both.
    A device of a `resource_group` serves those who ask for that group, and nobody else (POOL-12.13).
    """

    id: str
    node_id: str
    memory_mib: int
    vendor: str = ""
    model: str = ""
    enabled: bool = True
    healthy: bool = True
    labels: Labels = NO_LABELS
    oversubscription_permille: int = 1000
    memory_oversubscription_permille: int = 1000
    sliced: bool | None = None
    resource_group: str | None = None
    numa: str = ""
    link_group: str = ""
    """Devices of a node that a fast link joins (an NVLink island); "" is unknown."""
    drivers: frozenset[str] | None = None
    """The drivers it works with; None is any."""
    sizes: tuple[Size, ...] = ()
    """The only sizes of its shares, the smallest first; the first share decides the size of the others until the device
    is empty. None is any share."""

    @property
    def compute_capacity_percent(self) -> int:
        """Percent that may be handed out in all."""
        return WHOLE_CARD_PERCENT * self.oversubscription_permille // 1000

    @property
    def memory_capacity_mib(self) -> int:
        """MiB that may be handed out in all."""
        return self.memory_mib * self.memory_oversubscription_permille // 1000


@dataclass(frozen=True, slots=True)
class Queue:
    """A waiting line. `parent_id` makes a tree, `resource_group` ties it to nodes (PLAT-AICFG-23)."""

    id: str
    name: str = ""
    state: QueueState = QueueState.UP
    parent_id: str | None = None
    priority: int = 0
    ordering: Ordering | None = None
    """None: as the policy says."""
    placing: Placing | None = None
    """None: as the policy says."""
    resource_group: str | None = None
    tenants: frozenset[str] | None = None
    """Tenants admitted; None admits all (ELA-608)."""
    quota: Quota = field(default_factory=Quota)
    weight: int = 1
    """Queues of one parent and one priority share what is free in the proportion of their weights (ELA-606)."""
    windows: tuple[Window, ...] = ()
    """Work starts only inside one of them, and not where its run time-out would pass the end; () is always."""
    preempts: bool = True
    """False: its work never preempts (`Never`, ELA-801)."""
    reclaim: bool = True
    """Its guarantee is taken back from those who borrowed it, where the policy reclaims."""


@dataclass(frozen=True, slots=True)
class Typical:
    """A kind of work. Compute in percent of one device and host CPU in milli-cores, both per share; `count`: how
    many of it arrived. `models`: any of these devices; none named is any."""

    compute_percent: int
    shares: int = 1
    host_cpu_milli: int = 0
    models: frozenset[str] = frozenset()
    count: int = 1


USUAL = tuple(Typical(percent) for percent in (5, 10, 20, 25, 30, 40, 50, 75, 100))
"""What is assumed while nothing is known of what arrives: the usual slices, each as often."""
