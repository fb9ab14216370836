from dataclasses import dataclass
from uuid import UUID

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class TicketDone(Event):
    """The work is done, or has failed; `subject_uid` is what it was for."""

    schema: str
    ticket_uid: UUID
    subject_kind: str
    subject_uid: UUID
    is_failed: bool
