"""What a storage driver does: keep the files of volumes, and the uploads on their way into them.

A volume is addressed by its key, which no person chooses; a path within it is a tuple of names that `paths.py` has
checked. A driver never leaves the volume, whatever stands in it: work may have put links there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from apps.storage.types import Entry, Names, OpenFile


class Driver(Protocol):
    """Raises NoSuchFile, PathRefused, AlreadyThere, StorageFull and StorageAway of `apps.storage.errors`."""

    def mark(self) -> str:
        """What this storage is known by where nodes mount it: written there with the first volume; "" where nodes can
        mount nothing of it."""

    def volume_make(self, key: str) -> None:
        """Make an empty volume; one that is there stays."""

    def size_tell(self, key: str, size_mib: int) -> None:
        """Write down how large a volume is, for the nodes that hold work to it; said again it changes nothing."""

    def volume_remove(self, key: str) -> None:
        """Delete a volume with all that is in it."""

    def volumes_idle(self, tenant: str) -> list[UUID]:
        """The volumes of a tenant that lie here and were not made within the last hour."""

    def entries(self, key: str, folder: Names) -> Iterator[Entry]:
        """What stands in a folder, in no order."""

    def entry(self, key: str, path: Names) -> Entry | None:
        """What stands at a path; None for nothing."""

    def file_open(self, key: str, path: Names) -> OpenFile:
        """A file for reading."""

    def folder_make(self, key: str, path: Names) -> None:
        """Make a folder, and those above it that are missing."""

    def move(self, key: str, path: Names, to: Names) -> None:
        """Move or rename; what stands there already is never replaced."""

    def remove(self, key: str, path: Names) -> None:
        """Take a file or a whole folder out in one step; the room of a folder is given back by `tidy`."""

    def folder_remove(self, key: str, path: Names) -> bool:
        """Remove an empty folder; whether it was one."""

    def date(self, key: str, path: Names, at: datetime) -> None:
        """Say when a file was last changed."""

    def tidy(self, key: str) -> None:
        """Give back the room of what was removed."""

    def used_bytes(self, key: str) -> int:
        """What the files of a volume hold, measured by walking through them."""

    def free_bytes(self) -> int:
        """What the storage itself has left."""

    def upload_make(self, key: str, upload: UUID) -> None:
        """Begin an upload."""

    def upload_write(self, key: str, upload: UUID, offset: int, piece: bytes) -> None:
        """Write a piece; when this returns it outlives the machine's power."""

    def uploads_write(self, key: str, uploads: Sequence[tuple[UUID, bytes]]) -> None:
        """Begin several small uploads and write them whole; when this returns they outlive the machine's power."""

    def upload_place(
        self,
        key: str,
        upload: UUID,
        path: Names,
        *,
        replaces: bool,
        modified_ns: int | None = None,
        is_synced: bool = True,
    ) -> int:
        """Put a whole upload in its place in one step, as last changed at `modified_ns` (None: now); by how many bytes
        the volume has grown. Done twice it is done once. Where it is not `is_synced`, `sync` is to follow."""

    def sync(self, key: str) -> None:
        """When this returns, what was put in its place before outlives the machine's power."""

    def upload_join(self, key: str, upload: UUID, parts: Sequence[tuple[UUID, int]]) -> None:
        """Make an upload of others, each with its size, which are forgotten: in this order. What was broken off is gone
        on with; done twice, also when it has been put in its place, it is done once. Raises UploadBusy while another
        does it."""

    def upload_remove(self, key: str, upload: UUID) -> None:
        """Forget an upload; one that is not there is forgotten."""

    def uploads_idle(self, key: str) -> list[UUID]:
        """The uploads that have bytes here, and got none within the last hour."""
