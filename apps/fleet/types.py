"""What crosses the fleet's border."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogExcerpt:
    """A piece of a workload's output, and of which share and attempt it is. `ended`: nothing will follow
    `next_offset`."""

    text: str
    next_offset: int
    ended: bool
    share: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class NodesChecked:
    """What a check of the nodes found: counts."""

    lost_nodes: int = 0
    lost_slices: int = 0
    closed_slices: int = 0


@dataclass(frozen=True, slots=True)
class Leaving:
    """How many of those that were to leave have left."""

    devices: int = 0
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class SessionConnection:
    """How a client reaches one share of a session. `host` and `port` are empty until its worker listens.

    `index` is the share's place in its workload, from 0, and stays when the share moves.
    """

    index: int
    slice_uid: str
    state: str
    host: str
    port: int | None
    fingerprint: str
    token: str
    node: str
    device: str
    model: str
    compute_percent: int
    memory_mib: int

    @property
    def is_open(self) -> bool:
        return bool(self.host and self.port and self.fingerprint)
