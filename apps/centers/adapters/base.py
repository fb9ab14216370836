"""What Weir asks of a centre of any kind, in one form; the adapter of its kind turns it into the centre's own calls.

One adapter object serves one centre. Its calls block, each question of theirs within `CallLimits`, hold no database
transaction and may be made again after any failure: a job is made under a key that becomes the engine's own name for
it, so a lost answer is looked for (`job_find`) before anything is sent again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class CenterError(Exception):
    """A call to a centre that did not do what was asked. `str()` of it is the cause, fit to be shown to an operator."""


class CenterRefused(CenterError):
    """The centre answered and does not do it: a wrong credential, a bad value, no such thing. Nothing changed there."""


class CenterUnreachable(CenterError):
    """No whole answer came: what was asked may have been done or not."""


class CenterBroken(CenterError):
    """An answer came that is not what such a centre says: cut, of another shape, too long, or against itself."""


class Ability(StrEnum):
    """What an adapter can do at its centre. What is not declared is not called."""

    JOBS = "jobs"
    LOGS = "logs"
    WATCH = "watch"
    USAGE = "usage"
    IMAGES = "images"
    DATA = "data"
    MACHINES = "machines"
    VOLUMES = "volumes"
    NETWORKS = "networks"


class JobState(StrEnum):
    """How far a job at a centre is. `UNKNOWN` is a word of the engine's that its adapter does not know."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


OVER = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.STOPPED})


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Bounds of one question to the centre: seconds to connect and to be answered in all, and bytes of an answer that
    are read; and of one `job_create`: seconds within which all its questions up to the sending itself are over."""

    connect_s: float = 5.0
    answer_s: float = 20.0
    create_s: float = 40.0
    answer_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Quantities:
    """Amounts of the resources of table 2: whole numbers; memory in MB, storage in GB."""

    cpu: int = 0
    gpu: int = 0
    npu: int = 0
    mlu: int = 0
    memory: int = 0
    storage: int = 0
    user_define: int = 0


@dataclass(frozen=True, slots=True)
class CenterResources:
    """What a centre holds and how much of it is in use now (tables 2 and 4)."""

    total: Quantities
    used: Quantities
    running_tasks: int
    waiting_tasks: int
    nodes: int
    # Of the engine: "slurm 22.05.8".
    version: str = ""


@dataclass(frozen=True, slots=True)
class JobMessage:
    """One replica of a task, as it is sent to a centre."""

    command: str
    quantities: Quantities
    environment: Mapping[str, str] = field(default_factory=dict)
    image: str = ""
    # Seconds that it may run; nothing: as long as the centre lets it.
    time_limit_s: int | None = None


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A job as the centre tells it. Times are aware; what has not been is None. `others`: the engine's ids of further
    jobs under the same key, of which there should be none; of several the first that was made is told."""

    key: str
    native_id: str
    state: JobState
    # The engine's own word for the state, and why: for people.
    native_state: str = ""
    message: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What the centre's own accounts say that one job used; `raw` is the record as it came, the evidence."""

    key: str
    native_id: str
    started_at: datetime
    ended_at: datetime
    quantities: Quantities
    raw: str


class CenterAdapter(Protocol):
    """The unified interface to one centre. Each call raises `CenterRefused`, `CenterUnreachable` or `CenterBroken`."""

    abilities: frozenset[Ability]
    # Of a key, in characters: what the engine takes as a name of its own.
    key_length: int

    def check(self) -> str:
        """Ask the centre who it is, with the credential; answers the engine and its version."""
        ...

    def resources(self) -> CenterResources:
        """What the centre holds and what of it is in use."""
        ...

    def job_create(self, message: JobMessage, key: str) -> str:
        """Send a job under `key`; answers the engine's own id. The same key again answers the job that there is.

        However many questions it takes, no request that may make the job is under way `CallLimits.create_s` after the
        call began: what the centre does not have soon after that is sent again.
        """
        ...

    def job_find(self, key: str) -> JobSeen | None:
        """The job of `key`, or None where the centre surely has none."""
        ...

    def job_get(self, native_id: str) -> JobSeen:
        """The job with the engine's id `native_id`."""
        ...

    def jobs(self, keys: Sequence[str]) -> Mapping[str, JobSeen]:
        """The jobs of `keys` that the centre knows, in as few calls as it lets."""
        ...

    def job_stop(self, native_id: str) -> None:
        """Ask that the job ends; one that is over stays as it is, and nothing is refused."""
        ...

    def job_log(self, native_id: str, offset: int, limit: int = 1024 * 1024) -> bytes:
        """At most `limit` bytes of the job's output from byte `offset`; nothing where there is no more yet."""
        ...

    def usage(self, since: datetime) -> Iterator[UsageRecord]:
        """What ended at or after `since` by the centre's own accounts, oldest first; one may come more than once."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
