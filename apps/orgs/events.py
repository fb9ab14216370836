from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class InvitationMailAsked(Event):
    """An invitation of this tenant is to be sent by mail."""

    schema: str


@dataclass(frozen=True, slots=True)
class RoleDeleted(Event):
    """A role of the tenant's own making goes; a handler that still needs it refuses."""

    code: str
