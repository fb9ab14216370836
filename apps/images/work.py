"""The image that work asks for: which version it is, what its node is told, what it runs by itself."""

from collections.abc import Mapping
from typing import Any

from apps.images.models import ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.selectors import version_find, versions_opened
from apps.images.states import Owner, VersionState
from apps.kernel.actor import Actor
from apps.kernel.pick_list import Pick
from apps.scheduling.types import WorkImage


def image_of(*, actor: Actor, asked: str) -> WorkImage | None:
    """The version that NAME, NAME:TAG or a uid means, of those that the actor may run: of several images of a name his
    own, then his organization's, his tenant's, the centre's; without a tag the newest. None where none is asked for.

    Raises InvalidInput for one that is not there.
    """
    if not asked:
        return None
    actor.require(P.VIEW)
    row = version_find(actor, asked, field="image")
    told = {
        "version": str(row.uid),
        "digest": row.digest,
        "name": str(row),
        "unpacked_bytes": row.unpacked_bytes,
    }
    return WorkImage(told, row.architecture, tuple(row.entry_point))


def image_again(*, actor: Actor, ran_in: Mapping[str, Any]) -> Pick | None:
    """The version that work ran in (`ran_in`: what its node was told), as it is chosen once more; None where the actor
    may run it no longer."""
    if not actor.may(P.VIEW):
        return None
    row = versions_opened(actor).filter(uid=ran_in["version"]).first()
    return Pick(str(row.uid), str(row)) if row else None


def images_offered() -> list[tuple[str, str]]:
    """The versions that the centre offers to everybody and that run something by themselves: uid and name."""
    rows = ImageVersion.objects.filter(image__owner=Owner.CENTRE, state=VersionState.READY).exclude(
        entry_point=[]
    )
    rows = rows.select_related("image").order_by("image__name", "-created_at", "-pk")
    return [(str(row.uid), str(row)) for row in rows]
