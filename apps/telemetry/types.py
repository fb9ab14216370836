"""What crosses telemetry's border."""

from dataclasses import dataclass
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
