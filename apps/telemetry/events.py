"""What happens to alarms."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class AlarmFired(Event):
    """A new alarm: told once, however often it is raised while open."""

    alarm_uid: str
    key: str
    level: str


@dataclass(frozen=True, slots=True)
class AlarmAcknowledged(Event):
    alarm_uid: str
    key: str


@dataclass(frozen=True, slots=True)
class AlarmResolved(Event):
    alarm_uid: str
    key: str
