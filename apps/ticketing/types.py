"""What the service desk tells others."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Receiver:
    """To whom a ticket goes: codes of roles and keys of people of one side, and what they are called together."""

    side: str
    roles: tuple[str, ...]
    user_ids: tuple[int, ...]
    name: str

    def columns(self) -> dict[str, Any]:
        """What a ticket keeps of it."""
        return {
            "side": self.side,
            "roles": list(self.roles),
            "user_ids": list(self.user_ids),
            "receiver": self.name[:160],
        }
