"""Many small files into a volume, and out of it, by one request: each whole or not at all."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.db.models import F
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.service import service
from apps.storage.drivers.base import Driver
from apps.storage.drivers.chosen import driver
from apps.storage.errors import PathRefused
from apps.storage.models import Volume
from apps.storage.paths import file_names
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import key_of, opened_file, volume_open, volume_writable
from apps.storage.services.uploads import replaced_bytes, room_check
from apps.storage.services.volumes import volume_writable_lock
from apps.storage.types import Names
from weir_wire.bundle import FILE_BYTES_MOST, FILES_MOST, BundleFile


@dataclass(frozen=True, slots=True)
class FileRefused:
    """A file of a bundle that was not taken, and why."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class BundleTaken:
    taken: int
    refused: list[FileRefused]


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of a bundle that is on disk, and not in its place yet."""

    uid: UUID
    file: BundleFile
    names: Names


@service(P.USE)
def bundle_take(*, actor: Actor, volume_uid: UUID, files: Sequence[BundleFile]) -> BundleTaken:
    """Put files of up to `FILE_BYTES_MOST` in their places, in the place of those that are there; on disk when this
    returns. Taken again it changes nothing. A file that has no room, or no path within the volume, is refused by
    itself.

    Raises:
        InvalidInput: two files go to one place.
        StorageFull: the disk has no room for them together; nothing was taken.
        VolumeEnded: the order of the volume has ended.
    """
    refused: list[FileRefused] = []
    found = volume_writable(actor=actor, uid=volume_uid)
    key, store = key_of(found.uid), driver(found)
    parts = _parts(files, refused)
    store.uploads_write(key, [(part.uid, part.file.data) for part in parts])
    try:
        volume = volume_writable_lock(actor, volume_uid)
        grown = _place(store, volume, key, parts, refused)
    except BaseException:
        _forget(store, key, parts)
        raise
    # Of what was refused bytes are left.
    _forget(store, key, parts)
    store.sync(key)
    changed = {"used_bytes": max(0, int(volume.used_bytes) + grown), "change_no": F("change_no") + 1}
    Volume.objects.filter(pk=volume.pk).update(**changed)
    taken = len(files) - len(refused)
    act_subject("volume", volume.uid, name=volume.name, files=taken, refused=len(refused))
    return BundleTaken(taken, refused)


def _parts(files: Sequence[BundleFile], refused: list[FileRefused]) -> list[_Part]:
    if len({file.path for file in files}) < len(files):
        raise InvalidInput(_("Two files of the bundle go to one place."))
    parts = []
    for file in files:
        try:
            parts.append(_Part(uuid4(), file, file_names(file.path)))
        except PathRefused as error:
            refused.append(_refusal(file, error))
    return parts


def _refusal(file: BundleFile, error: WeirError) -> FileRefused:
    return FileRefused(file.path, error.code, str(error.message))


def _place(
    store: Driver, volume: Volume, key: str, parts: Iterable[_Part], refused: list[FileRefused]
) -> int:
    """Give each its place, as far as there is room; by how many bytes the volume has grown."""
    total = 0
    for part in parts:
        try:
            replaced = replaced_bytes(volume, part.names, replaces=True)
            room_check(volume, len(part.file.data) + total, replaced)
            total += store.upload_place(
                key,
                part.uid,
                part.names,
                replaces=True,
                modified_ns=part.file.modified_ns,
                is_synced=False,
            )
        except WeirError as error:
            refused.append(_refusal(part.file, error))
    return total


def _forget(store: Driver, key: str, parts: Iterable[_Part]) -> None:
    for part in parts:
        with suppress(WeirError):
            store.upload_remove(key, part.uid)


def bundle_give(*, actor: Actor, volume_uid: UUID, paths: Sequence[str], most_bytes: int) -> list[BundleFile]:
    """The small files at these paths, in their order, as far as they fit into `most_bytes`; what is no file, not there,
    or too large is left out, to be read by itself."""
    if len(paths) > FILES_MOST:
        raise InvalidInput(fields={"paths": _("At most %(most)s.") % {"most": FILES_MOST}})
    actor.require(P.VIEW)
    volume = volume_open(actor=actor, uid=volume_uid)
    found, room = [], most_bytes
    for path in paths:
        # It is read by itself then, and says what is wrong with it.
        with suppress(WeirError):
            file = opened_file(volume, path)
            try:
                if file.size_bytes > min(FILE_BYTES_MOST, room):
                    continue
                modified_ns = os.fstat(file.fd).st_mtime_ns
                data = os.read(file.fd, file.size_bytes) if file.size_bytes else b""
            finally:
                os.close(file.fd)
            if len(data) == file.size_bytes:
                found.append(BundleFile(path, data, max(0, modified_ns)))
                room -= len(data)
    return found
