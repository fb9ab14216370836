"""What happened to components and roll-outs, told upward."""

from dataclasses import dataclass
from typing import Any

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class RolloutMoved(Event):
    """A roll-out or one of its steps has another state."""

    rollout_uid: str
    state: str


@dataclass(frozen=True, slots=True)
class RolloutFailed(Event):
    """A step failed and the whole roll-out goes back."""

    rollout_uid: str
    target: str
    what: str
    # A sentence as `kernel.translatable` keeps it.
    why: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RolloutDone(Event):
    """All steps of a roll-out are done."""

    rollout_uid: str


@dataclass(frozen=True, slots=True)
class BackupMade(Event):
    host: str


@dataclass(frozen=True, slots=True)
class BackupFailed(Event):
    host: str
    reason: str
