"""Folders and files of a volume: made, moved, removed."""

from datetime import datetime
from uuid import UUID

from django.db.models import F
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.planes import current_schema
from apps.kernel.service import service
from apps.storage.drivers.chosen import driver
from apps.storage.errors import NoSuchFile
from apps.storage.events import VolumeChanged
from apps.storage.models import Volume
from apps.storage.paths import file_names
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import key_of
from apps.storage.services.volumes import volume_writable_lock
from apps.storage.types import Kind


@service(P.USE)
def folder_make(*, actor: Actor, volume_uid: UUID, path: str) -> None:
    """Make a folder, and those above it that are missing (PLAT-ASSET-7). Raises AlreadyThere, PathRefused."""
    volume = volume_writable_lock(actor, volume_uid)
    # A folder is rightly named with a slash behind it.
    driver(volume).folder_make(key_of(volume.uid), file_names(path.removesuffix("/")))


@service(P.USE)
def file_move(*, actor: Actor, volume_uid: UUID, path: str, to: str) -> None:
    """Move or rename a file or folder within its volume. Raises NoSuchFile, AlreadyThere, PathRefused."""
    volume = volume_writable_lock(actor, volume_uid)
    driver(volume).move(key_of(volume.uid), file_names(path.removesuffix("/")), file_names(to))


@service(P.USE)
def file_remove(*, actor: Actor, volume_uid: UUID, path: str) -> None:
    """Remove a file, or a folder with all that is in it, in one step (PLAT-ASSET-7). Raises NoSuchFile, PathRefused."""
    volume = volume_writable_lock(actor, volume_uid)
    names = file_names(path.removesuffix("/"))
    found = driver(volume).entry(key_of(volume.uid), names)
    if found is None:
        raise NoSuchFile(_("There is no %(path)s in the volume.") % {"path": path})
    gone = min(found.held_bytes, int(volume.used_bytes))
    Volume.objects.filter(pk=volume.pk).update(
        used_bytes=F("used_bytes") - gone, change_no=F("change_no") + 1
    )
    if found.kind == Kind.FOLDER:
        # What it held is known when it has been walked through.
        emit(VolumeChanged(current_schema(), str(volume.uid)), actor=actor)
    driver(volume).remove(key_of(volume.uid), names)


@service(P.USE)
def folder_remove_empty(*, actor: Actor, volume_uid: UUID, path: str) -> bool:
    """Remove a folder if it is empty; whether it was. Raises PathRefused."""
    volume = volume_writable_lock(actor, volume_uid)
    return driver(volume).folder_remove(key_of(volume.uid), file_names(path.removesuffix("/")))


@service(P.USE, recorded=False)
def file_date(*, actor: Actor, volume_uid: UUID, path: str, at: datetime) -> None:
    """Give a file the time at which its sender says it was last changed. Raises NoSuchFile, PathRefused."""
    volume = volume_writable_lock(actor, volume_uid)
    driver(volume).date(key_of(volume.uid), file_names(path), at)
