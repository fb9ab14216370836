"""What an order's line delivers: its commodity as it is now, in its image, with the buyer's volumes and program."""

from typing import Any

from apps.catalog.models import Commodity
from apps.images.work import image_of
from apps.kernel.actor import Actor
from apps.orders.types import MOUNTING


def delivery_of(
    actor: Actor, commodity: Commodity, mounts: list[dict[str, Any]], storage: str
) -> dict[str, object]:
    """What is delivered, and where, in its image as that is now, with the volumes: a program alone can use them.

    Raises InvalidInput for an image that is not there any more.
    """
    delivery, work = commodity.delivery, dict(commodity.work)
    image = image_of(actor=actor, asked=commodity.image)
    if image is not None:
        work |= {"image": image.told, "argv": work.get("argv") or list(image.entry_point)}
        delivery["containers"] = image.architecture
    if mounts and commodity.kind in MOUNTING:
        work["volumes"], delivery["storage"] = mounts, storage
    return {**delivery, "work": work}
