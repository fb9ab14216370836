from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class CentreOpened(Event):
    """The centre has its row: from now on it has operators, with their built-in roles."""
