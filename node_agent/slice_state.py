"""What a runtime holds: one slice as found on this node, with what the server is told of it."""

from __future__ import annotations

from dataclasses import dataclass

from node_agent.protocol.fields import TERMINAL_STATES
from node_agent.protocol.slices import DesiredSession, DesiredSize, SliceReport


@dataclass(frozen=True, slots=True)
class LocalSlice:
    """A slice that exists here. Its share counts against the device until it is terminal.

    `session` is what its worker was last told, `size` what its work was last told of its size, `folder` the work
    folder it runs in ("": one of its own).
    """

    device_uid: str
    compute_percent: int
    memory_mib: int
    report: SliceReport
    session: DesiredSession | None = None
    size: DesiredSize | None = None
    folder: str = ""

    @property
    def slice_uid(self) -> str:
        return self.report.slice_uid

    @property
    def generation(self) -> int:
        return self.report.generation

    @property
    def is_terminal(self) -> bool:
        return self.report.state in TERMINAL_STATES
