from dataclasses import dataclass
from uuid import UUID

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class TaskDecided(Event):
    """Somebody decided; `is_first` says that nobody had decided anything on this process before."""

    schema: str
    task_uid: UUID
    subject_kind: str
    subject_uid: UUID
    decision: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class ProcessFinished(Event):
    """`outcome` is approved, rejected or sent_back. A withdrawal is the subject's own act and no event."""

    schema: str
    subject_kind: str
    subject_uid: UUID
    outcome: str
