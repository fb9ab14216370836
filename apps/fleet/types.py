"""What crosses the fleet's border."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogPart:
    """A piece of a workload's output. `ended`: nothing will follow `next_offset`."""

    text: str
    next_offset: int
    ended: bool


@dataclass(frozen=True, slots=True)
class NodesChecked:
    """What a check of the nodes found: counts."""

    lost_nodes: int = 0
    lost_slices: int = 0
    closed_slices: int = 0
