"""Images and their versions, with who may see them built in."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, Max, OuterRef, Prefetch, Q, QuerySet, Subquery, Sum, Value, When
from django.utils.translation import gettext as _

from apps.fleet.selectors import node_list
from apps.images.models import Image, ImageBuild, ImageVersion
from apps.images.permissions import ImagePermission as P
from apps.images.permissions import images_kept, images_opened, images_seen
from apps.images.registry import registry
from apps.images.states import BuildState, Owner, VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.pick_list import Pick
from apps.scheduling.selectors.workloads import workload_get, workload_state_of
from apps.scheduling.states import WorkloadState
from apps.tenancy.models import Tenant
from node_agent.protocol.images import IMAGE_PIECE_BYTES

_NEAREST = (Owner.PERSON, Owner.ORGANIZATION, Owner.TENANT, Owner.CENTRE)
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


def version_find(actor: Actor, asked: str, *, field: str) -> ImageVersion:
    """The version that NAME, NAME:TAG or a uid means, of those that the actor may run: of several images of a name his
    own, then his organization's, his tenant's, the centre's; without a tag the newest.

    Raises InvalidInput, of that field, for one that is not there.
    """
    rows = versions_opened(actor)
    name, _sign, tag = asked.partition(":")
    try:
        named = rows.filter(uid=UUID(asked))
    except ValueError:
        named = rows.filter(image__name=name)
        named = named.filter(tag=tag) if tag else named
    found = sorted(named, key=lambda row: _NEAREST.index(Owner(row.image.owner)))
    if not found:
        text = _("There is no image %(name)s that you may run.") % {"name": asked[:100]}
        raise InvalidInput(fields={field: text})
    first = found[0]
    if any(row.image.owner == first.image.owner and row.image_id != first.image_id for row in found):
        text = _("Several images are called %(name)s: give the uid of a version.") % {"name": name}
        raise InvalidInput(fields={field: text})
    return first


def image_picks(actor: Actor, words: Sequence[str], most: int) -> list[Pick]:
    """The versions that the actor may run whose image and tag have every one of the words, at most `most`, the newest
    of an image first, as work asks for them: by name and tag, or by uid where he may run several images of that name.
    """
    actor.require(P.VIEW)
    opened = versions_opened(actor)
    rows = opened
    for word in words:
        name, sign, tag = word.partition(":")
        part = (
            Q(image__name__iendswith=name, tag__istartswith=tag) if sign else Q(image__name__icontains=word)
        )
        rows = rows.filter(part | Q(tag__icontains=word))
    found = list(rows[:most])
    named = Image.objects.filter(images_opened(actor), name__in={row.image.name for row in found})
    several = {
        name for name, count in named.values_list("name").annotate(Count("pk")).order_by() if count > 1
    }
    return [
        Pick(
            str(row.uid) if row.image.name in several else str(row),
            str(row),
            str(row.image.get_owner_display()),
        )
        for row in found
    ]


def image_config(version: ImageVersion) -> dict[str, Any]:
    """How a version that is ready runs: the `config` of OCI. Raises RegistryAway."""
    held = registry()
    manifest = held.manifest(version.repository, version.digest)
    return dict(held.config(version.repository, manifest).get("config") or {})


def build_list(*, actor: Actor, tenant: Tenant) -> QuerySet[ImageBuild]:
    """The builds of a tenant that the actor finds: his own, and of images that he manages. Each knows its image
    (`image_uid`), how far it is (`shown_state`), and whether the actor may cancel it (`may_cancel`)."""
    actor.require(P.VIEW)
    kept = ImageVersion.objects.filter(image__in=Image.objects.filter(images_kept(actor)))
    mine = Q(made_by_id=actor.user_id) | Q(version_uid__in=kept.values("uid"))
    rows = ImageBuild.objects.of(tenant).filter(mine)
    version = ImageVersion.objects.filter(uid=OuterRef("version_uid"))
    waits = Q(state=BuildState.BUILDING, work_state__in=(WorkloadState.PENDING, WorkloadState.PLACED))
    rows = rows.annotate(
        image_uid=Subquery(version.values("image__uid")[:1]),
        work_state=workload_state_of(OuterRef("workload_uid")),
    )
    may_cancel = actor.may(P.USE) and not actor.is_read_only
    rows = rows.annotate(
        shown_state=Case(When(waits, then=Value(BuildState.WAITING.value)), default=F("state")),
        may_cancel=Case(
            When(Q(state__in=(BuildState.BUILDING, BuildState.SAVING)), then=Value(may_cancel)),
            default=Value(False),
        ),
    )
    return rows.select_related("made_by", "tenant").order_by("-created_at", "-pk")


def build_get(*, actor: Actor, tenant: Tenant, uid: UUID) -> ImageBuild:
    """A build that the actor finds in lists. NotFound for any other."""
    row = build_list(actor=actor, tenant=tenant).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


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
