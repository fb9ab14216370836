"""What a workload may ask for: the one declaration that API, bulk, form, command line and SDK are made of.

A field is declared once, with its type and default here and an `Ask` as its metadata. What is checked beyond types and
lengths (bounds, what goes with what) is checked where the workload is taken in, alike for every way in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

from weir_wire.end_warning import warning_of

YEAR_S = 366 * 24 * 3600
WORD = 2**31

Kind = Literal["text", "choice", "count", "flag", "instant", "words", "names", "variables"]
Unit = Literal[
    "", "memory", "cores", "duration", "instant", "signal", "command", "variables", "names", "retries"
]


@dataclass(frozen=True, slots=True)
class Ask:
    """How a field is asked for.

    Attributes:
        kind: what its value is; `words` is a list of texts, which may be empty, `names` one of names, `variables` names
            with values.
        least, most: of a count its bounds on the wire; of texts the most characters, of words those of each.
        parts: so many words at most.
        choices: of a choice.
        option: what the command line calls it, when not by its name; `short` in a letter.
        help: what the command line says of it; without it there is no option.
        unit: how it is typed on the command line.
        env: the variable of the environment that gives the option.
        label, hint: what the form says of it, in English; without a label the form has no such plain field.
        offered: the bounds of the form; `shown`: what stands there at first.
    """

    kind: Kind
    least: int | None = None
    most: int = 0
    parts: int = 0
    choices: tuple[str, ...] = ()
    option: str = ""
    short: str = ""
    help: str = ""
    unit: Unit = ""
    env: str = ""
    label: str = ""
    hint: str = ""
    offered: tuple[int, int] | None = None
    shown: int | None = None


def _text(most: int, **more: Any) -> Mapping[str, Ask]:
    return {"ask": Ask("text", most=most, **more)}


def _count(least: int = -WORD, most: int = WORD, **more: Any) -> Mapping[str, Ask]:
    return {"ask": Ask("count", least, most, **more)}


def _flag(**more: Any) -> Mapping[str, Ask]:
    return {"ask": Ask("flag", **more)}


def _instant(**more: Any) -> Mapping[str, Ask]:
    return {"ask": Ask("instant", **more)}


def _words(most: int, parts: int, **more: Any) -> Mapping[str, Ask]:
    return {"ask": Ask("words", most=most, parts=parts, **more)}


def _names(most: int = 64, parts: int = 256, **more: Any) -> Mapping[str, Ask]:
    """What something is called: other work, where nothing else is said."""
    return {"ask": Ask("names", most=most, parts=parts, unit="names", **more)}


_SHARES = (1, 512)
_LINE = 32_768


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """What somebody asks for who submits work directly; amounts are per share.

    Each `shares_per_replica` of its shares are a replica, on one node; how many it wants, and at the least, may be said
    in shares or in `replicas` (ELA-505).
    `environment` and `spec` decide the amounts where they say so. `node` and `local_node` are names or uids.
    `wait_for_quota` lets it wait until the tenant's quota has room, instead of being refused (POOL-12.6). Without a
    `priority` it has that of who submits it, without a `queue` it goes to the default one. With `oversubscribe` it
    shares its devices where its queue leaves that to it (PLAT-CLU-55). With `min_shares` it is elastic (ELA-901).
    Before it is stopped to go on later its program is sent `checkpoint_signal`, or `checkpoint_command` runs beside
    it (ELA-810). It waits for what `after` and the like name of its tenant: numbers of work or of arrays, uids, keys of
    the submitter's own. `volumes` are mounted where it runs: a name or uid, then where, then `ro`; `assets` are
    mounted read-only: a name, a version, then where; `outputs` is the
    volume, by name or uid, that keeps what it leaves in its folder `outputs`. `client_key`: asked twice with the same
    one it is one workload. `folder`: digest of a folder sent before (`folder-uploads`), a copy of which the program
    begins in.
    """

    name: str = field(metadata=_text(120))
    kind: str = field(default="program", metadata={"ask": Ask("choice", choices=("program", "session"))})
    argv: tuple[str, ...] = field(default=(), metadata=_words(_LINE, 256))
    env: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "ask": Ask(
                "variables",
                most=_LINE,
                short="e",
                unit="variables",
                help="NAME=value for the program, once each; NAME alone passes yours.",
            )
        },
    )
    secrets: tuple[str, ...] = field(
        default=(),
        metadata={
            "ask": Ask(
                "names",
                most=128,
                parts=64,
                option="secret",
                unit="names",
                help="Secrets for its environment, by name: set by `weir secret set NAME`.",
                label="Secrets",
                hint="Names of secrets, with commas; each is a variable of the program.",
            )
        },
    )
    spec: str = field(default="", metadata=_text(48, help="A specification, instead of share and memory."))
    environment: str = field(
        default="", metadata=_text(80, help="An environment; a fixed one decides the amounts.")
    )
    compute_percent: int | None = field(
        default=None,
        metadata=_count(
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
        metadata=_count(
            most=2**40,
            option="memory",
            env="WEIR_MEMORY_MIB",
            unit="memory",
            help="Accelerator memory: 4Gi, 512Mi, or a number of MiB.",
            label="Memory (MiB)",
            offered=(1, WORD - 1),
            shown=1024,
        ),
    )
    shares: int | None = field(
        default=None,
        metadata=_count(
            help="How many such shares, all or none.",
            label="Shares",
            hint="All start together, or none.",
            offered=_SHARES,
            shown=1,
        ),
    )
    replicas: int | None = field(
        default=None, metadata=_count(help="How many replicas, of --per-replica shares each.")
    )
    shares_per_replica: int = field(
        default=1,
        metadata=_count(
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
        default=False, metadata=_flag(option="whole", help="Whole physical cards.", label="Whole cards")
    )
    distinct_devices: bool = field(
        default=False,
        metadata=_flag(
            option="distinct", help="Each share on a device of its own.", label="Each share on its own device"
        ),
    )
    single_node: bool = field(
        default=False, metadata=_flag(help="All shares on one node.", label="All on one node")
    )
    queue: str = field(
        default="", metadata=_text(48, help="The queue to wait in; left out: the default one.")
    )
    web: bool = field(
        default=False,
        metadata=_flag(
            help="Serves web pages on the socket that WEIR_WEB_SOCKET names; `weir open` opens them.",
            label="Serves web pages",
            hint="On the socket that WEIR_WEB_SOCKET names; its page in the portal opens them.",
        ),
    )
    volumes: tuple[str, ...] = field(
        default=(),
        metadata=_names(
            400,
            16,
            option="volume",
            help="A volume to mount: NAME, NAME:PATH, NAME:ro, NAME:PATH:ro; several with commas.",
            label="Volumes",
            hint="Names with commas between them. Each is found at /volumes/NAME, or where NAME:/data says; with"
            " :ro behind it nothing can be written there.",
        ),
    )
    assets: tuple[str, ...] = field(
        default=(),
        metadata=_names(
            400,
            16,
            option="asset",
            help="An asset to mount read-only: NAME, NAME:VERSION, dataset/NAME:VERSION:PATH; several with commas.",
            label="Assets",
            hint="Names with commas between them, each with a version: digits:2. A model is found at /models/NAME,"
            " a dataset at /datasets/NAME, an algorithm at /workspace/NAME.",
        ),
    )
    outputs: str = field(
        default="",
        metadata=_text(
            120,
            help="A volume: what it leaves in its folder `outputs` (WEIR_OUTPUTS) is kept there after its end.",
            label="Keep outputs in volume",
            hint="What it leaves in its folder outputs, which WEIR_OUTPUTS names, is kept there after its end.",
        ),
    )
    business_system: str = field(
        default="", metadata=_text(48, short="b", help="Business system: number or uid; else your default.")
    )
    image: str = field(
        default="",
        metadata=_text(
            100,
            help="The container image that it runs in: NAME, NAME:TAG, or the uid of a version.",
            label="Container image",
            hint="Name and tag, mine:1; without a tag the newest. Empty: it runs in what its node has installed.",
        ),
    )
    priority: int | None = field(
        default=None,
        metadata=_count(
            most=WORD - 1,
            help="Higher goes first where the queue is ordered by priority; else your own.",
            label="Priority",
            hint="Empty: your own.",
            offered=(-1000, 1000),
        ),
    )
    urgent: bool = field(
        default=False,
        metadata=_flag(help="Goes before all that is not urgent; only for who may.", label="Urgent task"),
    )
    preemptible: bool = field(
        default=False,
        metadata=_flag(
            help="May be stopped for more important work, and goes on later.",
            label="May be stopped for more important work",
            hint="Other work is stopped only where a queue takes its guarantee back.",
        ),
    )
    oversubscribe: bool = field(
        default=False,
        metadata=_flag(
            help="Shares its devices, where its queue leaves that to it.",
            label="Shares its devices, where its queue leaves that to it",
        ),
    )
    checkpoint_signal: str = field(
        default="",
        metadata=_text(
            8,
            unit="signal",
            help="Sent to the program so that it saves itself before it is stopped to go on later: USR1, HUP.",
        ),
    )
    checkpoint_command: tuple[str, ...] = field(
        default=(),
        metadata=_words(
            _LINE,
            256,
            unit="command",
            help="Run beside the program instead; it ends with 0 once all is saved.",
        ),
    )
    min_shares: int | None = field(
        default=None,
        metadata=_count(
            help="Elastic: starts with so many shares, and grows to --shares while there is room.",
            label="Shares at least",
            hint="Elastic: starts with so many and grows while there is room.",
            offered=_SHARES,
        ),
    )
    min_replicas: int | None = field(
        default=None,
        metadata=_count(
            help="Elastic: starts with so many replicas, and grows to --replicas while there is room."
        ),
    )
    host_cpu_milli: int = field(
        default=0,
        metadata=_count(
            0, WORD - 1, option="cpu", unit="cores", help="Processor cores beside each share: 2, 0.5."
        ),
    )
    host_memory_mib: int = field(
        default=0,
        metadata=_count(
            0,
            WORD - 1,
            option="host_memory",
            unit="memory",
            help="Main memory beside each share: 8Gi, or a number of MiB.",
        ),
    )
    earliest_start_at: datetime | None = field(
        default=None,
        metadata=_instant(
            option="not_before",
            unit="instant",
            help="Starts no earlier: 18:00, 2026-12-01T08:00, or 2h from now.",
            label="Starts at the earliest",
        ),
    )
    deadline_at: datetime | None = field(
        default=None,
        metadata=_instant(
            option="deadline",
            unit="instant",
            help="Must have ended by then: 18:00, 2026-12-01T08:00, or 2h from now.",
            label="Deadline",
        ),
    )
    array: str = field(
        default="",
        metadata=_text(
            64,
            help="A task for each number, told as WEIR_ARRAY_INDEX: 0-99, 0-99%8 (eight at once), 0,3,7-9, 0-20:4.",
            label="Array",
            hint="A task for each number: 0-99, 0-99%8 (eight at once), 0,3,7-9, 0-20:4.",
        ),
    )
    after: tuple[str, ...] = field(
        default=(),
        metadata=_names(
            help="Starts once this other work has started: its number, or several with commas.",
            label="After these have started",
            hint="Numbers of other work, with commas between them.",
        ),
    )
    after_ok: tuple[str, ...] = field(
        default=(),
        metadata=_names(
            help="Starts once this other work has finished well; ends where that can never be.",
            label="After these have finished well",
            hint="It ends where that can never be.",
        ),
    )
    after_any: tuple[str, ...] = field(
        default=(),
        metadata=_names(
            help="Starts once this other work has ended, however that was.", label="After these have ended"
        ),
    )
    after_not_ok: tuple[str, ...] = field(
        default=(),
        metadata=_names(
            help="Starts once this other work has ended and not well.",
            label="After these have ended, and not well",
        ),
    )
    purpose: str = field(
        default="", metadata=_text(16, help="training, development, inference or visualization.")
    )
    any_models: tuple[str, ...] = field(default=(), metadata={"ask": Ask("names", most=200, parts=32)})
    reservation: str = field(default="", metadata=_text(80))
    client_key: str = field(default="", metadata=_text(64))
    folder: str = field(default="", metadata=_text(64))
    max_attempts: int = field(
        default=1,
        metadata=_count(
            1,
            100,
            option="retries",
            unit="retries",
            help="So often it is tried again where it fails by itself: it crashed, or its node did.",
        ),
    )
    retry_delay_s: int = field(
        default=30,
        metadata=_count(
            0,
            YEAR_S,
            option="retry_delay",
            unit="duration",
            help="So long before the first of them, twice as long before each next: 30s, 5m.",
        ),
    )
    vendor: str = field(default="", metadata=_text(64, help="The vendor wanted."))
    model: str = field(default="", metadata=_text(200, help="The card model wanted."))
    node: str = field(default="", metadata=_text(200, help="The node wanted."))
    device: str = field(default="", metadata=_text(100, help="The very device wanted."))
    resource_group: str = field(
        default="", metadata=_text(48, option="group", help="The resource group to use.")
    )
    affinity: str = field(default="", metadata=_text(64, help="Share one device with work of the same word."))
    anti_affinity: str = field(
        default="", metadata=_text(64, help="Keep off devices with work of this word.")
    )
    placing: str = field(default="", metadata=_text(16, help="How it is placed, instead of the queue's way."))
    local_node: str = field(default="", metadata=_text(200, help="The node that counts as local."))
    run_timeout_s: int | None = field(
        default=None,
        metadata=_count(
            1, YEAR_S, option="run_timeout", unit="duration", help="Ended after so long: 30s, 2h."
        ),
    )
    signal: str = field(
        default="",
        metadata=_text(
            16,
            help="Sent to the program before its run time is over: USR1@60, a name or number and seconds before.",
            label="Signal before its time is over",
            hint="USR1@60: a name or a number, and so many seconds before.",
        ),
    )
    idle_timeout_s: int | None = field(
        default=None,
        metadata=_count(
            1,
            YEAR_S,
            option="idle_timeout",
            unit="duration",
            help="Released after so long without use: 30s, 10m.",
        ),
    )
    requeue_on_loss: bool = field(
        default=False,
        metadata=_flag(
            option="requeue",
            help="Queued again when its node is lost.",
            label="Queued again when its node is lost",
        ),
    )
    driver: str = field(default="", metadata=_text(64))
    wait_for_quota: bool = field(
        default=False,
        metadata=_flag(help="Wait where the quota is used up.", label="Waits where the quota is used up"),
    )

    @property
    def work(self) -> dict[str, Any]:
        """What its node is to run, how it is asked to save itself and warned of its end, and whether it serves web
        pages; the signal was checked (`warning_of`)."""
        work: dict[str, Any] = {"argv": list(self.argv), "env": dict(self.env)}
        if self.checkpoint_signal or self.checkpoint_command:
            argv = list(self.checkpoint_command)
            work["checkpoint"] = {"signal": self.checkpoint_signal, "argv": argv}
        if self.signal:
            name, before_s = warning_of(self.signal)
            work["warning"] = {"signal": name, "before_s": before_s}
        if self.web:
            work["web"] = True
        if self.outputs:
            work["outputs"] = True
        return work


def asks(declared: type[Any] = WorkloadRequest) -> dict[str, Ask]:
    """By field, in the order of the declaration: how it is asked for."""
    return {each.name: each.metadata["ask"] for each in fields(declared)}
