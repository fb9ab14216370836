"""What happens to runs of the acceptance test."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class RunAsked(Event):
    """A run waits for a worker to carry it out."""

    run_uid: str
