"""What happens to jobs over several centres."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class JobChanged(Event):
    """A job, or one of its replicas, stands otherwise now."""

    schema: str
    job_id: str


@dataclass(frozen=True, slots=True)
class ReplicasWait(Event):
    """There are replicas that want a centre."""
