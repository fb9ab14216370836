from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class QuotaFigures:
    """A quota item's figures (PLAT-TEN-11): `allocatable` = total - allocated; `left` is what may be asked."""

    item: str
    total: int
    allocated: int
    used: int
    in_process: int

    @property
    def allocatable(self) -> int:
        return self.total - self.allocated

    @property
    def left(self) -> int:
        return max(0, self.total - self.used - self.in_process)

    def as_json(self) -> dict[str, Any]:
        return {
            "item": self.item,
            "total": self.total,
            "allocated": self.allocated,
            "allocatable": self.allocatable,
            "used": self.used,
            "in_process": self.in_process,
            "left": self.left,
        }


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    """When a request would start; `start_at` is None where nobody can say. `basis`: see the engine's EtaBasis."""

    start_at: datetime | None
    basis: str
    sentence: str

    def as_json(self) -> dict[str, Any]:
        start_at = self.start_at.isoformat() if self.start_at else None
        return {"start_at": start_at, "basis": self.basis, "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class CycleReport:
    """What one cycle did: whether this process led, how many were placed, skipped as stale, and wait."""

    led: bool
    placed: int = 0
    stale: int = 0
    waiting: int = 0
