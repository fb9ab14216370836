"""Where work is, or was at the last: the devices of its shares."""

from dataclasses import dataclass

from apps.fleet.models import Device
from apps.scheduling.models import Workload
from apps.scheduling.states import FINAL_STATES, HOLDING_STATES, AllocationState

PLACES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Places:
    """The devices of a workload: the first of them, and how many there are more."""

    devices: list[Device]
    more: int

    @property
    def text(self) -> str:
        """The devices in a line."""
        return ", ".join(f"{device.node.name} #{device.index}" for device in self.devices)


def places_of(row: Workload) -> Places:
    """Where its shares are, or were at the last; nowhere while it waits."""
    if row.state not in HOLDING_STATES | FINAL_STATES:
        return Places([], 0)
    held = [part for part in row.allocations.all() if part.state == AllocationState.ACTIVE or row.is_final]
    # Of an attempt before the last one nothing is said here: its time line tells.
    newest = list({part.share: part for part in held if not part.is_beside}.values())
    devices = list(dict.fromkeys(part.device for part in newest))
    return Places(devices[:PLACES_SHOWN], len(devices) - PLACES_SHOWN)
