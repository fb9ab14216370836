"""The fixed words of the engine: states, orders, placings, reasons."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class QueueState(StrEnum):
    """UP takes and starts work; DOWN takes and starts none; DRAIN takes no more and starts what waits; INACTIVE does
    neither (PLAT-CLU-63 to -66).

    The engine starts work of UP and DRAIN queues; who may still submit is the service layer's to refuse.
    """

    UP = "up"
    DOWN = "down"
    DRAIN = "drain"
    INACTIVE = "inactive"


class Ordering(StrEnum):
    """Who is served first (PLAT-AICFG-21, PLAT-AICFG-22, ELA-508)."""

    FIRST_COME = "first_come"
    PRIORITY = "priority"
    FAIR_SHARE = "fair_share"
    """The tenant with the least use for its weight, what it used before remembered and fading (ELA-1003, 1008)."""
    DOMINANT_SHARE = "dominant_share"
    """The tenant with the least dominant share: the largest of its parts of compute, memory and each model."""


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
    FRAGMENTATION = "fragmentation"
    """Where it takes the least from the work that usually comes (`Snapshot.mix`); see `packing`."""


class Alone(StrEnum):
    """What work has to itself while it runs (PLAT-CLU-54, PLAT-CLU-58)."""

    NO = ""
    DEVICE = "device"
    """Each device that it lies on."""
    NODE = "node"
    """Each node."""


class ReasonCode(StrEnum):
    """Why a request is not placed (ELA-409). The texts are in `explain`."""

    REQUEST_INVALID = "request_invalid"
    CONTRADICTION = "contradiction"
    DEADLINE_PAST = "deadline_past"
    TOO_EARLY = "too_early"
    OUTSIDE_WINDOW = "outside_window"
    WINDOWS_OVER = "windows_over"
    RESERVATION_UNKNOWN = "reservation_unknown"
    RESERVATION_CLOSED = "reservation_closed"
    QUEUE_UNKNOWN = "queue_unknown"
    QUEUE_NOT_UP = "queue_not_up"
    TENANT_NOT_ADMITTED = "tenant_not_admitted"
    QUEUE_QUOTA = "queue_quota"
    TENANT_QUOTA = "tenant_quota"
    MODEL_QUOTA = "model_quota"
    BEHIND_HEAD = "behind_head"
    HELD_FOR_OTHERS = "held_for_others"
    PREEMPTING = "preempting"
    SHRINKING = "shrinking"
    MOVING = "moving"
    POOL_EMPTY = "pool_empty"
    DEVICE_PIN = "device_pin"
    NODE_PIN = "node_pin"
    RESOURCE_GROUP = "resource_group"
    GROUP_RESERVED = "group_reserved"
    LOCAL_NODE = "local_node"
    VENDOR = "vendor"
    MODEL = "model"
    LABEL = "label"
    STORAGE = "storage"
    CONTAINERS = "containers"
    PACKAGES = "packages"
    PROGRAM = "program"
    DRIVER = "driver"
    NODE_NOT_READY = "node_not_ready"
    NODE_CLOSED = "node_closed"
    DEVICE_DISABLED = "device_disabled"
    DEVICE_UNHEALTHY = "device_unhealthy"
    NOT_VIRTUAL = "not_virtual"
    NOT_PHYSICAL = "not_physical"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti_affinity"
    ALONE_DEVICE = "alone_device"
    ALONE_NODE = "alone_node"
    SHARED_OUT = "shared_out"
    CARD_NOT_IDLE = "card_not_idle"
    SIZE = "size"
    NO_SIZE = "no_size"
    COMPUTE_PERCENT = "compute_percent"
    MEMORY_MIB = "memory_mib"
    COUNT = "count"
    COUNT_ON_ONE_NODE = "count_on_one_node"
    REPLICA = "replica"
    REPLICAS = "replicas"
    HOST_CPU = "host_cpu"
    HOST_MEMORY = "host_memory"
    SCRATCH_DISK = "scratch_disk"


class EtaBasis(StrEnum):
    """What an expected start rests on, or why there is none (the last four)."""

    FREE_NOW = "free_now"
    KNOWN_ENDS = "known_ends"
    HISTORY = "history"
    """Some ends are guessed from how long such work ran before."""
    UNKNOWN_ENDS = "unknown_ends"
    NEEDS_REPAIR = "needs_repair"
    QUEUE_STOPPED = "queue_stopped"
    NEVER_FITS = "never_fits"


class HoldKind(StrEnum):
    """Why room is held for a request."""

    RESERVED_START = "reserved_start"
    """It is the next in line: what passes it must not delay it."""
    NOMINATED = "nominated"
    """Work is being stopped, shrunk or moved for it."""


class Feasibility(IntEnum):
    """How far a shape is from fitting, the pool's present use left aside."""

    NEVER = 0
    """Not even on all registered devices, whole, ready and empty."""
    AFTER_REPAIR = 1
    """Only once devices or nodes that are out of service come back."""
    AFTER_RELEASES = 2
    """On the usable devices, once enough of them is free."""
