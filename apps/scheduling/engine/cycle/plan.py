"""What a cycle decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.scheduling.engine.model.types import ElasticChange, Hold, HoldKind, Move, Placement, Preemption
from apps.scheduling.engine.queueing.refusals import Refusals


@dataclass(frozen=True, slots=True)
class Plan:
    """Every request of the snapshot is placed or refused, in the order in which it was judged.

    A request for which work is stopped, shrunk or moved stays refused (PREEMPTING, SHRINKING, MOVING) with a
    hold of kind NOMINATED, and is placed in a later cycle.
    """

    placements: tuple[Placement, ...] = ()
    refusals: Refusals = field(default_factory=Refusals)
    preemptions: tuple[Preemption, ...] = ()
    resizes: tuple[ElasticChange, ...] = ()
    moves: tuple[Move, ...] = ()
    holds: tuple[Hold, ...] = ()

    @property
    def nominated_holds(self) -> tuple[Hold, ...]:
        """The holds to be given back in the next snapshot."""
        return tuple(hold for hold in self.holds if hold.kind is HoldKind.NOMINATED)
