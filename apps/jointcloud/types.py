"""What is asked for when a job is submitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """One task (table 8). `centers`: the codes of those that may run it; none is all. `duration_s`: how long it is
    expected to run; `deadline_at`: when it has to have ended. `may_split`: its replicas may go to several centres.
    `data`: what it reads, each as NAME or NAME:VERSION."""

    name: str
    command: str
    resourcespec: str
    image_id: str = ""
    replicas: int = 1
    centers: tuple[str, ...] = ()
    min_security_grade: int = 0
    deadline_at: datetime | None = None
    duration_s: int | None = None
    may_split: bool = False
    data: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job (table 7) with its tasks in order.

    `weights`: by policy, as parts of 1 ("0.25"); nothing: those in force. `is_gang`: all tasks find a centre, or none
    is sent. `success_policy`, `failure_policy`: names of the engine's rules. `retries`: how often it is tried again
    when it has failed, at least 2; nothing: never. `replaces_lost`: what is lost with its centre is placed anew.
    """

    name: str
    tasks: tuple[TaskRequest, ...]
    desc: str = ""
    job_type: str = "batch"
    priority: int = 0
    is_gang: bool = False
    weights: Mapping[str, str | int | Decimal] | None = None
    success_policy: str = "all_succeeded"
    failure_policy: str = "any_failed"
    retries: int | None = None
    replaces_lost: bool = True


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What is said of data: bytes, number of files, the digest ("sha256:…", or "" for not known), and whether it may be
    copied to other centres."""

    size_bytes: int
    files: int
    digest: str = ""
    may_move: bool = False


@dataclass(frozen=True, slots=True)
class CopyFacts:
    """What is said of a copy at a centre: see `DatasetCopy`, and table 6."""

    ai_center_id: str
    address: str
    access: str = "r"
    digest: str = ""
    rate_limit: int | None = None
    concurrency_limit: int | None = None
    succeeded: int = 0
    interrupted: int = 0
    failed: int = 0
    current_downloads: int = 0
    mean_time_s: int | None = None
    network_topology: str = ""
