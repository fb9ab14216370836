"""Versions of assets: looked through, copied into a volume of their own, deleted.

What is copied is known before: each file with its size. One that has changed meanwhile lets the copy fail, and a link
that has come since is not followed. A copy that broke off is begun again and writes the same files over.
"""

import hashlib
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from uuid import UUID

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.assets.events import AssetVersionAsked
from apps.assets.models import Asset, AssetVersion
from apps.assets.selectors import asset_get, assets_kept, version_list, versions_unfinished
from apps.assets.states import VersionState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.planes import current_schema
from apps.kernel.service import service
from apps.scheduling.selectors.workloads import workload_numbers_mounting
from apps.storage.errors import AlreadyThere, NoSuchFile, PathRefused, StorageAway, StorageFull
from apps.storage.models import Volume
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import key_of, volume_by_uid, volume_open
from apps.storage.services.copying import FileFound, file_copy, folder_survey
from apps.storage.services.volumes import volume_frozen_make, volume_frozen_remove

NOTE_MAX = 500
# A copy that has not got on for so long broke off.
IDLE = timedelta(minutes=10)
_TELL_EVERY_S = 30.0


@service(P.USE)
def version_publish(
    *, actor: Actor, asset_uid: UUID, volume_uid: UUID, path: str = "", note: str = ""
) -> AssetVersion:
    """Make a new version of an asset of what is in a folder of a volume that the actor may open; it is copied after
    this. Raises PathRefused for a path out of the volume or where a link is in the folder, InvalidInput for an empty
    folder, QuotaExceeded."""
    asset = asset_lock(actor, asset_uid)
    if len(note) > NOTE_MAX:
        raise InvalidInput(fields={"note": _("at most %(most)s characters") % {"most": NOTE_MAX}})
    source = volume_open(actor=actor, uid=volume_uid)
    found = folder_survey(source, path)
    if not found:
        raise InvalidInput(
            _("The folder holds no files."), cure=_("Upload files first."), fields={"path": _("no files")}
        )
    assert actor.user_id is not None, "a version is somebody's"
    size_bytes = sum(one.size_bytes for one in found)
    number = (asset.versions.aggregate(last=Max("number"))["last"] or 0) + 1
    row = AssetVersion.objects.create(
        asset=asset,
        number=number,
        note=note,
        volume=volume_frozen_make(actor, size_bytes),
        source_uid=source.uid,
        source_path=path.removesuffix("/"),
        files=len(found),
        size_bytes=size_bytes,
        made_by_id=actor.user_id,
    )
    act_subject("asset", asset.uid, name=asset.name, version=number, size_bytes=size_bytes)
    emit(AssetVersionAsked(current_schema(), str(row.uid)), actor=actor)
    return row


@service(P.USE)
def version_delete(*, actor: Actor, asset_uid: UUID, number: int) -> None:
    """Delete a version with its files. Raises Conflict while work uses it."""
    asset = asset_lock(actor, asset_uid)
    row = version_list(actor=actor, asset=asset).filter(number=number).first()
    if row is None:
        raise NotFound()
    act_subject("asset", asset.uid, name=asset.name, version=number)
    version_drop(actor, row)


def version_drop(actor: Actor, row: AssetVersion) -> None:
    """Within a service: a version goes, unless work uses it."""
    if users := workload_numbers_mounting(key_of(row.volume.uid)):
        raise Conflict(
            _("Version %(number)s is used by work that has not ended: %(works)s.")
            % {"number": row.number, "works": ", ".join(users)},
            cure=_("Let it end first, or end it."),
        )
    volume = row.volume
    AssetVersion.objects.filter(pk=row.pk).delete()
    volume_frozen_remove(actor, volume)


def asset_lock(actor: Actor, uid: UUID) -> Asset:
    """The asset, locked, that the actor may change. NotFound for one that he does not see."""
    found = asset_get(actor=actor, uid=uid)
    row = Asset.objects.select_for_update(of=("self",), no_key=True).filter(pk=found.pk).first()
    if row is None:
        raise NotFound()
    act_subject("asset", row.uid, name=row.name)
    if not Asset.objects.filter(assets_kept(actor), pk=row.pk).exists():
        raise Forbidden(_("%(name)s is somebody else's.") % {"name": row.name})
    return row


# --- copied --------------------------------------------------------------------------------------------------------


def version_follow(*, actor: Actor, uid: UUID) -> None:
    """Copy what a version is to hold; no transaction is open meanwhile. Where the storage does not answer it stays to
    be copied. Coming twice changes nothing."""
    row = AssetVersion.objects.filter(uid=uid, state=VersionState.COPYING).select_related("volume").first()
    if row is None:
        return
    source = volume_by_uid(row.source_uid)
    if source is None:
        version_fail(actor=actor, row=row, code="source_gone")
        return
    try:
        _copy(actor, row, source)
    except StorageAway:
        return
    except StorageFull:
        version_fail(actor=actor, row=row, code="storage_full")
    except (PathRefused, NoSuchFile, AlreadyThere):
        version_fail(actor=actor, row=row, code="changed")


def _copy(actor: Actor, row: AssetVersion, source: Volume) -> None:
    found = folder_survey(source, row.source_path)
    if (len(found), sum(one.size_bytes for one in found)) != (row.files, row.size_bytes):
        version_fail(actor=actor, row=row, code="changed")
        return
    heartbeat = _Heartbeat(row)
    manifest = [
        [one.path, one.size_bytes, file_copy(source, one, row.volume, heartbeat)]
        for one in sorted(found, key=_by_path)
    ]
    version_ready(actor=actor, row=row, manifest=manifest)


def _by_path(one: FileFound) -> str:
    return one.path


class _Heartbeat:
    """Says, now and then, that copying gets on."""

    def __init__(self, row: AssetVersion) -> None:
        self._row, self._at_s = row, float("-inf")

    def __call__(self) -> None:
        if time.monotonic() - self._at_s > _TELL_EVERY_S:
            self._at_s = time.monotonic()
            AssetVersion.objects.filter(pk=self._row.pk).update(moved_at=timezone.now())


@service(recorded=False)
def version_ready(*, actor: Actor, row: AssetVersion, manifest: list[list[object]]) -> None:
    """All of it is copied: from now on it may be used."""
    rows = AssetVersion.objects.filter(pk=row.pk, state=VersionState.COPYING)
    rows.update(state=VersionState.READY, manifest=manifest, sha256=manifest_sum(manifest))


@service(recorded=False)
def version_fail(*, actor: Actor, row: AssetVersion, code: str) -> None:
    """It cannot be copied; its owner reads why, and deletes it."""
    rows = AssetVersion.objects.filter(pk=row.pk, state=VersionState.COPYING)
    rows.update(state=VersionState.FAILED, problem_code=code)


def manifest_sum(manifest: Iterable[list[object]]) -> str:
    """The SHA-256 of the lines that `sha256sum` prints of the files, in the order of their paths."""
    lines = "".join(f"{digest}  {path}\n" for path, _size, digest in manifest)
    return hashlib.sha256(lines.encode()).hexdigest()


def versions_tidy(*, actor: Actor, follow: Callable[[UUID], None]) -> None:
    """Go on with copies that broke off."""
    idle = versions_unfinished().filter(moved_at__lt=timezone.now() - IDLE)
    for uid in idle.values_list("uid", flat=True)[:100]:
        follow(uid)
