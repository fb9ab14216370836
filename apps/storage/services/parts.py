"""Files that come in parts, by S3: begun, their parts kept, joined and put in their place, ended.

A part is an upload that is never placed itself: its room is kept and its bytes are safe as those of any other. Which
parts make up the file is written down first; joining them can then be broken off anywhere and gone on with.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, WeirError
from apps.kernel.service import service
from apps.storage.drivers.chosen import driver
from apps.storage.errors import NoSuchParts, PartsRefused, UploadBusy
from apps.storage.models import Multipart, Upload, Volume
from apps.storage.paths import file_names, path_of
from apps.storage.permissions import StoragePermission as P
from apps.storage.permissions import volumes_opened
from apps.storage.selectors import key_of, writable_check
from apps.storage.services.uploads import KEPT_DAYS, OPEN_MAX
from apps.storage.services.volumes import volume_lock, volume_writable_lock

PARTS_MOST = 10_000
_SETTLED_S = 60


def multipart_list(*, actor: Actor, volume: Volume) -> QuerySet[Multipart]:
    """The actor's own uploads in parts into a volume that are not finished."""
    actor.require(P.VIEW)
    return Multipart.objects.filter(volume=volume, sender_id=actor.user_id, finished_at=None)


def multipart_get(*, actor: Actor, volume: Volume, path: str, uid: str) -> Multipart:
    """One of the actor's own, of this file. Raises NoSuchParts."""
    actor.require(P.VIEW)
    try:
        named = Multipart.objects.filter(uid=UUID(uid), volume=volume, path=path, sender_id=actor.user_id)
    except ValueError as error:
        raise NoSuchParts() from error
    row = named.select_related("volume").first()
    if row is None:
        raise NoSuchParts()
    return row


def part_list(row: Multipart) -> QuerySet[Upload]:
    """Its parts that are whole, by number."""
    return row.parts.exclude(digest="").order_by("part_no")


@service(P.USE)
def multipart_make(
    *, actor: Actor, volume_uid: UUID, path: str, modified_at: datetime | None = None
) -> Multipart:
    """Begin a file that comes in parts. Raises PathRefused, Conflict where too many are begun."""
    names = file_names(path)
    assert actor.user_id is not None, "an upload has a sender"
    volume = volume_writable_lock(actor, volume_uid)
    act_subject("volume", volume.uid, name=volume.name)
    if volume.multiparts.filter(sender_id=actor.user_id, finished_at=None).count() >= OPEN_MAX:
        raise Conflict(
            _("You have %(most)s unfinished uploads here.") % {"most": OPEN_MAX},
            cure=_("Finish them, or end those that you no longer want."),
        )
    return Multipart.objects.create(
        volume=volume, path=path_of(names), sender_id=actor.user_id, modified_at=modified_at
    )


@service(P.USE, recorded=False)
def part_finish(*, actor: Actor, uid: UUID, part: UUID, digest: str) -> None:
    """A part has arrived whole; one of its number that was there before is forgotten. Raises NoSuchParts where the file
    was ended meanwhile, or is being joined."""
    volume, row = _locked(actor, uid)
    if row.closed_at is not None:
        raise NoSuchParts()
    arrived = row.parts.get(uid=part)
    _parts_forget(volume, row.parts.filter(part_no=arrived.part_no).exclude(digest="").exclude(pk=arrived.pk))
    arrived.digest = digest
    arrived.save(update_fields=["digest"])
    Multipart.objects.filter(pk=row.pk).update(moved_at=timezone.now())


def multipart_finish(*, actor: Actor, uid: UUID, chosen: Sequence[tuple[int, str]]) -> None:
    """Make the file of these parts, each by its number and digest, in its place; done again it stays done. What is
    broken off on the way is gone on with, by whoever asks again or by the clock.

    Raises:
        PartsRefused: they are not those that were sent, or not in order; nothing has changed.
        UploadBusy: it is being done at this moment.
        AlreadyThere: a folder has come to stand there.
    """
    row = _multipart_close(actor=actor, uid=uid, chosen=tuple(chosen))
    if row.finished_at is None:
        _parts_join(row)
        _multipart_place(actor=actor, uid=uid)


@service(P.USE)
def _multipart_close(*, actor: Actor, uid: UUID, chosen: Sequence[tuple[int, str]]) -> Multipart:
    """Write down which parts make up the file; the others are forgotten. Again it must be the same ones."""
    volume, row = _locked(actor, uid)
    told = [[number, digest] for number, digest in chosen]
    if row.closed_at is not None:
        if [[number, digest] for _uid, _size, number, digest in row.chosen] != told:
            raise PartsRefused(_("The file is being made of other parts already."))
        return row
    there = {part.part_no: part for part in part_list(row)}
    numbers = [number for number, _digest in chosen]
    if not chosen or numbers != sorted(set(numbers)):
        raise PartsRefused(_("The parts are none, or not in order."))
    for number, digest in chosen:
        if number not in there or there[number].digest != digest:
            raise PartsRefused(_("Part %(number)s did not arrive, or is another one.") % {"number": number})
    _parts_forget(volume, row.parts.exclude(digest__gt="", part_no__in=numbers))
    row.chosen = [
        [str(there[number].uid), there[number].size_bytes, number, digest] for number, digest in chosen
    ]
    row.closed_at = row.moved_at = timezone.now()
    row.save(update_fields=["chosen", "closed_at", "moved_at"])
    return row


def _parts_join(row: Multipart) -> None:
    """No transaction is open meanwhile: it may take minutes."""
    parts = [(UUID(part), size) for part, size, _number, _digest in row.chosen]
    driver(row.volume).upload_join(key_of(row.volume.uid), row.uid, parts)


@service(P.USE)
def _multipart_place(*, actor: Actor, uid: UUID) -> None:
    volume, row = _locked(actor, uid)
    _place(volume, row)


@service(recorded=False)
def multipart_settle(*, actor: Actor, multipart: Multipart) -> None:
    """Put in place what was joined, and whose sender did not hear of it."""
    volume = volume_lock(multipart.volume)
    row = Multipart.objects.select_for_update(no_key=True).filter(pk=multipart.pk).first()
    if row is not None:
        writable_check(volume)
        _place(volume, row)


def _place(volume: Volume, row: Multipart) -> None:
    act_subject("volume", volume.uid, name=volume.name, path=row.path)
    if row.finished_at is not None:
        return
    size_bytes = sum(size for _uid, size, _number, _digest in row.chosen)
    names = file_names(row.path)
    grown = driver(volume).upload_place(key_of(volume.uid), row.uid, names, replaces=True)
    if row.modified_at is not None:
        driver(volume).date(key_of(volume.uid), names, row.modified_at)
    Volume.objects.filter(pk=volume.pk).update(
        used_bytes=max(0, int(volume.used_bytes) + grown),
        upload_bytes=F("upload_bytes") - size_bytes,
        change_no=F("change_no") + 1,
    )
    row.parts.all().delete()
    row.finished_at = timezone.now()
    row.save(update_fields=["finished_at"])


@service(P.USE)
def multipart_remove(*, actor: Actor, uid: UUID) -> None:
    """End an upload in parts that is not wanted any more; what was received of it is deleted."""
    volume, row = _locked(actor, uid)
    act_subject("volume", volume.uid, name=volume.name, path=row.path)
    _remove(volume, row)


@service(recorded=False)
def multipart_expire(*, actor: Actor, multipart: Multipart) -> None:
    """End an upload in parts that nobody has gone on with."""
    volume = volume_lock(multipart.volume)
    row = Multipart.objects.select_for_update(no_key=True).filter(pk=multipart.pk).first()
    if row is not None:
        _remove(volume, row)


def _remove(volume: Volume, row: Multipart) -> None:
    if row.finished_at is None:
        _parts_forget(volume, row.parts.all())
        driver(volume).upload_remove(key_of(volume.uid), row.uid)
    row.delete()


def _parts_forget(volume: Volume, parts: QuerySet[Upload]) -> None:
    """Delete parts and their bytes, and give back the room that was kept for them."""
    gone = list(parts)
    for part in gone:
        driver(volume).upload_remove(key_of(volume.uid), part.uid)
    freed = sum(int(part.size_bytes) for part in gone)
    parts.filter(pk__in=[part.pk for part in gone]).delete()
    Volume.objects.filter(pk=volume.pk).update(upload_bytes=F("upload_bytes") - freed)


def _locked(actor: Actor, uid: UUID) -> tuple[Volume, Multipart]:
    """One of the actor's own, locked with its volume, which he may open and change still."""
    opened = Volume.objects.filter(volumes_opened(actor))
    rows = Multipart.objects.filter(uid=uid, sender_id=actor.user_id, volume__in=opened)
    found = rows.select_related("volume").first()
    if found is None:
        raise NoSuchParts()
    volume = volume_lock(found.volume)
    writable_check(volume)
    row = rows.select_for_update(of=("self",), no_key=True).first()
    if row is None:
        raise NoSuchParts()
    row.volume = volume
    return volume, row


def parts_tidy(*, actor: Actor) -> None:
    """Go on with what was to be joined, and end or forget what is over, of this tenant."""
    now = timezone.now()
    closed = Q(finished_at=None, closed_at__lt=now - timedelta(seconds=_SETTLED_S), volume__kept_until=None)
    over = (
        Q(finished_at__lt=now - timedelta(days=1))
        | Q(finished_at=None, moved_at__lt=now - timedelta(days=KEPT_DAYS))
        | Q(finished_at=None, volume__kept_until__isnull=False)
    )
    for row in Multipart.objects.filter(over).select_related("volume"):
        multipart_expire(actor=actor, multipart=row)
    for row in Multipart.objects.filter(closed).select_related("volume"):
        try:
            _parts_join(row)
            multipart_settle(actor=actor, multipart=row)
        except (UploadBusy, WeirError):
            # Somebody is at it; or its place is taken, and it waits for its sender until its time is over.
            continue
