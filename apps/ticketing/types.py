"""What the service desk tells others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Receiver:
    """To whom a ticket goes: codes of roles and keys of people of one side, and what they are called together."""

    side: str
    roles: tuple[str, ...]
    user_ids: tuple[int, ...]
    name: str
