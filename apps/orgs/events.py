from dataclasses import dataclass
from uuid import UUID

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class InvitationMailAsked(Event):
    """An invitation of this tenant is to be sent by mail."""

    schema: str


@dataclass(frozen=True, slots=True)
class RoleDeleted(Event):
    """A role of the tenant's own making goes; a handler that still needs it refuses."""

    code: str


@dataclass(frozen=True, slots=True)
class ProgressReported(Event):
    """Somebody says how far a business system is: who decides is to confirm it."""

    schema: str
    report_uid: UUID


@dataclass(frozen=True, slots=True)
class ProgressWithdrawn(Event):
    """The report is taken back: its process ends with it."""

    schema: str
    report_uid: UUID
