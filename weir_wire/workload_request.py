"""What a workload may ask for: the one declaration that API, bulk, form, command line and SDK are made of.

A field is declared once, with its type and default here or in `requested_program`, and an `Ask` as its metadata. What
is checked beyond types and lengths (bounds, what goes with what) is checked where the workload is taken in, alike for
every way in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from weir_wire.asks import WORD, Ask, count, flag, instant, names, text
from weir_wire.requested_program import RequestedProgram

YEAR_S = 366 * 24 * 3600
_SHARES = (1, 512)


@dataclass(frozen=True, slots=True)
class WorkloadRequest(RequestedProgram):
    """What somebody asks for who submits work directly; amounts are per share.

    Each `shares_per_replica` of its shares are a replica, on one node; how many it wants, and at the least, may be said
    in shares or in `replicas` (ELA-505).
    `environment` and `spec` decide the amounts where they say so. `node` and `local_node` are names or uids.
    `wait_for_quota` lets it wait until the tenant's quota has room, instead of being refused (POOL-12.6). Without a
    `priority` it has that of who submits it, without a `queue` it goes to the default one. With `oversubscribe` it
    shares its devices where its queue leaves that to it (PLAT-CLU-55). With `min_shares` it is elastic (ELA-901).
    It waits for what `after` and the like name of its tenant: numbers of work or of arrays, uids, keys of the
    submitter's own. `client_key`: asked twice with the same one it is one workload.
    """

    spec: str = field(default="", metadata=text(48, help="A specification, instead of share and memory."))
    environment: str = field(
        default="", metadata=text(80, help="An environment; a fixed one decides the amounts.")
    )
    compute_percent: int | None = field(
        default=None,
        metadata=count(
            option="share",
            # Inside of work, which is told its own; WEIR_SHARE is there which of its shares it is.
            env="WEIR_COMPUTE_PERCENT",
            help="Compute, in percent of one device.",
            label="Compute (%)",
            offered=(1, 100),
            shown=30,
        ),
    )
    memory_mib: int | None = field(
        default=None,
        metadata=count(
            most=2**40,
            option="memory",
            env="WEIR_MEMORY_MIB",
            unit="memory",
            help="Accelerator memory: 4Gi, 512Mi, or a number of MiB.",
            label="Accelerator memory",
            offered=(1, WORD - 1),
            shown=1024,
        ),
    )
    mig_profile: str = field(
        default="",
        metadata=text(
            32,
            option="mig",
            help="A MIG profile by its name, instead of share and memory: 1g.10gb.",
        ),
    )
    shares: int | None = field(
        default=None,
        metadata=count(
            help="How many such shares, all or none.",
            label="Shares",
            hint="All start together, or none.",
            offered=_SHARES,
            shown=1,
        ),
    )
    replicas: int | None = field(
        default=None, metadata=count(help="How many replicas, of --per-replica shares each.")
    )
    shares_per_replica: int = field(
        default=1,
        metadata=count(
            most=WORD - 1,
            option="per_replica",
            help="So many shares are a replica, on one node together.",
            label="Shares of a replica",
            hint="So many lie on one node together: 16 shares with 8 of a replica are 2 replicas.",
            offered=_SHARES,
            shown=1,
        ),
    )
    whole_cards: bool = field(
        default=False, metadata=flag(option="whole", help="Whole physical cards.", label="Whole cards")
    )
    distinct_devices: bool = field(
        default=False,
        metadata=flag(
            option="distinct", help="Each share on a device of its own.", label="Each share on its own device"
        ),
    )
    single_node: bool = field(
        default=False, metadata=flag(help="All shares on one node.", label="All on one node")
    )
    queue: str = field(default="", metadata=text(48, help="The queue to wait in; left out: the default one."))
    business_system: str = field(
        default="", metadata=text(48, short="b", help="Business system: number or uid; else your default.")
    )
    priority: int | None = field(
        default=None,
        metadata=count(
            most=WORD - 1,
            help="Higher goes first where the queue is ordered by priority; else your own.",
            label="Priority",
            hint="Empty: your own.",
            offered=(-1000, 1000),
        ),
    )
    urgent: bool = field(
        default=False,
        metadata=flag(help="Goes before all that is not urgent; only for who may.", label="Urgent task"),
    )
    preemptible: bool = field(
        default=False,
        metadata=flag(
            help="May be stopped for more important work, and goes on later.",
            label="May be stopped for more important work",
            hint="Other work is stopped only where a queue takes its guarantee back.",
        ),
    )
    oversubscribe: bool = field(
        default=False,
        metadata=flag(
            help="Shares its devices, where its queue leaves that to it.",
            label="Shares its devices, where its queue leaves that to it",
        ),
    )
    min_shares: int | None = field(
        default=None,
        metadata=count(
            help="Elastic: starts with so many shares, and grows to --shares while there is room.",
            label="Shares at least",
            hint="Elastic: starts with so many and grows while there is room.",
            offered=_SHARES,
        ),
    )
    min_replicas: int | None = field(
        default=None,
        metadata=count(
            help="Elastic: starts with so many replicas, and grows to --replicas while there is room."
        ),
    )
    host_cpu_milli: int = field(
        default=0,
        metadata=count(
            0, WORD - 1, option="cpu", unit="cores", help="Processor cores beside each share: 2, 0.5."
        ),
    )
    host_memory_mib: int = field(
        default=0,
        metadata=count(
            0,
            WORD - 1,
            option="host_memory",
            unit="memory",
            help="Main memory beside each share: 8Gi, or a number of MiB.",
        ),
    )
    scratch_disk_mib: int = field(
        default=0,
        metadata=count(
            0,
            WORD - 1,
            option="disk",
            unit="memory",
            help="Scratch disk kept for each share on its node: 20Gi, or a number of MiB.",
            label="Scratch disk",
            hint="Kept for its own folder and its temporary files on its node; 0: what its node allows.",
            offered=(0, WORD - 1),
            shown=0,
        ),
    )
    earliest_start_at: datetime | None = field(
        default=None,
        metadata=instant(
            option="not_before",
            unit="instant",
            help="Starts no earlier: 18:00, 2026-12-01T08:00, or 2h from now.",
            label="Starts at the earliest",
        ),
    )
    deadline_at: datetime | None = field(
        default=None,
        metadata=instant(
            option="deadline",
            unit="instant",
            help="Must have ended by then: 18:00, 2026-12-01T08:00, or 2h from now.",
            label="Deadline",
        ),
    )
    array: str = field(
        default="",
        metadata=text(
            64,
            help="A task for each number, told as WEIR_ARRAY_INDEX: 0-99, 0-99%8 (eight at once), 0,3,7-9, 0-20:4.",
            label="Array",
            hint="A task for each number: 0-99, 0-99%8 (eight at once), 0,3,7-9, 0-20:4.",
        ),
    )
    after: tuple[str, ...] = field(
        default=(),
        metadata=names(
            help="Starts once this other work has started: its number, or several with commas.",
            label="After these have started",
            hint="Numbers of other work, with commas between them.",
        ),
    )
    after_ok: tuple[str, ...] = field(
        default=(),
        metadata=names(
            help="Starts once this other work has finished well; ends where that can never be.",
            label="After these have finished well",
            hint="It ends where that can never be.",
        ),
    )
    after_any: tuple[str, ...] = field(
        default=(),
        metadata=names(
            help="Starts once this other work has ended, however that was.", label="After these have ended"
        ),
    )
    after_not_ok: tuple[str, ...] = field(
        default=(),
        metadata=names(
            help="Starts once this other work has ended and not well.",
            label="After these have ended, and not well",
        ),
    )
    purpose: str = field(
        default="", metadata=text(16, help="training, development, inference or visualization.")
    )
    any_models: tuple[str, ...] = field(default=(), metadata={"ask": Ask("names", most=200, parts=32)})
    reservation: str = field(default="", metadata=text(80))
    client_key: str = field(default="", metadata=text(64))
    max_attempts: int = field(
        default=1,
        metadata=count(
            1,
            100,
            option="retries",
            unit="retries",
            help="So often it is tried again where it fails by itself: it crashed, or its node did.",
        ),
    )
    retry_delay_s: int = field(
        default=30,
        metadata=count(
            0,
            YEAR_S,
            option="retry_delay",
            unit="duration",
            help="So long before the first of them, twice as long before each next: 30s, 5m.",
        ),
    )
    vendor: str = field(default="", metadata=text(64, help="The vendor wanted."))
    model: str = field(default="", metadata=text(200, help="The card model wanted."))
    node: str = field(default="", metadata=text(200, help="The node wanted."))
    device: str = field(default="", metadata=text(100, help="The very device wanted."))
    resource_group: str = field(
        default="", metadata=text(48, option="group", help="The resource group to use.")
    )
    affinity: str = field(default="", metadata=text(64, help="Share one device with work of the same word."))
    anti_affinity: str = field(default="", metadata=text(64, help="Keep off devices with work of this word."))
    placing: str = field(default="", metadata=text(16, help="How it is placed, instead of the queue's way."))
    local_node: str = field(default="", metadata=text(200, help="The node that counts as local."))
    run_timeout_s: int | None = field(
        default=None,
        metadata=count(
            1, YEAR_S, option="run_timeout", unit="duration", help="Ended after so long: 30s, 2h."
        ),
    )
    idle_timeout_s: int | None = field(
        default=None,
        metadata=count(
            1,
            YEAR_S,
            option="idle_timeout",
            unit="duration",
            help="Released after so long without use: 30s, 10m.",
        ),
    )
    requeue_on_loss: bool = field(
        default=False,
        metadata=flag(
            option="requeue",
            help="Queued again when its node is lost.",
            label="Queued again when its node is lost",
        ),
    )
    driver: str = field(default="", metadata=text(64))
    wait_for_quota: bool = field(
        default=False,
        metadata=flag(help="Wait where the quota is used up.", label="Waits where the quota is used up"),
    )


def asks(declared: type[Any] = WorkloadRequest) -> dict[str, Ask]:
    """By field, in the order of the declaration: how it is asked for."""
    return {each.name: each.metadata["ask"] for each in fields(declared)}
