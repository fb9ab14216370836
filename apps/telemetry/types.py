"""What crosses telemetry's border."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Measured:
    """One value of a subject's series at an instant."""

    series: str
    subject: str
    at: datetime
    value: float


class Point(NamedTuple):
    """A point of a chart."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a metric is now on one subject, for the alarm rules. `params` go into the title of an alarm."""

    metric: str
    subject: str
    name: str
    value: float
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metered:
    """A figure that is summed over time: watts, percent held, percent delivered.

    `kind` says what `subject` is: device, node, workload, tenant. `source` is how it is known, "" where it is ours.
    """

    series: str
    kind: str
    subject: str
    value: float
    tenant: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look at the rules did: counts."""

    fired: int = 0
    resolved: int = 0


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line for the log; `task` is a workload's uid, `priority` that task's."""

    text: str
    level: str = "info"
    component: str = ""
    node: str = ""
    task: str = ""
    tenant: str = ""
    priority: int | None = None
    at: datetime | None = None
