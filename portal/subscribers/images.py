"""What follows for images from what nodes bring."""

from uuid import UUID

from apps.fleet.events import ContainerSaveSettled
from apps.images.services import saves
from apps.kernel.actor import Actor


def container_settled(event: ContainerSaveSettled, actor: Actor) -> None:
    """What work has changed over its image is looked at, or its version says why there is nothing to look at."""
    saves.container_settled(actor=actor, uid=UUID(event.uid))
