from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class VersionAsked(Event):
    """An archive is to be checked and taken into the registry."""

    uid: str


@dataclass(frozen=True, slots=True)
class VersionsGone(Event):
    """Versions were deleted: what the registry holds of them goes."""

    repositories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionMoved(Event):
    """A version, or the work that builds it, is not what it was: its build is looked at."""

    uid: str
