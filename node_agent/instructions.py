"""What the machine tells the loop to do: each brings what is here nearer to what the server wants."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.protocol.folders import FolderSend
from node_agent.protocol.slices import DesiredSession, DesiredSize, DesiredSlice


@dataclass(frozen=True, slots=True)
class Start:
    """Make this slice and start its work."""

    wanted: DesiredSlice


@dataclass(frozen=True, slots=True)
class Resize:
    """Change the share, memory, session, size and run time of a running slice; `run_timeout_s` None: as it is."""

    slice_uid: str
    generation: int
    compute_percent: int
    memory_mib: int
    session: DesiredSession | None = None
    size: DesiredSize | None = None
    run_timeout_s: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End a slice's work; `saves`: it is to go on later, and saves itself first."""

    slice_uid: str
    generation: int
    saves: bool = False


@dataclass(frozen=True, slots=True)
class Forget:
    """Delete a finished slice."""

    slice_uid: str


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete a work folder: its work is over."""

    folder: str


@dataclass(frozen=True, slots=True)
class Send:
    """Bring a work folder to the portal: its work goes on on another node."""

    request: FolderSend


Instruction = Start | Resize | Stop | Forget | Discard | Send
