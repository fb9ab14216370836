"""The three records of a slice: what to run, what is wanted of it now, what the shim observes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

TERMINAL = frozenset({"exited", "failed"})
UNBOUNDED_MIB = 2**40
"""More memory than any host has: no limit was asked for."""


def cores_for(cpu_milli: int) -> int:
    """The least whole number of cores that has so many thousandths of one."""
    return max(1, -(-cpu_milli // 1000))


class _Record:
    """Reads itself from JSON; fields it does not know are left out, missing ones refused."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Raises TypeError or ValueError where a field is missing or of another kind."""
        names = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        return cls(**{key: item for key, item in value.items() if key in names})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True, slots=True)
class SliceSpec(_Record):
    """What the shim starts, fixed for the life of the slice except for its share, memory and session.

    `vendor` names the device meter; `cores` is the size of the device in CPU cores; `work_uid` the user the work runs
    as (None: the agent's); `lib_dir` holds what `python -m node_agent...` may import. The slice driver adds
    `driver_env`, which nothing overrides, says whether the shim throttles the work, and names who enforces its limits
    ("": the device meter). `metered_uid` is what the vendor measures by ("": the device). A session listens on `bind`
    and is reached at `host`. `peer_usage_dir` is where the works of one device tell each other what they use. `size` is
    what work of several shares is told of them at first, `checkpoint` how it is asked to save itself, `warning` the
    signal before its run time is over. `isolation` is how it is kept apart (`isolation.levels`), `paths` what else of
    the node it may read; `disk_mib` what it may keep on the node's disk (0: not watched), all of it its own where
    `has_scratch_disk` (it asked for so much). `host_cpu_milli` and `host_memory_mib` are what it may use of the host
    beside its share (0: nothing was said): where its device is the processor, it is held to both together. With a share
    of 0 it runs on the host alone, and these are its limits. `folder` names the work folder it runs in, `home` is where
    that lies ("": the slice's own). `web`: it serves web pages on its socket. `interface`: the network interface by
    which other nodes reach this one ("": not known). `volumes`: folders of the node that the work finds elsewhere, as
    `source`, `path` and `read_only`; one that `is_sold` is a volume of the centre's and held to its size. `image`: it
    runs in a container, of the image unpacked at `root`, with the variables `env`,
    and by its `digest`; it begins in `workdir` ("": its own folder), and is called as the `user` whom the image names.
    `service`: how it is kept alive and looked at. `packages`: what is installed for it before it starts: by its `key`
    in the folder `home`, which keeps `most_mib`, the lines `requirements`, from `index` by `pip`, in `network`.
    `network`: the one that it has of its own (see `NetworkWanted`; None: its node's). `secrets`: more of its
    environment, which only the shim has and nobody writes down.
    """

    slice_uid: str
    generation: int
    device_uid: str
    vendor: str
    cores: int
    compute_percent: int
    memory_mib: int
    argv: list[str]
    env: dict[str, str]
    run_timeout_s: int | None
    grace_s: int
    meter_s: int
    log_limit_bytes: int
    work_uid: int | None = None
    lib_dir: str = ""
    kind: str = "program"
    idle_timeout_s: int | None = None
    session: dict[str, Any] | None = None
    host: str = ""
    bind: str = ""
    detach_s: int = 60
    torch_device: str = "cpu"
    driver: str = ""
    driver_env: dict[str, str] = field(default_factory=dict)
    is_throttled: bool = True
    memory_enforced_by: str = ""
    compute_enforced_by: str = ""
    metered_uid: str = ""
    device_memory_mib: int = 0
    peer_usage_dir: str = ""
    size: dict[str, Any] | None = None
    checkpoint: dict[str, Any] | None = None
    warning: dict[str, Any] | None = None
    isolation: str = "none"
    paths: list[str] = field(default_factory=list)
    disk_mib: int = 0
    has_scratch_disk: bool = False
    host_cpu_milli: int = 0
    host_memory_mib: int = 0
    folder: str = ""
    home: str = ""
    web: bool = False
    interface: str = ""
    volumes: list[dict[str, Any]] = field(default_factory=list)
    has_outputs: bool = False
    image: dict[str, Any] | None = None
    service: dict[str, Any] | None = None
    packages: dict[str, Any] | None = None
    network: dict[str, Any] | None = None
    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_session(self) -> bool:
        return self.kind == "session"

    @property
    def is_on_host(self) -> bool:
        """Whether it runs on the host alone, without a share of the device."""
        return not self.compute_percent

    @property
    def added_percent(self) -> float:
        """What it has of the host beside its share, in percent of a device that is the processor; 0 on a card, where
        the host is held by itself."""
        return self.host_cpu_milli / 10 / self.cores if self.vendor == "cpu" else 0.0

    @property
    def added_mib(self) -> int:
        """What it has of main memory beside a share that is main memory too, and is held as one with it; a session's
        worker accounts its share by itself."""
        return self.host_memory_mib if self.vendor == "cpu" and not self.is_session else 0

    @property
    def limit_percent(self) -> float:
        """What it is held to, in percent of `cores` cores, or of its device."""
        return self.compute_percent + self.added_percent

    @property
    def limit_mib(self) -> int:
        """The memory that it is held to: of its device with what is added to it, or on the host alone of the host."""
        return (self.memory_mib + self.added_mib) or UNBOUNDED_MIB

    @property
    def threads(self) -> int:
        """How many threads its libraries begin with: the cores it has of a CPU device and of the host, else those it
        has of the host."""
        if self.vendor == "cpu":
            return math.ceil(self.cores * self.limit_percent / 100)
        return cores_for(self.host_cpu_milli)

    def __post_init__(self) -> None:
        share = (self.host_cpu_milli,) if self.is_on_host else (self.compute_percent, self.memory_mib)
        numbers = (self.generation, self.meter_s, self.cores, *share)
        if not all(isinstance(number, int) and number >= 1 for number in numbers):
            raise ValueError("generation, share, memory, cores and metering period must be 1 or more")
        if not all(isinstance(word, str) for word in self.argv) or not (self.argv or self.is_session):
            raise ValueError("argv must name a program")
        if self.is_session and not isinstance(self.session, dict):
            raise ValueError("a session needs its token")


@dataclass(frozen=True, slots=True)
class Control(_Record):
    """What is wanted of a running slice now: its share, its memory, where its session goes, the size of its work,
    or its end; `saves`: it is asked to save itself before that. `run_timeout_s`: how long it may run in all from now
    on; None: as before."""

    generation: int
    compute_percent: int
    memory_mib: int
    state: str
    session: dict[str, Any] | None = None
    size: dict[str, Any] | None = None
    saves: bool = False
    run_timeout_s: int | None = None

    def __post_init__(self) -> None:
        if self.state not in ("running", "stopped"):
            raise ValueError("state must be running or stopped")
        if self.run_timeout_s is not None and self.run_timeout_s < 1:
            raise ValueError("it runs for a second at least")
        if not 0 <= self.compute_percent <= 100 or bool(self.compute_percent) != (self.memory_mib > 0):
            raise ValueError("the share is 1 to 100 percent with at least 1 MiB of memory, or none of either")


@dataclass(slots=True)
class ShimState(_Record):
    """What the shim observes; instants are ISO 8601 in UTC."""

    slice_uid: str
    generation: int
    device_uid: str
    compute_percent: int
    memory_mib: int
    shim_pid: int
    shim_start_ticks: int
    boot_id: str
    state: str = "starting"
    reason: str = ""
    reason_code: str = ""
    exit_code: int | None = None
    started_at: str | None = None
    ended_at: str | None = None
    memory_enforced_by: str = ""
    compute_enforced_by: str = ""
    delivered_percent: float | None = None
    memory_used_mib: int | None = None
    host_cpu_used_milli: int | None = None
    host_memory_used_mib: int | None = None
    host_enforced_by: str = ""
    mounted: bool = False
    driver: str = ""
    session: dict[str, Any] | None = None
    service: dict[str, Any] | None = None
    size_step: int = 0
    checkpoint_at: str | None = None
    work_pid: int = 0
    work_start_ticks: int = 0
    work_uid: int | None = None
    disk_used_mib: int | None = None
    disk_limit_mib: int | None = None
    has_scratch_disk: bool = False

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    def use_forget(self) -> None:
        """It uses nothing any more."""
        self.delivered_percent = self.memory_used_mib = None
        self.host_cpu_used_milli = self.host_memory_used_mib = None
