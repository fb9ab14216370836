"""Volumes below one folder: a local disk, or what is mounted there (NFS).

    <root>/.weir-storage               by what nodes know that they see this folder and no other
    <root>/<tenant>/<volume>/files     what people and work see
    <root>/<tenant>/<volume>/uploads   what is on its way
    <root>/<tenant>/<volume>/trash     what was removed and is not deleted yet

Every step from folder to folder is an `openat` that follows no link: whatever work puts into a volume, nothing outside
of it can be reached. Uploads lie on the same file system, so that a whole one is put in its place by a rename.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from apps.storage.drivers.deep_folders import files_below, tree_remove
from apps.storage.errors import AlreadyThere, NoSuchFile, PathRefused, StorageAway, StorageFull, UploadBusy
from apps.storage.paths import path_of
from apps.storage.types import Entry, Kind, Names, OpenFile
from node_agent.protocol.storage import STORAGE_MARK as MARK
from node_agent.protocol.storage import VOLUME_SIZE

# So much of the disk is left to others, whatever tenants send.
RESERVE_BYTES = 2 * 1024**3
_IDLE_S = 3600
_JOIN_BYTES = 4 * 2**20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Whoever put a pipe there does not make us wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ROOMS = ("files", "uploads", "trash")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ASTRAY = (errno.ELOOP, errno.ENOTDIR)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Work may date its files beyond the years that a calendar has.
_REACH_US = timedelta(days=365 * 900) // timedelta(microseconds=1)
_LIBC = ctypes.CDLL(None, use_errno=True)


class Directory:
    """The driver for a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    # ---- volumes ----

    def mark(self) -> str:
        place = self._root / MARK
        with _plainly():
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not place.exists():
                draft = self._root / f"{MARK}.{uuid4().hex}"
                draft.write_text(uuid4().hex)
                # Of two who come first at once the mark of one stays.
                with suppress(FileExistsError):
                    os.link(draft, place)
                draft.unlink()
            return place.read_text().strip()

    def volume_make(self, key: str) -> None:
        # Nodes look for it every few seconds: whoever mounts the first volume need not be refused until they have.
        self.mark()
        with _plainly():
            for room in _ROOMS:
                (self._root / key / room).mkdir(parents=True, exist_ok=True, mode=0o700)

    def size_tell(self, key: str, size_mib: int) -> None:
        place, text = self._root / key / VOLUME_SIZE, f"{size_mib}\n"
        with _plainly():
            with suppress(FileNotFoundError):
                if place.read_text() == text:
                    return
            draft = place.with_name(f"{VOLUME_SIZE}.{uuid4().hex}")
            try:
                draft.write_text(text)
                draft.rename(place)
            finally:
                draft.unlink(missing_ok=True)

    def volume_remove(self, key: str) -> None:
        tree_remove(self._root / key)

    def volumes_idle(self, tenant: str) -> list[UUID]:
        return _idle(self._root / tenant)

    def tidy(self, key: str) -> None:
        with suppress(OSError):
            for gone in (self._root / key / "trash").iterdir():
                is_folder = gone.is_dir() and not gone.is_symlink()
                tree_remove(gone) if is_folder else gone.unlink(missing_ok=True)

    def free_bytes(self) -> int:
        with _plainly():
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            return max(0, shutil.disk_usage(self._root).free - RESERVE_BYTES)

    def used_bytes(self, key: str) -> int:
        with _plainly(), self._folder(key, ()) as top:
            # Of a file with holes what it really holds.
            return sum(min(facts.st_size, facts.st_blocks * 512) for facts in files_below(top))

    # ---- folders and files ----

    def entries(self, key: str, folder: Names) -> Iterator[Entry]:
        with _plainly(folder), self._folder(key, folder) as fd, os.scandir(fd) as found:
            for one in found:
                with suppress(FileNotFoundError):
                    yield _entry(one.name, one.stat(follow_symlinks=False))

    def entry(self, key: str, path: Names) -> Entry | None:
        try:
            with _plainly(path), self._folder(key, path[:-1]) as fd:
                return _entry(path[-1], os.stat(path[-1], dir_fd=fd, follow_symlinks=False))
        except NoSuchFile:
            return None

    def file_open(self, key: str, path: Names) -> OpenFile:
        with _plainly(path), self._folder(key, path[:-1]) as folder:
            fd = os.open(path[-1], _FILE, dir_fd=folder)
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            os.close(fd)
            raise PathRefused(_("%(path)s is no file.") % {"path": path_of(path)})
        return OpenFile(fd, facts.st_size, _instant(facts), facts.st_ctime_ns)

    def folder_make(self, key: str, path: Names) -> None:
        with _plainly(path), self._folder(key, path[:-1], makes=True) as fd:
            os.mkdir(path[-1], 0o700, dir_fd=fd)

    def move(self, key: str, path: Names, to: Names) -> None:
        if to[: len(path)] == path:
            raise PathRefused(
                _("%(to)s lies within %(path)s.") % {"to": path_of(to), "path": path_of(path)},
                cure=_("Move it to a folder that is not its own."),
            )
        with _plainly(path), self._folder(key, path[:-1]) as source:
            facts = os.stat(path[-1], dir_fd=source, follow_symlinks=False)
            with _plainly(to), self._folder(key, to[:-1]) as target:
                if stat.S_ISDIR(facts.st_mode):
                    # An empty folder of that name would be replaced.
                    os.mkdir(to[-1], 0o700, dir_fd=target)
                else:
                    os.link(path[-1], to[-1], src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
                    os.unlink(path[-1], dir_fd=source)
                    return
                try:
                    os.rename(path[-1], to[-1], src_dir_fd=source, dst_dir_fd=target)
                except OSError:
                    with suppress(OSError):
                        os.rmdir(to[-1], dir_fd=target)
                    raise

    def remove(self, key: str, path: Names) -> None:
        with _plainly(path), self._folder(key, path[:-1]) as fd:
            facts = os.stat(path[-1], dir_fd=fd, follow_symlinks=False)
            if not stat.S_ISDIR(facts.st_mode):
                os.unlink(path[-1], dir_fd=fd)
                return
            os.rename(path[-1], self._root / key / "trash" / uuid4().hex, src_dir_fd=fd)

    def folder_remove(self, key: str, path: Names) -> bool:
        try:
            with _plainly(path), self._folder(key, path[:-1]) as fd:
                os.rmdir(path[-1], dir_fd=fd)
        except (AlreadyThere, StorageAway, NoSuchFile):
            return False
        return True

    def date(self, key: str, path: Names, at: datetime) -> None:
        with _plainly(path), self._folder(key, path[:-1]) as fd:
            os.utime(path[-1], (at.timestamp(), at.timestamp()), dir_fd=fd, follow_symlinks=False)

    # ---- uploads ----

    def upload_make(self, key: str, upload: UUID) -> None:
        with _plainly():
            os.close(os.open(self._part(key, upload), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def upload_write(self, key: str, upload: UUID, offset: int, piece: bytes) -> None:
        if self.free_bytes() < len(piece):
            raise StorageFull()
        with _plainly():
            fd = os.open(self._part(key, upload), os.O_WRONLY | os.O_CLOEXEC)
            try:
                # What a broken-off try wrote behind the acknowledged end is written over.
                os.ftruncate(fd, offset)
                view, done = memoryview(piece), 0
                while done < len(piece):
                    done += os.pwrite(fd, view[done:], offset + done)
                os.fdatasync(fd)
            finally:
                os.close(fd)

    def uploads_write(self, key: str, uploads: Sequence[tuple[UUID, bytes]]) -> None:
        if self.free_bytes() < sum(len(data) for _uid, data in uploads):
            raise StorageFull()
        try:
            with _plainly():
                for uid, data in uploads:
                    with open(self._part(key, uid), "xb", buffering=0, opener=_privately) as file:
                        view, done = memoryview(data), 0
                        while done < len(data):
                            done += file.write(view[done:])
        except BaseException:
            for uid, _data in uploads:
                with suppress(OSError):
                    self._part(key, uid).unlink(missing_ok=True)
            raise
        self.sync(key)

    def sync(self, key: str) -> None:
        with _plainly():
            fd = os.open(self._root / key / "uploads", _FOLDER)
            try:
                _file_system_sync(fd)
            finally:
                os.close(fd)

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
        part = self._part(key, upload)
        with _plainly(path):
            try:
                size = os.lstat(part).st_size
            except FileNotFoundError:
                # Its bytes leave here by this rename alone: it was done, and whoever did it did not live to say so.
                return 0
            if modified_ns is not None:
                os.utime(part, ns=(modified_ns, modified_ns))
            with self._folder(key, path[:-1], makes=True) as fd:
                replaced = 0
                with suppress(FileNotFoundError):
                    there = os.stat(path[-1], dir_fd=fd, follow_symlinks=False)
                    if stat.S_ISDIR(there.st_mode):
                        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                    replaced = _held(there)
                if replaces:
                    os.rename(part, path[-1], dst_dir_fd=fd)
                else:
                    self._link(part, fd, path[-1])
                if is_synced:
                    os.fsync(fd)
                return size - replaced if replaces else size

    @staticmethod
    def _link(part: Path, folder: int, name: str) -> None:
        """Give a whole upload its name, which nothing may have; an upload that has it already was broken off here."""
        try:
            os.link(part, name, dst_dir_fd=folder)
        except FileExistsError:
            if not os.path.samestat(os.lstat(part), os.stat(name, dir_fd=folder, follow_symlinks=False)):
                raise
        os.unlink(part)

    def upload_join(self, key: str, upload: UUID, parts: Sequence[tuple[UUID, int]]) -> None:
        files = [(self._part(key, part), size) for part, size in parts]
        with _plainly():
            try:
                # With its first part gone and no whole it has been put in its place: an empty one must not come after.
                makes = os.O_CREAT if files[0][0].exists() else 0
                fd = os.open(self._part(key, upload), os.O_WRONLY | os.O_CLOEXEC | makes, 0o600)
            except FileNotFoundError:
                return
            with os.fdopen(fd, "wb") as whole:
                _join(whole, files)

    def upload_remove(self, key: str, upload: UUID) -> None:
        with _plainly():
            self._part(key, upload).unlink(missing_ok=True)

    def uploads_idle(self, key: str) -> list[UUID]:
        return _idle(self._root / key / "uploads")

    # ---- the way there ----

    def _part(self, key: str, upload: UUID) -> Path:
        return self._root / key / "uploads" / str(upload)

    @contextmanager
    def _folder(self, key: str, names: Names, *, makes: bool = False) -> Iterator[int]:
        """A folder of a volume, held open: step by step from its top, through no link."""
        fd = os.open(self._root / key / "files", _FOLDER)
        try:
            for name in names:
                if makes:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=fd)
                below = os.open(name, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)


def _join(whole: BinaryIO, parts: list[tuple[Path, int]]) -> None:
    """Append each part, whose file goes when its bytes are safe: what is gone is there already, and what a broken-off
    try has copied some of is copied anew."""
    try:
        fcntl.flock(whole, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UploadBusy() from error
    begin = 0
    for part, size in parts:
        if part.exists():
            whole.truncate(begin)
            whole.seek(begin)
            with part.open("rb") as source:
                shutil.copyfileobj(source, whole, _JOIN_BYTES)
            whole.flush()
            os.fdatasync(whole.fileno())
            part.unlink()
        begin += size
    if os.fstat(whole.fileno()).st_size != begin:
        raise StorageAway(cure=_("Send the file again."))


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _file_system_sync(fd: int) -> None:
    """Bring all that was written to the file system of `fd` to disk: for a thousand small files once, and not each."""
    if _LIBC.syncfs(fd):
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault))


def _idle(folder: Path) -> list[UUID]:
    """What was named by a uid there, and not touched for an hour."""
    found = []
    with suppress(OSError):
        for one in folder.iterdir():
            with suppress(OSError, ValueError):
                if time.time() - one.lstat().st_mtime > _IDLE_S:
                    found.append(UUID(one.name))
    return found


def _entry(name: str, facts: os.stat_result) -> Entry:
    kind = (
        Kind.FOLDER
        if stat.S_ISDIR(facts.st_mode)
        else Kind.FILE
        if stat.S_ISREG(facts.st_mode)
        else Kind.LINK
        if stat.S_ISLNK(facts.st_mode)
        else Kind.OTHER
    )
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    size_bytes = facts.st_size if kind == Kind.FILE else 0
    return Entry(shown, kind, size_bytes, _instant(facts), facts.st_ctime_ns, _held(facts))


def _held(facts: os.stat_result) -> int:
    """What is free when this name goes. Work makes files with holes, and files with several names."""
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
        return 0
    return min(facts.st_size, facts.st_blocks * 512)


def _instant(facts: os.stat_result) -> datetime:
    # A float of seconds would lose the last microsecond, by which a copy knows its original.
    since = timedelta(microseconds=min(max(facts.st_mtime_ns // 1000, -_REACH_US), _REACH_US))
    return _EPOCH + since


@contextmanager
def _plainly(path: Names = ()) -> Iterator[None]:
    """What the kernel refuses, in the product's words."""
    shown = path_of(path)
    try:
        yield
    except FileNotFoundError as error:
        raise NoSuchFile(_("There is no %(path)s in the volume.") % {"path": shown or "/"}) from error
    except FileExistsError as error:
        raise AlreadyThere(_("%(path)s is there already.") % {"path": shown}) from error
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull() from error
        if error.errno in _ASTRAY:
            raise PathRefused(
                _("%(path)s leads through a link or through a file.") % {"path": shown}
            ) from error
        raise StorageAway(cure=str(error.strerror)) from error
