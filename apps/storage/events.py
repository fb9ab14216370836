from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class VolumeChanged(Event):
    """A volume was deleted, or so much in it that what it holds is to be measured."""

    schema: str
    uid: str
