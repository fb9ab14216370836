from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class CaseChanged(Event):
    """The operators' index shows something else now."""

    kind: str
