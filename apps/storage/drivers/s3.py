"""Volumes in a bucket of an S3 server, below its prefix.

    .weir-storage                                by what nodes know that they see this bucket, where one is mounted
    <tenant>/<volume>/.weir-volume               that there is such a volume
    <tenant>/<volume>/size                       how large it is in MiB, for nodes that hold work to it
    <tenant>/<volume>/files/<path>               a file
    <tenant>/<volume>/files/<path>/.weir-folder  a folder, also where it is empty
    <tenant>/<volume>/uploads/<upload>/<offset>  a piece of an upload
    <tenant>/<volume>/parts/<target>             what a large file is being made of (`s3_assembly.py`)

The names of files are those of a folder of volumes (`directory.py`), so that a node that mounts the bucket finds them
where work looks for them. What an object store cannot do in one step is done step by step: a folder is moved and
removed file by file, and whoever looks meanwhile sees part of it. A file takes its place whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.storage.drivers.directory import RESERVE_BYTES
from apps.storage.drivers.s3_assembly import Limits, assemble, given_up
from apps.storage.drivers.s3_client import Bucket, S3Client, Stored
from apps.storage.errors import AlreadyThere, NoSuchFile, PathRefused, StorageAway, StorageFull
from apps.storage.paths import path_of
from apps.storage.types import Entry, Kind, Names, OpenFile
from node_agent.protocol.storage import STORAGE_MARK, VOLUME_SIZE

FOLDER, VOLUME = ".weir-folder", ".weir-volume"
_IDLE, _FORGOTTEN = timedelta(hours=1), timedelta(days=1)
_TIME = "weir-mtime-ns"
_UNBOUNDED = 2**60


class S3:
    """The driver for a bucket."""

    def __init__(self, bucket: Bucket, limits: Limits = Limits()) -> None:
        self._s3, self._limits = S3Client(bucket), limits

    # ---- volumes ----

    def mark(self) -> str:
        held = self._s3.small(STORAGE_MARK)
        if held is None:
            self._s3.put(STORAGE_MARK, uuid4().hex.encode())
            held = self._s3.small(STORAGE_MARK)
        if held is None:
            raise StorageAway()
        return held.decode("ascii", "replace").strip()

    def volume_make(self, key: str) -> None:
        self.mark()
        self._s3.put(f"{key}/{VOLUME}", b"")

    def size_tell(self, key: str, size_mib: int) -> None:
        name, text = f"{key}/{VOLUME_SIZE}", f"{size_mib}\n".encode()
        if self._s3.small(name) != text:
            self._s3.put(name, text)

    def volume_remove(self, key: str) -> None:
        for note in list(self._objects(f"{key}/parts/")):
            given_up(self._s3, note.key)
        self._clear(f"{key}/")

    def volumes_idle(self, tenant: str) -> list[UUID]:
        found = []
        for group in self._s3.list(f"{tenant}/", is_grouped=True):
            with suppress(ValueError):
                uid = UUID(str(group).rstrip("/").rpartition("/")[2]) if isinstance(group, str) else None
                made = self._s3.head(f"{group}{VOLUME}") if uid else None
                if uid and (made is None or timezone.now() - made.modified > _IDLE):
                    found.append(uid)
        return found

    def tidy(self, key: str) -> None:
        """Forget what was begun and not gone on with; what is removed is gone at once."""
        for note in list(self._objects(f"{key}/parts/")):
            if timezone.now() - note.modified > _FORGOTTEN:
                given_up(self._s3, note.key)

    def free_bytes(self) -> int:
        """A bucket does not say what it has left; what is too much for it is refused when it comes."""
        return _UNBOUNDED

    def used_bytes(self, key: str) -> int:
        return sum(one.size_bytes for one in self._objects(f"{key}/files/"))

    # ---- folders and files ----

    def entries(self, key: str, folder: Names) -> Iterator[Entry]:
        top = self._folder(key, folder)
        if folder and not self._is_folder(key, folder):
            raise _missing(folder)
        for one in self._s3.list(top, is_grouped=True):
            if isinstance(one, str):
                yield Entry(one[len(top) :].rstrip("/"), Kind.FOLDER, 0, _EPOCH)
            elif (name := one.key[len(top) :]) and name != FOLDER:
                yield _entry(name, one)

    def entry(self, key: str, path: Names) -> Entry | None:
        self._way_check(key, path)
        found = self._s3.head(self._file(key, path))
        if found is not None:
            return _entry(path[-1], found)
        return Entry(path[-1], Kind.FOLDER, 0, _EPOCH) if self._is_folder(key, path) else None

    def file_open(self, key: str, path: Names) -> OpenFile:
        """Fetched whole to a file without a name first: what is read then is what the server said there was."""
        found = self._s3.head(self._file(key, path))
        if found is None:
            if self._is_folder(key, path):
                raise PathRefused(_("%(path)s is no file.") % {"path": path_of(path)})
            raise _missing(path)
        Path(settings.WEIR_FOLDERS_DIR).mkdir(parents=True, exist_ok=True, mode=0o700)
        if shutil.disk_usage(settings.WEIR_FOLDERS_DIR).free - RESERVE_BYTES < found.size_bytes:
            raise StorageFull()
        with tempfile.TemporaryFile(dir=settings.WEIR_FOLDERS_DIR) as file:
            try:
                self._s3.read(found.key, file, found.size_bytes)
                file.flush()
            except OSError as error:
                raise StorageFull() from error
            fd = os.dup(file.fileno())
        entry = _entry(path[-1], found)
        os.lseek(fd, 0, os.SEEK_SET)
        stamp = int(entry.modified_at.timestamp() * 1e9)
        os.utime(fd, ns=(stamp, stamp))
        return OpenFile(fd, found.size_bytes, entry.modified_at, entry.changed_ns)

    def folder_make(self, key: str, path: Names) -> None:
        self._way_check(key, path)
        if self.entry(key, path) is not None:
            raise AlreadyThere(_("%(path)s is there already.") % {"path": path_of(path)})
        self._folders_make(key, path)

    def move(self, key: str, path: Names, to: Names) -> None:
        if to[: len(path)] == path:
            raise PathRefused(
                _("%(to)s lies within %(path)s.") % {"to": path_of(to), "path": path_of(path)},
                cure=_("Move it to a folder that is not its own."),
            )
        found = self.entry(key, path)
        if found is None:
            raise _missing(path)
        if len(to) > 1 and not self._is_folder(key, to[:-1]):
            raise _missing(to[:-1])
        if self.entry(key, to) is not None:
            raise AlreadyThere(_("%(path)s is there already.") % {"path": path_of(to)})
        if found.kind == Kind.FILE:
            self._object_move(key, self._file(key, path), self._file(key, to), found.size_bytes)
            return
        source, target = self._folder(key, path), self._folder(key, to)
        for one in list(self._objects(source)):
            self._object_move(key, one.key, f"{target}{one.key[len(source) :]}", one.size_bytes)
        self._folders_make(key, to)

    def remove(self, key: str, path: Names) -> None:
        found = self.entry(key, path)
        if found is None:
            raise _missing(path)
        # A folder that held nothing else stays when what was in it goes.
        self._folders_make(key, path[:-1])
        if found.kind == Kind.FILE:
            self._s3.remove([self._file(key, path)])
        else:
            self._clear(self._folder(key, path))

    def folder_remove(self, key: str, path: Names) -> bool:
        top = self._folder(key, path)
        held = [one for one in self._few(top) if one.key != f"{top}{FOLDER}"]
        if held or not self._is_folder(key, path):
            return False
        self._folders_make(key, path[:-1])
        self._s3.remove([f"{top}{FOLDER}"])
        return True

    def date(self, key: str, path: Names, at: datetime) -> None:
        name = self._file(key, path)
        found = self._s3.head(name)
        if found is None:
            raise _missing(path)
        self._compose(key, [found], name, {_TIME: str(int(at.timestamp() * 1e9))})

    # ---- uploads ----

    def upload_make(self, key: str, upload: UUID) -> None:
        self._s3.put(self._piece(key, upload, 0), b"")

    def upload_write(self, key: str, upload: UUID, offset: int, piece: bytes) -> None:
        self._s3.put(self._piece(key, upload, offset), piece)

    def uploads_write(self, key: str, uploads: Sequence[tuple[UUID, bytes]]) -> None:
        try:
            for uid, data in uploads:
                self._s3.put(self._piece(key, uid, 0), data)
        except BaseException:
            for uid, _data in uploads:
                with suppress(StorageAway, StorageFull):
                    self.upload_remove(key, uid)
            raise

    def sync(self, key: str) -> None:
        """What the server has acknowledged it keeps."""

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
        pieces = self._pieces(key, upload)
        if not pieces:
            # They leave here when the file has its place: it was done, and whoever did it did not live to say so.
            return 0
        there = self.entry(key, path)
        if there is not None and (there.kind == Kind.FOLDER or not replaces):
            raise AlreadyThere(_("%(path)s is there already.") % {"path": path_of(path)})
        size = sum(one.size_bytes for one in pieces)
        metadata = {} if modified_ns is None else {_TIME: str(modified_ns)}
        if len(path) > 1:
            self._folders_make(key, path[:-1])
        self._compose(key, pieces, self._file(key, path), metadata)
        placed = self._s3.head(self._file(key, path))
        if placed is None or placed.size_bytes != size:
            self._s3.remove([self._file(key, path)])
            raise StorageAway(cure=_("The storage did not keep the whole file: try again."))
        self.upload_remove(key, upload)
        return size - (there.size_bytes if there is not None else 0)

    def upload_join(self, key: str, upload: UUID, parts: Sequence[tuple[UUID, int]]) -> None:
        begin = 0
        for part, size in parts:
            for one in self._pieces(key, part):
                offset = int(one.key.rpartition("/")[2])
                # What another try has moved already is there.
                with suppress(NoSuchFile):
                    self._s3.copy(one.key, self._piece(key, upload, begin + offset))
            self.upload_remove(key, part)
            begin += size
        if sum(one.size_bytes for one in self._pieces(key, upload)) not in (0, begin):
            raise StorageAway(cure=_("Send the file again."))

    def upload_remove(self, key: str, upload: UUID) -> None:
        self._clear(f"{key}/uploads/{upload}/")

    def uploads_idle(self, key: str) -> list[UUID]:
        newest: dict[UUID, datetime] = {}
        top = f"{key}/uploads/"
        for one in self._objects(top):
            with suppress(ValueError):
                uid = UUID(one.key[len(top) :].partition("/")[0])
                newest[uid] = max(one.modified, newest.get(uid, one.modified))
        return [uid for uid, at in newest.items() if timezone.now() - at > _IDLE]

    # ---- objects ----

    def _file(self, key: str, path: Names) -> str:
        return f"{key}/files/{path_of(path)}"

    def _folder(self, key: str, path: Names) -> str:
        return f"{key}/files/{path_of(path)}/" if path else f"{key}/files/"

    def _piece(self, key: str, upload: UUID, offset: int) -> str:
        return f"{key}/uploads/{upload}/{offset:020d}"

    def _objects(self, prefix: str) -> Iterator[Stored]:
        return (one for one in self._s3.list(prefix) if isinstance(one, Stored))

    def _few(self, prefix: str) -> list[Stored]:
        found = self._s3.list(prefix, most=2)
        return [one for one, _n in zip(found, range(2), strict=False) if isinstance(one, Stored)]

    def _is_folder(self, key: str, path: Names) -> bool:
        return bool(self._few(self._folder(key, path)))

    def _way_check(self, key: str, path: Names) -> None:
        """PathRefused where a file stands on the way, and for what folders are marked by."""
        if FOLDER in path:
            raise PathRefused(_("No file is called %(name)s here.") % {"name": FOLDER})
        for depth in range(1, len(path)):
            if self._s3.head(self._file(key, path[:depth])) is not None:
                raise PathRefused(
                    _("%(path)s leads through a link or through a file.") % {"path": path_of(path)}
                )

    def _folders_make(self, key: str, path: Names) -> None:
        for depth in range(1, len(path) + 1):
            name = f"{self._folder(key, path[:depth])}{FOLDER}"
            if self._s3.head(name) is None:
                self._s3.put(name, b"")

    def _clear(self, prefix: str) -> None:
        self._s3.remove([one.key for one in self._objects(prefix)])

    def _object_move(self, key: str, source: str, target: str, size_bytes: int) -> None:
        if size_bytes <= self._limits.copy_most:
            self._s3.copy(source, target)
        else:
            found = self._s3.head(source)
            if found is None:
                raise StorageAway()
            self._compose(key, [found], target, found.metadata)
            placed = self._s3.head(target)
            if placed is None or placed.size_bytes != found.size_bytes:
                raise StorageAway(cure=_("The storage did not keep the whole file: try again."))
        self._s3.remove([source])

    def _pieces(self, key: str, upload: UUID) -> list[Stored]:
        """Those that make up what was received, each beginning where the one before ends."""
        found, begin = [], 0
        for one in sorted(self._objects(f"{key}/uploads/{upload}/"), key=lambda each: each.key):
            if int(one.key.rpartition("/")[2]) == begin:
                found.append(one)
                begin += one.size_bytes
        return found

    def _compose(self, key: str, pieces: Sequence[Stored], target: str, metadata: dict[str, str]) -> None:
        """Make a file of pieces, by the server itself where it can."""
        note = f"{key}/parts/{hashlib.sha256(target.encode()).hexdigest()[:32]}"
        assemble(self._s3, pieces, target, metadata, note, self._limits)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _missing(path: Names) -> NoSuchFile:
    return NoSuchFile(_("There is no %(path)s in the volume.") % {"path": path_of(path) or "/"})


def _entry(name: str, one: Stored) -> Entry:
    """By the time that its sender gave it, where the server tells of that; a list does not."""
    modified = one.modified
    with suppress(KeyError, ValueError, OverflowError):
        modified = _EPOCH + timedelta(microseconds=int(one.metadata[_TIME]) // 1000)
    changed_ns = int(one.modified.timestamp() * 1e9)
    return Entry(name, Kind.FILE, one.size_bytes, modified, changed_ns, one.size_bytes)
