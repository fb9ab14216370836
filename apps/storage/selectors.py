"""Volumes and what is in them, with who may see it built in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import current_schema, current_tenant
from apps.scheduling.selectors.workloads import workload_get
from apps.storage.drivers.chosen import driver
from apps.storage.errors import NoSuchFile, PathRefused, VolumeEnded
from apps.storage.models import AccessKey, Upload, Volume, WorkOutput
from apps.storage.paths import file_names, names_of
from apps.storage.permissions import StoragePermission as P
from apps.storage.permissions import volumes_kept, volumes_opened, volumes_seen
from apps.storage.states import OutputState
from apps.storage.types import Entry, Kind, OpenFile

ENTRIES_PER_PAGE = 500
ENTRIES_MAX = 50_000


def key_of(uid: UUID) -> str:
    """How its driver knows a volume: by its tenant, so that no other's can ever be meant, and by its uid."""
    return f"{current_schema()}/{uid}"


def mark_get(field: str, volume: Volume | None = None) -> str:
    """By what nodes know that they see the storage of a volume, or the centre's own folder. InvalidInput, for `field`,
    where they can mount nothing of it."""
    if not (mark := driver(volume).mark()):
        raise InvalidInput(fields={field: _("The storage of this centre cannot be mounted.")})
    return mark


def volume_list(*, actor: Actor, search: str = "", owner: str = "") -> QuerySet[Volume]:
    """The volumes that the actor may open, and for who manages storage all of the tenant."""
    actor.require(P.VIEW)
    rows = Volume.objects.filter(volumes_seen(actor)).select_related("person", "organization")
    if search:
        rows = rows.filter(name__icontains=search)
    return rows.filter(owner=owner) if owner else rows


def volume_get(*, actor: Actor, uid: UUID) -> Volume:
    """A volume that the actor finds in lists. NotFound for any other."""
    row = volume_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def volume_by_uid(uid: UUID) -> Volume | None:
    """A volume, whoever may open it: for what goes on with something that was allowed before."""
    return Volume.objects.filter(uid=uid).first()


def volume_open(*, actor: Actor, uid: UUID) -> Volume:
    """A volume whose files the actor may see. NotFound for one that he does not find, Forbidden for one that
    he only keeps."""
    row = volume_get(actor=actor, uid=uid)
    if not Volume.objects.filter(volumes_opened(actor), pk=row.pk).exists():
        raise Forbidden(
            _("The files of %(name)s are %(owner)s's alone.") % {"name": row.name, "owner": row.person},
            cure=_("You may change its size and delete it."),
        )
    return row


def volume_writable(*, actor: Actor, uid: UUID) -> Volume:
    """A volume that the actor may change the files of. VolumeEnded where its order has ended."""
    row = volume_open(actor=actor, uid=uid)
    writable_check(row)
    return row


def writable_check(row: Volume) -> None:
    """VolumeEnded where the order of a volume has ended. Who writes asks of the locked row."""
    if row.kept_until is not None:
        raise VolumeEnded(
            _(
                "The order %(no)s has ended: the files of %(name)s can be read until %(until)s, and not changed."
            )
            % {"no": row.order_no, "name": row.name, "until": _minute(row.kept_until)}
        )


def _minute(at: datetime) -> str:
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M")


def opened_uids(actor: Actor) -> set[UUID]:
    """The volumes whose files the actor may see."""
    return set(Volume.objects.filter(volumes_opened(actor)).values_list("uid", flat=True))


def kept_uids(actor: Actor) -> set[UUID]:
    """The volumes that the actor may rename, resize and delete."""
    if not actor.may(P.USE):
        return set()
    return set(Volume.objects.filter(volumes_kept(actor)).values_list("uid", flat=True))


@dataclass(frozen=True, slots=True)
class Listing:
    """A part of a folder, folders first; `next_name`: where the next part begins, "" after the last."""

    path: str
    entries: Sequence[Entry]
    next_name: str = ""


def folder_list(
    *, actor: Actor, volume: Volume, path: str = "", after: str = "", most: int = ENTRIES_PER_PAGE
) -> Listing:
    """What is in a folder, after the entry `after` of the part before. Raises Conflict for more than can be put in
    order."""
    actor.require(P.VIEW)
    return listing_of(volume, path=path, after=after, most=most)


def listing_of(volume: Volume, *, path: str = "", after: str = "", most: int = ENTRIES_PER_PAGE) -> Listing:
    """`folder_list`, for apps that have asked themselves who may see it."""
    found = list(islice(driver(volume).entries(key_of(volume.uid), names_of(path)), ENTRIES_MAX + 1))
    if len(found) > ENTRIES_MAX:
        raise Conflict(
            _("The folder holds more than %(most)s entries.") % {"most": ENTRIES_MAX},
            cure=_("Look at it from work that mounts the volume."),
        )
    rows = sorted(found, key=_turn)
    if after:
        begin = next((i + 1 for i, row in enumerate(rows) if row.name == after), 0)
        rows = rows[begin:]
    part = rows[:most]
    return Listing(path.removesuffix("/"), part, part[-1].name if len(rows) > most else "")


def _turn(entry: Entry) -> tuple[bool, str, str]:
    return entry.kind != Kind.FOLDER, entry.name.lower(), entry.name


def entry_get(*, actor: Actor, volume: Volume, path: str) -> Entry:
    """What stands at a path. Raises NoSuchFile, PathRefused."""
    actor.require(P.VIEW)
    found = driver(volume).entry(key_of(volume.uid), file_names(path))
    if found is None:
        raise NoSuchFile(_("There is no %(path)s in the volume.") % {"path": path})
    return found


def file_open(*, actor: Actor, volume: Volume, path: str) -> OpenFile:
    """A file held open for reading; who calls closes it. Raises NoSuchFile, PathRefused."""
    actor.require(P.VIEW)
    return opened_file(volume, path)


def opened_file(volume: Volume, path: str) -> OpenFile:
    """`file_open`, for apps that have asked themselves who may see it."""
    names = file_names(path)
    found = driver(volume).entry(key_of(volume.uid), names)
    if found is not None and found.kind != Kind.FILE:
        raise PathRefused(_("%(path)s is no file.") % {"path": path})
    return driver(volume).file_open(key_of(volume.uid), names)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file of a volume, for who reads it later."""

    volume_uid: UUID
    path: str
    size_bytes: int


def file_place(*, actor: Actor, volume: str, path: str) -> FilePlace:
    """A file that the actor may read, in a volume by its uid. Raises NotFound, NoSuchFile, PathRefused."""
    try:
        uid = UUID(volume)
    except ValueError as error:
        raise NotFound() from error
    row = volume_open(actor=actor, uid=uid)
    entry = entry_get(actor=actor, volume=row, path=path)
    if entry.kind != Kind.FILE:
        raise PathRefused(_("%(path)s is no file.") % {"path": path})
    return FilePlace(row.uid, path, entry.size_bytes)


def file_of_place(volume_uid: UUID, path: str) -> OpenFile:
    """The file of a place that somebody was allowed to read; who calls closes it. Raises NoSuchFile, PathRefused."""
    return driver(volume_uid).file_open(key_of(volume_uid), file_names(path))


def upload_list(*, actor: Actor, volume: Volume) -> QuerySet[Upload]:
    """The actor's own uploads into a volume that are not finished."""
    actor.require(P.USE)
    return Upload.objects.filter(volume=volume, sender_id=actor.user_id, finished_at=None, resumed=True)


def upload_get(*, actor: Actor, uid: UUID) -> Upload:
    """One of the actor's own uploads, into a volume that he may open still."""
    opened = Volume.objects.filter(volumes_opened(actor))
    rows = Upload.objects.select_related("volume").filter(sender_id=actor.user_id, volume__in=opened)
    row = rows.filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def output_list(*, actor: Actor, workload_uid: UUID) -> QuerySet[WorkOutput]:
    """The outputs of work that the actor reaches, by share. NotFound for other work."""
    row = workload_get(current_tenant(), workload_uid, actor=actor)
    found = WorkOutput.objects.filter(workload_uid=row.uid)
    return found.select_related("volume").order_by("share")


def outputs_coming() -> list[UUID]:
    """The work whose outputs are not settled."""
    rows = WorkOutput.objects.filter(state=OutputState.COMING)
    return list(rows.order_by().values_list("workload_uid", flat=True).distinct())


def access_key_list(*, actor: Actor) -> QuerySet[AccessKey]:
    """The actor's own access keys, newest first; none that was revoked."""
    actor.require(P.VIEW)
    return AccessKey.objects.filter(person_id=actor.user_id, revoked_at=None)
