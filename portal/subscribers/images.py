"""What follows for images from what nodes bring."""

from uuid import UUID

from apps.fleet.events import ContainerSaveSettled, MetricsGrew
from apps.images.services import saves
from apps.images.services.build_following import build_moved
from apps.kernel.actor import Actor
from apps.scheduling.events import WorkloadEnded


def container_settled(event: ContainerSaveSettled, actor: Actor) -> None:
    """What work has changed over its image is looked at, or its version says why there is nothing to look at."""
    saves.container_settled(actor=actor, uid=UUID(event.uid))


def work_wrote(event: MetricsGrew, actor: Actor) -> None:
    """Work that builds an image may have said that its steps are done."""
    build_moved(actor, UUID(event.workload_uid))


def work_ended(event: WorkloadEnded, actor: Actor) -> None:
    """Work that builds an image has ended: the build is over, or had no end."""
    build_moved(actor, event.workload_uid)
