"""Images and their versions, with who may see them built in."""

from uuid import UUID

from django.db.models import Count, Max, Prefetch, Q, QuerySet, Sum

from apps.fleet.selectors import node_list
from apps.images.models import Image, ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.permissions import images_kept, images_opened, images_seen
from apps.images.registry import registry
from apps.images.states import VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.scheduling.selectors.workloads import workload_get
from apps.tenancy.models import Tenant
from node_agent.protocol.images import IMAGE_PIECE_BYTES

# How machines are called by their kernel, and by images.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def image_list(*, actor: Actor, search: str = "", owner: str = "") -> QuerySet[Image]:
    """The images that the actor may run, and for who manages images all of the tenant, or of the centre."""
    actor.require(P.VIEW)
    rows = Image.objects.filter(images_seen(actor)).select_related("tenant", "person", "organization")
    rows = rows.prefetch_related(
        Prefetch("versions", ImageVersion.objects.select_related("made_by", "base__image"))
    )
    ready = Q(versions__state=VersionState.READY)
    rows = rows.annotate(
        version_count=Count("versions"),
        size_bytes=Sum("versions__size_bytes", filter=ready, default=0),
        newest_at=Max("versions__created_at"),
    )
    if search:
        rows = rows.filter(name__icontains=search)
    return (rows.filter(owner=owner) if owner else rows).order_by("name", "pk")


def image_get(*, actor: Actor, uid: UUID) -> Image:
    """An image that the actor finds in lists. NotFound for any other."""
    row = image_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def version_get(*, actor: Actor, uid: UUID) -> ImageVersion:
    """A version of an image that the actor finds in lists."""
    actor.require(P.VIEW)
    rows = ImageVersion.objects.select_related("image", "made_by", "base__image").filter(uid=uid)
    row = rows.filter(image__in=Image.objects.filter(images_seen(actor))).first()
    if row is None:
        raise NotFound()
    return row


def versions_saved(*, actor: Actor, tenant: Tenant, workload_uid: UUID) -> list[ImageVersion]:
    """The versions that work was saved as, the newest first, of those that the actor finds in lists. NotFound for work
    that he does not reach."""
    actor.require(P.VIEW)
    work = workload_get(tenant, workload_uid, actor=actor)
    seen = Image.objects.filter(images_seen(actor))
    rows = ImageVersion.objects.filter(workload_uid=work.uid, image__in=seen)
    return list(rows.select_related("image", "base__image", "made_by").order_by("-created_at", "-pk"))


def versions_opened(actor: Actor) -> QuerySet[ImageVersion]:
    """The versions that the actor may run."""
    rows = ImageVersion.objects.filter(
        state=VersionState.READY, image__in=Image.objects.filter(images_opened(actor))
    )
    return rows.select_related("image").order_by("image__name", "-created_at", "-pk")


def image_uids_kept(actor: Actor) -> set[UUID]:
    """The images that the actor may describe, give versions and delete."""
    if not actor.may(P.USE) or actor.is_read_only:
        return set()
    return set(Image.objects.filter(images_kept(actor)).values_list("uid", flat=True))


def architectures() -> set[str]:
    """For which machines images can be: those whose nodes run containers; where none says so, those that we know."""
    told = node_list().values_list("info__containers", flat=True)
    return {word for word in told if word} or set(ARCHITECTURES.values())


def image_manifest(version: UUID) -> bytes:
    """What a version that is ready is made of, as the registry has it. Raises NotFound, RegistryAway."""
    row = _ready(version)
    return registry().manifest(row.repository, row.digest)


def image_piece(version: UUID, digest: str, number: int) -> bytes:
    """One piece of a file of a version that is ready. Raises NotFound for a file of another image, RegistryAway."""
    row = _ready(version)
    size = next((int(file["size_bytes"]) for file in row.layers if file["digest"] == digest), 0)
    begin = number * IMAGE_PIECE_BYTES
    if begin >= size:
        raise NotFound()
    return registry().blob(row.repository, digest, begin, min(begin + IMAGE_PIECE_BYTES, size))


def _ready(version: UUID) -> ImageVersion:
    row = ImageVersion.objects.filter(uid=version, state=VersionState.READY).first()
    if row is None:
        raise NotFound()
    return row
