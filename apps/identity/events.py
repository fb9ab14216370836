"""What identity tells the layers above."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class MembershipEnded(Event):
    """A user no longer belongs to a tenant."""

    schema: str
    user_id: int
