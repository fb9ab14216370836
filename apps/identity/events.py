"""What identity tells the layers above."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class MembershipEnded(Event):
    """A user no longer belongs to a tenant."""

    schema: str
    user_id: int


@dataclass(frozen=True, slots=True)
class TokensEnded(Event):
    """What programs act by in a user's name works no more in these tenants: he was disabled, left, or has a new
    password."""

    schemas: tuple[str, ...]
    user_id: int


@dataclass(frozen=True, slots=True)
class PasswordResetAsked(Event):
    """Somebody wants a link by mail with which to choose a new password."""
