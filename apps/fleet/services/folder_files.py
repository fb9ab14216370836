"""The archives of folders on their way to a node, from another or from who sent them along with work: a folder for
each, a file for each piece.

They lie beside the database and in no backup: what is lost here is fetched from its node, or sent, again.
"""

import io
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.utils.translation import gettext as _

from apps.fleet.errors import FolderStoreFull
from apps.kernel.errors import NotFound

# So much of the disk is left to others, whatever tenants send.
RESERVE_BYTES = 2 * 1024**3


def piece_put(transfer: UUID, number: int, piece: bytes) -> None:
    """Store a piece in one step. Raises FolderStoreFull where the disk has no room for it."""
    place = _place(transfer)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if shutil.disk_usage(place).free < RESERVE_BYTES:
            raise FolderStoreFull(_("The portal's disk is nearly full."))
        part = place / f".{number}.{uuid4().hex}"
        try:
            part.write_bytes(piece)
            os.replace(part, place / str(number))
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise FolderStoreFull(
            _("The portal cannot store the folder: %(cause)s.") % {"cause": error.strerror}
        ) from error


def piece_get(transfer: UUID, number: int) -> bytes:
    """A piece. Raises NotFound."""
    try:
        return (_place(transfer) / str(number)).read_bytes()
    except OSError as error:
        raise NotFound() from error


class ArchiveReader(io.RawIOBase):
    """The pieces of an archive, read one behind the other. Raises NotFound where one is missing."""

    def __init__(self, transfer: UUID, pieces: int) -> None:
        self._transfer, self._left, self._piece = transfer, iter(range(pieces)), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._piece:
            number = next(self._left, None)
            if number is None:
                return 0
            self._piece = memoryview(piece_get(self._transfer, number))
        length = min(len(buffer), len(self._piece))
        buffer[:length], self._piece = self._piece[:length], self._piece[length:]
        return length


def size_of(transfer: UUID, pieces: int) -> int | None:
    """How long the first so many pieces are together; None where one is missing."""
    try:
        return sum((_place(transfer) / str(number)).stat().st_size for number in range(pieces))
    except OSError:
        return None


def pieces_there(transfer: UUID) -> dict[int, int]:
    """The pieces that are stored: how long each is, by its number."""
    try:
        return {
            int(path.name): path.stat().st_size
            for path in _place(transfer).iterdir()
            if path.name.isdecimal()
        }
    except FileNotFoundError:
        return {}


def archives_remove(transfers: Iterable[UUID]) -> None:
    """Delete archives; what cannot be deleted now is found by the sweep."""
    for transfer in transfers:
        shutil.rmtree(_place(transfer), ignore_errors=True)


def archives_sweep(known: Iterable[UUID], now: datetime) -> int:
    """Delete the archives that nobody knows and that have not been touched for an hour; how many."""
    kept, gone = {str(uid) for uid in known}, 0
    with suppress(OSError):
        for place in Path(settings.WEIR_FOLDERS_DIR).iterdir():
            touched = datetime.fromtimestamp(place.stat().st_mtime, tz=now.tzinfo)
            if place.name not in kept and now - touched > timedelta(hours=1):
                shutil.rmtree(place, ignore_errors=True)
                gone += 1
    return gone


def _place(transfer: UUID) -> Path:
    return Path(settings.WEIR_FOLDERS_DIR) / str(transfer)
