from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class AssetVersionAsked(Event):
    """A version is to be copied."""

    schema: str
    uid: str
