"""The words of the engine: what a cycle reads (`Snapshot`) and what it decides (`Plan`).

All values are frozen and all numbers are whole: compute in percent of one device (1 to 100), memory in MiB,
instants in seconds since 1970 (UTC), ratios in permille. Identities are strings; any total order will do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Labels: TypeAlias = frozenset[tuple[str, str]]
Param: TypeAlias = str | int | bool | None

WHOLE_CARD_PERCENT = 100
NO_LABELS: Labels = frozenset()


class QueueState(StrEnum):
    """UP queues and starts work; DOWN only queues; DRAIN takes no more and starts none; INACTIVE is off.

    The engine starts work of UP queues alone; who may still submit is the service layer's to refuse.
    """

    UP = "up"
    DOWN = "down"
    DRAIN = "drain"
    INACTIVE = "inactive"


class Ordering(StrEnum):
    """Who is served first (PLAT-AICFG-21, PLAT-AICFG-22, ELA-508)."""

    FIRST_COME = "first_come"
    PRIORITY = "priority"


class Placing(StrEnum):
    """Where a share goes. The first two are the platform's words (PLAT-AICFG-19, PLAT-AICFG-20, N-14), the others
    those of the pooling standard (POOL-7.2a, POOL-12.27). What is local is the node that the request names as its
    local one; a request that names none is placed by `NODE_BALANCED`."""

    SPREAD = "spread"
    """A random node that fits."""
    BEST_FIT = "best_fit"
    """The node with the least combined use of compute and memory."""
    LOCAL = "local"
    """The local node and no other."""
    LOCAL_FIRST = "local_first"
    """The local node while it has room, else the least used one."""
    NODE_BALANCED = "node_balanced"
    """The least used node, and on it the least used device."""
    NODE_COMPACT = "node_compact"
    """The fullest node that fits, and on it the least used device: keeps whole nodes free."""
    DEVICE_BALANCED = "device_balanced"
    """The least used device of the pool."""
    DEVICE_COMPACT = "device_compact"
    """The fullest device of the pool that fits: keeps whole cards free."""


class ReasonCode(StrEnum):
    """Why a request is not placed (ELA-409). The texts are in `explain`."""

    REQUEST_INVALID = "request_invalid"
    QUEUE_UNKNOWN = "queue_unknown"
    QUEUE_NOT_UP = "queue_not_up"
    TENANT_NOT_ADMITTED = "tenant_not_admitted"
    QUEUE_QUOTA = "queue_quota"
    TENANT_QUOTA = "tenant_quota"
    BEHIND_HEAD = "behind_head"
    POOL_EMPTY = "pool_empty"
    DEVICE_PIN = "device_pin"
    NODE_PIN = "node_pin"
    RESOURCE_GROUP = "resource_group"
    GROUP_RESERVED = "group_reserved"
    LOCAL_NODE = "local_node"
    VENDOR = "vendor"
    MODEL = "model"
    LABEL = "label"
    NODE_NOT_READY = "node_not_ready"
    NODE_CLOSED = "node_closed"
    DEVICE_DISABLED = "device_disabled"
    DEVICE_UNHEALTHY = "device_unhealthy"
    NOT_VIRTUAL = "not_virtual"
    NOT_PHYSICAL = "not_physical"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti_affinity"
    CARD_NOT_IDLE = "card_not_idle"
    COMPUTE_PERCENT = "compute_percent"
    MEMORY_MIB = "memory_mib"
    COUNT = "count"
    COUNT_ON_ONE_NODE = "count_on_one_node"


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


@dataclass(frozen=True, slots=True)
class Node:
    """A server. `schedulable` is False while it is drained: running work stays, new work goes elsewhere."""

    id: str
    name: str = ""
    ready: bool = True
    schedulable: bool = True
    labels: Labels = NO_LABELS
    resource_groups: frozenset[str] = frozenset()


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


@dataclass(frozen=True, slots=True)
class Request:
    """Work that waits for `shares` equal shares, all or none of them (ELA-404, ELA-702).

    `exclusive` asks for whole cards: compute_percent must be 100, `memory_mib` is then the least the card
    must have, and the card's whole memory is granted. Shares may land on one device unless
    `distinct_devices`, and on several nodes unless `single_node`. A single share with an `affinity` goes to the
    device where work of the same word runs, if any does (POOL-12.9); one with an `anti_affinity` keeps off the
    devices where work of that word runs, and keeps such work off its own.
    """

    id: str
    tenant_id: str
    queue_id: str
    submitted_seq: int
    compute_percent: int
    memory_mib: int
    shares: int = 1
    exclusive: bool = False
    distinct_devices: bool = False
    single_node: bool = False
    priority: int = 0
    submitted_at_s: int = 0
    duration_s: int | None = None
    """How long it will run at most; None is unknown."""
    placing: Placing | None = None
    vendor: str | None = None
    model: str | None = None
    node_id: str | None = None
    device_id: str | None = None
    resource_group: str | None = None
    labels: Labels = NO_LABELS
    local_node_id: str | None = None
    affinity: str = ""
    anti_affinity: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """One share on one device, with the words of its request."""

    device_id: str
    node_id: str
    compute_percent: int
    memory_mib: int
    exclusive: bool = False
    affinity: str = ""
    anti_affinity: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """What one request holds now. `ends_at_s` is the known end, None when nobody knows it."""

    id: str
    tenant_id: str
    queue_id: str
    grants: tuple[Grant, ...]
    ends_at_s: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The operators' choice (PLAT-AICFG-18).

    `backfill`: True lets later requests of a queue pass a head that waits for room; False holds the queue
    behind it. With backfill, a head that has waited `patience_s` holds its queue all the same, so that it
    cannot starve (ELA-704); None lets it wait for ever. `aging_s`: with priority ordering each full period of
    waiting counts as one priority more; None switches aging off. `tenant_default` bounds tenants without a
    quota of their own (ELA-307).
    """

    ordering: Ordering = Ordering.FIRST_COME
    placing: Placing = Placing.SPREAD
    backfill: bool = True
    patience_s: int | None = 3600
    aging_s: int | None = None
    tenant_default: Quota = field(default_factory=Quota)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The pool at one instant. The order inside the tuples does not matter."""

    nodes: tuple[Node, ...] = ()
    devices: tuple[Device, ...] = ()
    queues: tuple[Queue, ...] = ()
    running: tuple[Running, ...] = ()
    requests: tuple[Request, ...] = ()
    tenant_quotas: tuple[tuple[str, Quota], ...] = ()
    policy: Policy = field(default_factory=Policy)


@dataclass(frozen=True, slots=True)
class Reason:
    """A code and the figures of its sentence, by name in fixed order."""

    code: ReasonCode
    params: tuple[tuple[str, Param], ...] = ()

    def get(self, name: str) -> Param:
        """The figure called `name`, None where the reason has no such figure."""
        return dict(self.params).get(name)


@dataclass(frozen=True, slots=True)
class Placement:
    """Start this request on these shares."""

    request_id: str
    tenant_id: str
    queue_id: str
    grants: tuple[Grant, ...]
    policy: Placing


@dataclass(frozen=True, slots=True)
class Refusal:
    """This request goes on waiting, `position` in its queue counted from 1.

    `permanent`: no release can help. It is wrong in itself, exceeds a quota's bound, or would not fit the
    registered pool with every device whole, ready and empty (ELA-507). Such a request never holds up others.
    """

    request_id: str
    queue_id: str
    reason: Reason
    position: int
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Every request of the snapshot is in exactly one of the two, in the order in which it was judged."""

    placements: tuple[Placement, ...] = ()
    refusals: tuple[Refusal, ...] = ()


class EtaBasis(StrEnum):
    """What an expected start rests on, or why there is none (the last four)."""

    FREE_NOW = "free_now"
    KNOWN_ENDS = "known_ends"
    UNKNOWN_ENDS = "unknown_ends"
    NEEDS_REPAIR = "needs_repair"
    QUEUE_STOPPED = "queue_stopped"
    NEVER_FITS = "never_fits"


@dataclass(frozen=True, slots=True)
class Eta:
    """An expected start, None where none can be given. `reason`: what the request waits for now."""

    start_at_s: int | None
    basis: EtaBasis
    reason: Reason | None = None
