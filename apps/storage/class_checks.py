"""Whether a storage works: a file is written there, read and deleted, and the time that this takes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from apps.centre.models import StorageClass
from apps.centre.states import StorageKind
from apps.kernel.errors import WeirError
from apps.storage.drivers.base import Driver
from apps.storage.drivers.chosen import driver_made
from apps.storage.drivers.directory import Directory
from apps.storage.drivers.mounted import mount_check
from apps.storage.errors import StorageAway

# A network's file system can hang, and whoever asks it with it.
WAITED_S = 20.0
_TRIED = ("tried", "weir.txt")


@dataclass(frozen=True, slots=True)
class Tried:
    """What a storage bears as its mark, and how long it took to write, read and delete a file there."""

    mark: str
    ms: int


def storage_try(row: StorageClass, secret: str) -> Tried:
    """Try the storage of a class, saved or not. Raises StorageAway, StorageFull, AddressRefused with what is wrong."""
    found: list[Tried | WeirError] = []
    language = get_language() or "en"

    def tried() -> None:
        try:
            with override(language):
                found.append(_tried(row, secret))
        except WeirError as error:
            found.append(error)
        except Exception as error:
            found.append(StorageAway(cure=f"{type(error).__name__}: {error}"[:300]))

    _waited(tried)
    if not found:
        raise StorageAway(
            cure=_("It did not answer within %(seconds)s seconds.") % {"seconds": round(WAITED_S)}
        )
    if isinstance(found[0], WeirError):
        raise found[0]
    return found[0]


def _waited(act: Callable[[], None]) -> None:
    thread = threading.Thread(target=act, name="storage check", daemon=True)
    thread.start()
    thread.join(WAITED_S)


def _tried(row: StorageClass, secret: str) -> Tried:
    if row.kind == StorageKind.MOUNTED:
        mount_check(Path(row.path))
        row.mark = row.mark or Directory(Path(row.path)).mark()
    store = driver_made(row, secret)
    mark, began = store.mark(), time.monotonic()
    _file_tried(store)
    return Tried(mark, max(1, round((time.monotonic() - began) * 1000)))


def _file_tried(store: Driver) -> None:
    key, upload, data = f"weircheck/{uuid4()}", uuid4(), uuid4().bytes
    try:
        store.volume_make(key)
        store.upload_make(key, upload)
        store.upload_write(key, upload, 0, data)
        store.upload_place(key, upload, _TRIED, replaces=False)
        opened = store.file_open(key, _TRIED)
        try:
            read = os.pread(opened.fd, len(data) + 1, 0)
        finally:
            os.close(opened.fd)
        if read != data:
            raise StorageAway(cure=_("It does not give back what was written there."))
        store.remove(key, _TRIED)
    finally:
        store.volume_remove(key)
