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


@dataclass(frozen=True, slots=True)
class AlarmNotified(Event):
    """An alarm goes to people as an in-site message: its title as English source and figures."""

    user_ids: tuple[int, ...]
    msgid: str
    params: dict[str, object]
    link: str


@dataclass(frozen=True, slots=True)
class RulesChanged(Event):
    """A rule was made, edited, enabled or disabled: what is measured now is looked at again."""

    code: str


@dataclass(frozen=True, slots=True)
class RuleNarrowed(Event):
    """A rule is to watch one subject alone: who knows such subjects refuses one that there is not.

    `kind` is that of the rule's metric (`apps.telemetry.alarm_metrics`), `subject` an identifier or a name.
    """

    kind: str
    subject: str
