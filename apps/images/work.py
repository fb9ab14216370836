"""The image that work asks for: which version it is, what its node is told, what it runs by itself."""

from uuid import UUID

from django.utils.translation import gettext as _

from apps.images.models import ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.selectors import versions_opened
from apps.images.states import Owner, VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.scheduling.types import WorkImage

_NEAREST = (Owner.PERSON, Owner.ORGANIZATION, Owner.TENANT, Owner.CENTRE)


def image_of(*, actor: Actor, asked: str) -> WorkImage | None:
    """The version that NAME, NAME:TAG or a uid means, of those that the actor may run: of several images of a name his
    own, then his organization's, his tenant's, the centre's; without a tag the newest. None where none is asked for.

    Raises InvalidInput for one that is not there.
    """
    if not asked:
        return None
    actor.require(P.VIEW)
    row = _find(actor, asked)
    told = {
        "version": str(row.uid),
        "digest": row.digest,
        "name": str(row),
        "unpacked_bytes": row.unpacked_bytes,
    }
    return WorkImage(told, row.architecture, tuple(row.entry_point))


def images_offered() -> list[tuple[str, str]]:
    """The versions that the centre offers to everybody and that run something by themselves: uid and name."""
    rows = ImageVersion.objects.filter(image__owner=Owner.CENTRE, state=VersionState.READY).exclude(
        entry_point=[]
    )
    rows = rows.select_related("image").order_by("image__name", "-created_at", "-pk")
    return [(str(row.uid), str(row)) for row in rows]


def _find(actor: Actor, asked: str) -> ImageVersion:
    rows = versions_opened(actor)
    name, _sign, tag = asked.partition(":")
    try:
        named = rows.filter(uid=UUID(asked))
    except ValueError:
        named = rows.filter(image__name=name)
        named = named.filter(tag=tag) if tag else named
    found = sorted(named, key=lambda row: _NEAREST.index(Owner(row.image.owner)))
    if not found:
        raise _wrong(_("There is no image %(name)s that you may run.") % {"name": asked})
    first = found[0]
    if any(row.image.owner == first.image.owner and row.image_id != first.image_id for row in found):
        raise _wrong(_("Several images are called %(name)s: give the uid of a version.") % {"name": name})
    return first


def _wrong(text: str) -> InvalidInput:
    return InvalidInput(fields={"image": text})
