"""What happens to the centres. Who hears of the first three `within` their transaction and raises refuses them."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class CenterRemoved(Event):
    """A centre leaves the network. Its remote tasks, all over, still stand, and are deleted after this."""

    ai_center_id: str


@dataclass(frozen=True, slots=True)
class ResourceSpecChanged(Event):
    """The amounts of a specification are others now."""

    resource_spec_id: str


@dataclass(frozen=True, slots=True)
class ResourceSpecRemoved(Event):
    """A specification is gone."""

    resource_spec_id: str


@dataclass(frozen=True, slots=True)
class CenterStatusChanged(Event):
    """A centre is available, unavailable (0) or unknown (2) now; `why`: what its last call came to, for people."""

    ai_center_id: str
    name: str
    status: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class RemoteTaskChanged(Event):
    """A remote task has another state. `owner` is what its maker gave; states are of `RemoteState`."""

    key: str
    owner: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RemoteTaskAccounted(Event):
    """What a centre's own accounts say of a remote task is known now, or is waited for no more."""

    key: str
    owner: str
