"""Assets and their versions, with who may see them built in."""

from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import F, Max, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from apps.assets.models import Asset, AssetVersion
from apps.assets.states import CENTRE, Reach, VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.reach import Records
from apps.orgs.selectors.organizations import organization_uids_above
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import Listing, listing_of, opened_file
from apps.storage.types import OpenFile


def assets_seen(actor: Actor) -> Q:
    """His own, those shared with his organization or one above it, and those shared with the tenant."""
    above = organization_uids_above(actor.organization)
    return (
        Q(owner_id=actor.user_id)
        | Q(reach=Reach.ORGANIZATION, organization__uid__in=above)
        | Q(reach=Reach.TENANT)
    )


def assets_kept(actor: Actor) -> Q:
    """Those that the actor may change and delete: who manages storage all that he sees, which are no person's alone, as
    far as his role reaches (PLAT-SEC-4)."""
    own = Q(owner_id=actor.user_id)
    if not actor.may(P.MANAGE):
        return own
    place = "organization__uid"
    reached = actor.reaches(Records.RESOURCES, own=own, organization=place, system=place)
    return own | (assets_seen(actor) & ~Q(reach=Reach.PERSON) & reached)


def asset_list(
    *, actor: Actor, kind: str = "", search: str = "", reach: str = "", tag: str = "", platform: str = ""
) -> QuerySet[Asset]:
    """The assets that the actor may use; `newest` is the number of the newest version that is ready, `platforms` are
    the codes of where those that are ready lie (`labels.platform_names`)."""
    actor.require(P.VIEW)
    rows = Asset.objects.filter(assets_seen(actor)).select_related("owner", "organization")
    if kind:
        rows = rows.filter(kind=kind)
    if search:
        rows = rows.filter(Q(name__icontains=search) | Q(introduction__icontains=search))
    if reach:
        rows = rows.filter(reach=reach)
    if tag:
        rows = rows.filter(tags__contains=[tag])
    ready = Q(versions__state=VersionState.READY)
    if platform:
        rows = rows.filter(pk__in=_versions_on(platform).values("asset"))
    place = Coalesce("versions__volume__storage_class__code", Value(CENTRE))
    return rows.annotate(
        newest=Max("versions__number", filter=ready),
        platforms=ArrayAgg(place, filter=ready, distinct=True, default=Value([])),
    ).order_by("name", "pk")


def _versions_on(platform: str) -> QuerySet[AssetVersion]:
    """The versions that are ready on a platform."""
    rows = AssetVersion.objects.filter(state=VersionState.READY)
    if platform == CENTRE:
        return rows.filter(volume__storage_class=None)
    return rows.filter(volume__storage_class__code=platform)


def asset_get(*, actor: Actor, uid: UUID) -> Asset:
    """An asset that the actor may use. NotFound for any other."""
    row = asset_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def may_keep(actor: Actor, row: Asset) -> bool:
    return (
        actor.may(P.USE)
        and not actor.is_read_only
        and Asset.objects.filter(assets_kept(actor), pk=row.pk).exists()
    )


def version_list(*, actor: Actor, asset: Asset) -> QuerySet[AssetVersion]:
    """The versions of an asset that the actor got, newest first."""
    actor.require(P.VIEW)
    return asset.versions.select_related("volume", "made_by").defer("manifest")


def version_get(*, actor: Actor, asset: Asset, number: int | None) -> AssetVersion:
    """A version whose files are there; None: the newest of them. Raises NotFound, Conflict while it is copied."""
    actor.require(P.VIEW)
    rows = asset.versions.select_related("volume")
    chosen = Q(state=VersionState.READY) if number is None else Q(number=number)
    row = rows.filter(chosen).first()
    if row is None:
        raise NotFound(_("%(name)s has no such version.") % {"name": asset.name})
    if row.state != VersionState.READY:
        raise Conflict(
            _("Version %(number)s of %(name)s is not ready.") % {"number": row.number, "name": asset.name},
            cure=_("Wait until it is copied, or choose another version."),
        )
    return row


def version_files(*, actor: Actor, version: AssetVersion, path: str = "", after: str = "") -> Listing:
    """What is in a folder of a version."""
    actor.require(P.VIEW)
    return listing_of(version.volume, path=path, after=after)


def version_file(*, actor: Actor, version: AssetVersion, path: str) -> OpenFile:
    """A file of a version, held open; who calls closes it. Raises NoSuchFile, PathRefused."""
    actor.require(P.VIEW)
    return opened_file(version.volume, path)


def versions_unfinished() -> QuerySet[AssetVersion]:
    """Versions that are being copied, those that got on least lately first."""
    return AssetVersion.objects.filter(state=VersionState.COPYING).order_by(F("moved_at").asc())
