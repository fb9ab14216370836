"""The words of the engine: what a cycle reads (`Snapshot`) and what it decides (`Plan`).

All values are frozen and all numbers are whole: compute in percent of one device (1 to 100), memory in MiB,
instants in seconds since 1970 (UTC), ratios in permille. Identities are strings; any total order will do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from apps.scheduling.engine.model.enums import Alone as Alone
from apps.scheduling.engine.model.enums import EtaBasis as EtaBasis
from apps.scheduling.engine.model.enums import Feasibility as Feasibility
from apps.scheduling.engine.model.enums import HoldKind as HoldKind
from apps.scheduling.engine.model.enums import Ordering as Ordering
from apps.scheduling.engine.model.enums import Placing as Placing
from apps.scheduling.engine.model.enums import QueueState as QueueState
from apps.scheduling.engine.model.enums import ReasonCode as ReasonCode
from apps.scheduling.engine.model.reasons import Param as Param
from apps.scheduling.engine.model.reasons import Reason as Reason
from apps.scheduling.engine.model.reasons import Refusal as Refusal
from apps.scheduling.engine.model.rows import NO_LABELS as NO_LABELS
from apps.scheduling.engine.model.rows import NOTHING as NOTHING
from apps.scheduling.engine.model.rows import UNLIMITED as UNLIMITED
from apps.scheduling.engine.model.rows import USUAL as USUAL
from apps.scheduling.engine.model.rows import WHOLE_CARD_PERCENT as WHOLE_CARD_PERCENT
from apps.scheduling.engine.model.rows import Amount as Amount
from apps.scheduling.engine.model.rows import Device as Device
from apps.scheduling.engine.model.rows import Labels as Labels
from apps.scheduling.engine.model.rows import Limit as Limit
from apps.scheduling.engine.model.rows import Node as Node
from apps.scheduling.engine.model.rows import Queue as Queue
from apps.scheduling.engine.model.rows import Quota as Quota
from apps.scheduling.engine.model.rows import Size as Size
from apps.scheduling.engine.model.rows import Typical as Typical
from apps.scheduling.engine.model.rows import Window as Window


@dataclass(frozen=True, slots=True)
class Request:
    """Work that waits for `shares` equal shares, all or none of them (ELA-404, ELA-702).

    With `min_shares` it is elastic: it starts with any number from that to `shares` and may grow to `shares`.
    Each `shares_per_replica` of its shares are a replica, on one node; both numbers are multiples of it, and it
    starts, grows and shrinks by whole replicas, whose shares follow one another among its grants (ELA-505).
    Host CPU and memory are per share, on the share's node; with neither compute nor memory of a device the work runs
    on that host alone, and its device only says which.

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
    min_shares: int | None = None
    preemptible: bool = False
    urgent: bool = False
    """Served before all that is not, whatever the queue and the order."""
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    earliest_start_s: int | None = None
    deadline_s: int | None = None
    """It must have ended by then; without a duration: it must have started by then."""
    models: frozenset[str] = frozenset()
    """Any of these models; `model` is the same with one word."""
    driver: str | None = None
    reservation_id: str | None = None
    """Runs in this reservation and nowhere else."""
    windows: tuple[Window, ...] = ()
    """As a queue's, of the one who submitted it (PLAT-AICFG-31)."""
    alone: Alone = Alone.NO
    """What it has to itself: nothing runs there when it starts, and nothing else starts there while it runs."""
    max_on_device: int = 0
    """So many shares, its own among them, are on each of its devices at most while it is there; 0 is no bound."""
    shares_per_replica: int = 1
    storage: str = ""
    """The marks of the storages on which its volumes lie, with blanks between them; "" where it mounts none."""
    containers: str = ""
    """For which machines its container image is; "" where it has none."""
    packages: bool = False
    """Whether packages are to be installed for it."""
    scratch_disk_mib: int = 0
    program: str = ""
    """What must be installed where it runs; "" is nothing."""


class Grant(NamedTuple):
    """One share on one device, with the words of its request."""

    device_id: str
    node_id: str
    compute_percent: int
    memory_mib: int
    exclusive: bool = False
    affinity: str = ""
    anti_affinity: str = ""
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    scratch_disk_mib: int = 0
    alone: Alone = Alone.NO
    max_on_device: int = 0
    is_leaving: bool = False
    """Of work that is being stopped: it counts against no number of shares any more (PLAT-CLU-57)."""


@dataclass(frozen=True, slots=True)
class RunningWorkload:
    """What one request holds now. `ends_at_s` is the known end, None when nobody knows it.

    Elastic work names `min_shares` and `shares`, the most it may grow to. While it is being resized,
    `target_shares` says to how many: grants beyond it are leaving, and count until they are gone.
    """

    id: str
    tenant_id: str
    queue_id: str
    grants: tuple[Grant, ...]
    ends_at_s: int | None = None
    priority: int = 0
    preemptible: bool = False
    started_at_s: int = 0
    checkpoint_at_s: int | None = None
    """What it did since then is lost when it is stopped; None: all since its start."""
    min_run_s: int = 0
    """It is not preempted before it ran so long (the longer of this and the policy's counts)."""
    cost_per_hour_micros: int = 0
    shares: int = 0
    min_shares: int | None = None
    target_shares: int | None = None
    resized_at_s: int | None = None
    movable: bool = False
    """A session whose shares may be moved to other devices while it runs."""
    moving: frozenset[int] = frozenset()
    """Its grants, by place, that are being moved away; what they move to is among its grants too."""
    preempted: bool = False
    """It is being stopped: it counts until it is gone, and is never chosen again."""
    preempted_count: int = 0
    """How often it was preempted before (ELA-812)."""
    asks: Request | None = None
    """What it asked for; growing and moving need it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The operators' choice (PLAT-AICFG-18).

    `backfill`: True lets later requests of a queue pass a head that waits for room; False holds the queue
    behind it. With backfill, a head that has waited `patience_s` holds its queue all the same, so that it
    cannot starve (ELA-704); None lets it wait for ever. `aging_s`: with priority ordering each full period of
    waiting counts as one priority more; None switches aging off.

    `reserved_starts`: for so many of a queue's first requests without room a start is worked out from the known
    ends, and what passes them must not delay it; 0 is none.
    `preempt_limit`: work that was preempted so often is left alone (ELA-812). `half_life_s`: past use counts half
    after it; the shell lets it fade. `ahead_s`: in FAIR_SHARE each card in use counts as so many card-seconds
    beside the past. `hysteresis_s`: work resized more recently is not grown.
    """

    ordering: Ordering = Ordering.FIRST_COME
    placing: Placing = Placing.SPREAD
    backfill: bool = True
    patience_s: int | None = 3600
    aging_s: int | None = None
    reserved_starts: int = 1
    preemption: bool = False
    reclaim: bool = True
    grace_s: int = 30
    min_run_s: int = 0
    preempt_limit: int | None = 5
    consolidate: bool = False
    max_moves: int = 4
    """At most so many moves in one cycle."""
    elastic: bool = True
    """Running elastic work grows into what is left, and gives it back when others wait."""
    hysteresis_s: int = 300
    half_life_s: int = 7 * 86_400
    ahead_s: int = 600


@dataclass(frozen=True, slots=True)
class Reservation:
    """Devices kept for a tenant, a queue or for those who name it, from `from_s` to before `to_s`.

    With neither tenant nor queue it is open to those who name it in `reservation_id`; `closed` to everybody:
    maintenance. It names devices, which it takes whole, or a `count` of devices with so much on each.
    """

    id: str
    from_s: int
    to_s: int
    tenant_id: str | None = None
    queue_id: str | None = None
    device_ids: frozenset[str] = frozenset()
    count: int = 0
    compute_percent: int = WHOLE_CARD_PERCENT
    memory_mib: int = 0
    models: frozenset[str] = frozenset()
    node_id: str | None = None
    resource_group: str | None = None
    labels: Labels = NO_LABELS
    closed: bool = False


@dataclass(frozen=True, slots=True)
class RunHistory:
    """How long such work ran before: one in ten ended by `p10_s`, half by `p50_s`, nine in ten by `p90_s`.

    The most specific row that matches counts; None matches all.
    """

    p10_s: int
    p50_s: int
    p90_s: int
    tenant_id: str | None = None
    queue_id: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The pool at one instant. The order inside the tuples does not matter.

    `past_use`: card-seconds of tenants, faded to this instant. `tenant_weights`: shares of FAIR_SHARE and
    DOMINANT_SHARE, 1 where not named; a tenant of 0 is served when no other can be (ELA-1005).
    `holds`: the holds of kind NOMINATED of the last plan, given back until their requests are placed.
    `mix`: the kinds of work that arrived lately, for FRAGMENTATION; none is taken for the usual slices.
    """

    nodes: tuple[Node, ...] = ()
    devices: tuple[Device, ...] = ()
    queues: tuple[Queue, ...] = ()
    running: tuple[RunningWorkload, ...] = ()
    requests: tuple[Request, ...] = ()
    tenant_quotas: tuple[tuple[str, Quota], ...] = ()
    policy: Policy = field(default_factory=Policy)
    reservations: tuple[Reservation, ...] = ()
    past_use: tuple[tuple[str, int], ...] = ()
    tenant_weights: tuple[tuple[str, int], ...] = ()
    holds: tuple[Hold, ...] = ()
    history: tuple[RunHistory, ...] = ()
    mix: tuple[Typical, ...] = ()


class Placement(NamedTuple):
    """Start this request on these shares."""

    request_id: str
    tenant_id: str
    queue_id: str
    grants: tuple[Grant, ...]
    policy: Placing


@dataclass(frozen=True, slots=True)
class Hold:
    """Room on these devices is kept for the request from `start_at_s` on."""

    request_id: str
    start_at_s: int
    grants: tuple[Grant, ...]
    kind: HoldKind = HoldKind.RESERVED_START


@dataclass(frozen=True, slots=True)
class Preemption:
    """Stop this work, after its grace, so that the request may start. `reason`: "priority", "reclaim" or
    "fair_share"."""

    running_id: str
    for_request_id: str
    reason: str
    lost_card_seconds: int
    lost_micros: int


@dataclass(frozen=True, slots=True)
class ElasticChange:
    """Bring this elastic work to so many shares. Shrinking gives up the last grants; growing adds `grants`."""

    running_id: str
    shares: int
    grants: tuple[Grant, ...] = ()
    for_request_id: str | None = None
    """Who gets what a shrinking frees."""


@dataclass(frozen=True, slots=True)
class Move:
    """Move one share of running work to another device."""

    running_id: str
    share: int
    from_device_id: str
    to: Grant
    for_request_id: str


@dataclass(frozen=True, slots=True)
class Eta:
    """An expected start, None where none can be given. `reason`: what the request waits for now.

    `earliest_s` and `latest_s`: the interval in which it starts nine times in ten by the history of such work;
    both are None where there is no history, or no start.
    """

    start_at_s: int | None
    basis: EtaBasis
    reason: Reason | None = None
    earliest_s: int | None = None
    latest_s: int | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What a dry run says: the start at full share, and what could be had at once instead.

    `percent_now`: the most compute of one share with which all shares would start now; `shares_now`: the most
    shares of full size. 0 is none.
    """

    eta: Eta
    percent_now: int
    shares_now: int
