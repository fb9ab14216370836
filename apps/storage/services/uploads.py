"""Uploads that resume: made, fed piece by piece, put in their place, forgotten.

What is acknowledged is on disk: a piece is written and synchronised before the row says that it was received, and what
a broken-off try wrote beyond that is written over. A whole file takes its place by a rename, in one step.
"""

import hashlib
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound, TooLarge
from apps.kernel.service import service
from apps.storage.drivers.chosen import driver
from apps.storage.errors import (
    AlreadyThere,
    ChecksumMismatch,
    OffsetMismatch,
    PathRefused,
    StorageFull,
    UploadBusy,
    VolumeEnded,
    VolumeFull,
)
from apps.storage.models import Multipart, Upload, Volume
from apps.storage.paths import file_names, path_of
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import key_of, upload_get, writable_check
from apps.storage.services.volumes import volume_lock, volume_writable_lock
from apps.storage.types import Kind, Names

SIZE_MAX_BYTES = 2**50
OPEN_MAX = 2000
KEPT_DAYS = 7
# After so long without a byte nobody comes back to what is not resumed.
BROKEN_S = 3600
# More would be held in memory while it arrives.
PIECE_MAX_BYTES = 8 * 2**20
CHECKSUMS = ("sha1", "sha256")
_SETTLED_S = 60
_BATCH = 500


def piece_bytes() -> int:
    """How much one request of an upload may bring."""
    return min(PIECE_MAX_BYTES, int(settings.WEIR_UPLOAD_MAX_BYTES))


@service(P.USE)
def upload_make(
    *,
    actor: Actor,
    volume_uid: UUID,
    path: str,
    size_bytes: int,
    replaces: bool = False,
    fingerprint: str = "",
    resumed: bool = True,
    part: tuple[Multipart, int] | None = None,
    modified_ns: int | None = None,
) -> Upload:
    """Begin an upload: room for all of it is kept from here on. `resumed`: its sender goes on with it once it broke
    off. `part`: it is this part, by its number, of a file that comes in parts. `modified_ns`: when it was last changed,
    in nanoseconds since 1970; None: now.

    Raises:
        VolumeFull, StorageFull: there is no room for it; nothing was taken.
        AlreadyThere: a folder stands there, or a file that it is not to replace.
        PathRefused: no path within the volume.
    """
    names = file_names(path)
    assert actor.user_id is not None, "an upload has a sender"
    if not 0 <= size_bytes <= SIZE_MAX_BYTES:
        raise InvalidInput(
            fields={"size_bytes": _("%(least)s to %(most)s") % {"least": 0, "most": SIZE_MAX_BYTES}}
        )
    volume = volume_writable_lock(actor, volume_uid)
    act_subject("volume", volume.uid, name=volume.name, size_bytes=size_bytes)
    if (
        part is None
        and volume.uploads.filter(sender_id=actor.user_id, finished_at=None, multipart=None).count()
        >= OPEN_MAX
    ):
        raise Conflict(
            _("You have %(most)s unfinished uploads here.") % {"most": OPEN_MAX},
            cure=_("Finish them, or end those that you no longer want."),
        )
    room_check(volume, size_bytes, replaced_bytes(volume, names, replaces=replaces))
    row = Upload.objects.create(
        volume=volume,
        path=path_of(names),
        size_bytes=size_bytes,
        replaces=replaces,
        fingerprint=fingerprint[:200],
        resumed=resumed,
        multipart=part[0] if part else None,
        part_no=part[1] if part else None,
        modified_ns=modified_ns,
        sender_id=actor.user_id,
    )
    Volume.objects.filter(pk=volume.pk).update(upload_bytes=F("upload_bytes") + size_bytes)
    driver(volume).upload_make(key_of(volume.uid), row.uid)
    return row


def replaced_bytes(volume: Volume, names: Names, *, replaces: bool) -> int:
    """What the file holds that stands there, if it may be replaced. Nothing on the way may be a file or a link."""
    for depth in range(1, len(names)):
        above = driver(volume).entry(key_of(volume.uid), names[:depth])
        if above is None:
            return 0
        if above.kind != Kind.FOLDER:
            raise PathRefused(_("%(path)s is no folder.") % {"path": path_of(names[:depth])})
    found = driver(volume).entry(key_of(volume.uid), names)
    if found is None:
        return 0
    if found.kind == Kind.FOLDER or not replaces:
        raise AlreadyThere(_("%(path)s is there already.") % {"path": path_of(names)})
    return found.held_bytes


def room_check(volume: Volume, size_bytes: int, replaced_bytes: int) -> None:
    """VolumeFull, StorageFull: a file of that size, in the place of one that holds so much, has no room.

    What is to be replaced makes room for one: the others that are on their way there are counted as they are.
    """
    free_bytes = max(0, volume.room_bytes + replaced_bytes)
    if size_bytes > free_bytes:
        raise VolumeFull(
            _("%(name)s has room for %(free)s of its %(size)s MiB: this file of %(more)s MiB is too large.")
            % {
                "name": volume.name,
                "free": free_bytes // 2**20,
                "size": volume.size_mib,
                "more": -(-size_bytes // 2**20),
            },
            fields={"free_bytes": volume.free_bytes, "size_bytes": size_bytes},
        )
    if size_bytes > driver(volume).free_bytes():
        raise StorageFull()


@service(P.USE, recorded=False)
def upload_take(
    *, actor: Actor, uid: UUID, offset: int, piece: bytes, checksum: tuple[str, bytes] | None = None
) -> Upload:
    """Take the next piece of an upload; it is on disk when this returns. `checksum`: its kind and its value.

    Raises:
        UploadBusy: another sender is at it; it has not waited for him.
        OffsetMismatch: the piece does not begin where the upload ends.
        ChecksumMismatch: it arrived damaged; nothing of it was kept.
        StorageFull: the disk has no room; what was acknowledged before stays.
        VolumeEnded: the order of the volume has ended since.
    """
    row = _locked(upload_get(actor=actor, uid=uid))
    writable_check(row.volume)
    if offset != row.received_bytes:
        raise OffsetMismatch(
            _("The upload goes on at byte %(offset)s, not at %(given)s.")
            % {"offset": row.received_bytes, "given": offset}
        )
    if offset + len(piece) > row.size_bytes:
        raise TooLarge(_("The upload was announced with %(size)s bytes.") % {"size": row.size_bytes})
    if checksum is not None and hashlib.new(checksum[0], piece).digest() != checksum[1]:
        raise ChecksumMismatch()
    if not piece or row.finished_at is not None:
        return row
    driver(row.volume).upload_write(key_of(row.volume.uid), row.uid, offset, piece)
    row.received_bytes += len(piece)
    row.moved_at = timezone.now()
    row.save(update_fields=["received_bytes", "moved_at"])
    return row


@service(P.USE)
def upload_finish(*, actor: Actor, uid: UUID) -> Upload:
    """Put an upload whose bytes are all here in its place; done again it stays done. Raises AlreadyThere where a file
    has come to stand there meanwhile that it is not to replace, VolumeEnded where the volume's order has ended."""
    return _place(upload_get(actor=actor, uid=uid))


@service(recorded=False)
def upload_settle(*, actor: Actor, upload: Upload) -> None:
    """Put in place what was received whole, and whose sender did not hear of it."""
    _place(upload)


def _place(found: Upload) -> Upload:
    volume = volume_lock(found.volume)
    row = _locked(found)
    act_subject("volume", volume.uid, name=volume.name, path=row.path, size_bytes=row.size_bytes)
    if row.finished_at is not None or row.received_bytes < row.size_bytes or row.multipart_id is not None:
        return row
    writable_check(volume)
    grown = driver(volume).upload_place(
        key_of(volume.uid),
        row.uid,
        file_names(row.path),
        replaces=row.replaces,
        modified_ns=row.modified_ns,
    )
    Volume.objects.filter(pk=volume.pk).update(
        used_bytes=max(0, int(volume.used_bytes) + grown),
        upload_bytes=F("upload_bytes") - row.size_bytes,
        change_no=F("change_no") + 1,
    )
    row.finished_at = timezone.now()
    if row.resumed:
        row.save(update_fields=["finished_at"])
    else:
        # Nobody asks for it again.
        row.delete()
    return row


@service(P.USE)
def upload_remove(*, actor: Actor, uid: UUID) -> None:
    """End an upload that is not wanted any more; what was received of it is deleted."""
    _remove(upload_get(actor=actor, uid=uid))


@service(recorded=False)
def upload_expire(*, actor: Actor, upload: Upload) -> None:
    """End an upload that nobody has gone on with."""
    _remove(upload)


def _remove(found: Upload) -> None:
    volume = volume_lock(found.volume)
    row = _locked(found)
    act_subject("volume", volume.uid, name=volume.name, path=row.path)
    if row.finished_at is None:
        Volume.objects.filter(pk=volume.pk).update(upload_bytes=F("upload_bytes") - row.size_bytes)
        driver(volume).upload_remove(key_of(volume.uid), row.uid)
    row.delete()


def _locked(found: Upload) -> Upload:
    rows = Upload.objects.select_related("volume").filter(pk=found.pk)
    row = rows.select_for_update(of=("self",), no_key=True, skip_locked=True).first()
    if row is None:
        raise UploadBusy() if rows.exists() else NotFound()
    return row


def uploads_due() -> Q:
    """Uploads that the clock has something to do with: received whole and not placed, left alone, broken off where
    nobody goes on with them, into a volume whose order has ended, or long finished. Whole parts of a file are its own
    (`parts.parts_tidy`)."""
    now = timezone.now()
    whole = Q(
        finished_at=None, received_bytes=F("size_bytes"), moved_at__lt=now - timedelta(seconds=_SETTLED_S)
    )
    idle = Q(finished_at=None, moved_at__lt=now - timedelta(days=KEPT_DAYS))
    ended = Q(finished_at=None, volume__kept_until__isnull=False)
    broken = Q(finished_at=None, resumed=False, moved_at__lt=now - timedelta(seconds=BROKEN_S))
    due = whole | idle | ended | broken | Q(finished_at__lt=now - timedelta(days=1))
    return due & Q(digest="")


def uploads_tidy(*, actor: Actor) -> None:
    """Settle, expire and forget the uploads of this tenant, and delete bytes that belong to none."""
    now = timezone.now()
    expired = now - timedelta(days=KEPT_DAYS)
    for row in Upload.objects.filter(uploads_due()).select_related("volume")[:_BATCH]:
        try:
            is_whole = row.finished_at is None and row.received_bytes == row.size_bytes
            is_part = row.multipart_id is not None
            if is_part and row.moved_at > now - timedelta(seconds=BROKEN_S):
                continue
            if is_whole and not is_part and row.moved_at > expired and row.volume.kept_until is None:
                upload_settle(actor=actor, upload=row)
            else:
                upload_expire(actor=actor, upload=row)
        except (UploadBusy, NotFound, AlreadyThere, PathRefused, VolumeEnded):
            # Somebody is at it; or its place is taken, and it waits for its sender until its time is over.
            continue
    for uid in Volume.objects.values_list("uid", flat=True):
        store = driver(uid)
        idle = store.uploads_idle(key_of(uid))
        known = set(Upload.objects.filter(uid__in=idle).values_list("uid", flat=True))
        known |= set(Multipart.objects.filter(uid__in=idle).values_list("uid", flat=True))
        for lost in idle:
            if lost not in known:
                store.upload_remove(key_of(uid), lost)
