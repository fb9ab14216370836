"""Folders between this machine and volumes: small files together, several at a time, and not those that are there."""

from __future__ import annotations

import base64
import hashlib
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from weir.crew import Crew
from weir.errors import ApiError, Unreachable, WeirClientError
from weir.files.volume_files import Copied, Progress, Sender, fetch_file, patiently
from weir.volumes import Volumes
from weir_wire.bundle import FILE_BYTES_MOST, FILES_MOST, BundleFile, bundle_pack, bundle_unpack

if TYPE_CHECKING:
    from weir.api_types import EntryOut, VolumeOut

WORKERS = 4
# What goes into a bundle is held in memory, at both ends; more files in one make it no faster.
_BUNDLE_FILES = min(FILES_MOST, 500)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Facts = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Small:
    """A file for a bundle: where it is, where it goes, its size and the time of its last change."""

    here: Path
    there: str
    size: int
    modified_ns: int


class _Tally:
    """How far a whole folder is, told as one."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name, self._progress, self._lock = name, progress, Lock()
        self._seen = self._done = 0

    def seen(self, size: int) -> None:
        with self._lock:
            self._seen += size

    def moved(self, size: int) -> None:
        with self._lock:
            self._done += size
            # The last word is said at the end: until then more may be found.
            self._progress(self._name, min(self._done, max(0, self._seen - 1)), self._seen)

    def of_file(self) -> Progress:
        """The progress of one file of it."""
        before = 0

        def show(_path: str, done: int, _size: int) -> None:
            nonlocal before
            self.moved(done - before)
            before = done

        return show

    def end(self) -> None:
        self._progress(self._name, self._seen, self._seen)


def bring_tree(
    client: Volumes, volume: VolumeOut, source: Path, to: str, *, is_all: bool, progress: Progress
) -> Copied:
    """Copy a folder with all in it to a path of a volume. Files that are there with the same size and time of change
    are passed over, unless `is_all`."""
    sending = _Bringing(client, volume, _Tally(source.name, progress))
    with Crew(WORKERS) as crew:
        sending.walk(crew, source, to, is_all=is_all)
    sending.tally.end()
    return sending.done


class _Bringing:
    def __init__(self, client: Volumes, volume: VolumeOut, tally: _Tally) -> None:
        self._client, self._volume, self.tally = client, volume, tally
        self._sender = Sender(client, volume)
        self._lock = Lock()
        self.done = self._sender.done
        self._small: list[_Small] = []
        self._small_bytes = 0

    def walk(self, crew: Crew, source: Path, to: str, *, is_all: bool) -> None:
        there = _There(self._client, self._volume["uid"])
        for folder, below, names in os.walk(source):
            at = posixpath.normpath(posixpath.join(to, Path(folder).relative_to(source).as_posix()))
            known = there.files(at)
            for name in sorted(
                names + [name for name in below if os.path.islink(os.path.join(folder, name))]
            ):
                self._file(crew, Path(folder) / name, posixpath.join(at, name), {} if is_all else known)
            if not names and not below:
                self._sender.folder(at)
        self._flush(crew)

    def _file(self, crew: Crew, file: Path, to: str, known: dict[str, Facts]) -> None:
        if file.is_symlink() or not file.is_file():
            self.done.left_out.append(f"{file}: neither a file nor a folder")
            return
        facts = file.stat()
        if known.get(file.name) == (facts.st_size, facts.st_mtime_ns // 1000):
            self.done.there += 1
            return
        self.tally.seen(facts.st_size)
        if facts.st_size > small_bytes(self._volume):
            crew.do(self._sender.send, file, to, self.tally.of_file())
            return
        if (
            self._small_bytes + facts.st_size > _bundle_bytes(self._volume)
            or len(self._small) >= _BUNDLE_FILES
        ):
            self._flush(crew)
        self._small.append(_Small(file, to, facts.st_size, facts.st_mtime_ns))
        self._small_bytes += facts.st_size

    def _flush(self, crew: Crew) -> None:
        if self._small:
            crew.do(self._send, self._small)
        self._small, self._small_bytes = [], 0

    def _send(self, files: list[_Small]) -> None:
        held = [BundleFile(one.there, _whole(one), max(0, one.modified_ns)) for one in files]
        body = bundle_pack(held)
        answer = patiently(lambda: self._client.bundle_send(self._volume["uid"], body))
        refused = {row["path"]: row["message"] for row in answer["refused"]}
        with self._lock:
            self.done.refused += [f"{path}: {reason}" for path, reason in refused.items()]
            self.done.files += answer["taken"]
            self.done.size += sum(one.size for one in files if one.there not in refused)
        self.tally.moved(sum(one.size for one in files))


def _whole(file: _Small) -> bytes:
    data = file.here.read_bytes()
    facts = file.here.stat()
    if (len(data), facts.st_mtime_ns) != (file.size, file.modified_ns):
        raise WeirClientError(f"{file.here} was changed while it was sent.", "Copy it again.")
    return data


class _There:
    """What stands in a volume already, asked folder by folder, and not below what is not there."""

    def __init__(self, client: Volumes, volume: str) -> None:
        self._client, self._volume = client, volume
        self._folders: dict[str, set[str]] = {}

    def files(self, folder: str) -> dict[str, Facts]:
        """The size and the time of change, in microseconds, of each file in a folder; none where there is no folder."""
        above, name = posixpath.split(folder)
        if above in self._folders and name not in self._folders[above]:
            self._folders[folder] = set()
            return {}
        try:
            rows = list(self._client.folder(self._volume, "" if folder == "." else folder))
        except ApiError as error:
            if error.code not in ("no_such_file", "path_refused"):
                raise
            rows = []
        self._folders[folder] = {row["name"] for row in rows if row["kind"] == "folder"}
        return {row["name"]: _facts(row) for row in rows if row["kind"] == "file"}


def _facts(row: EntryOut) -> Facts:
    return row["size_bytes"], _modified_us(row)


def _modified_us(row: EntryOut) -> int:
    return (datetime.fromisoformat(row["modified_at"]) - _EPOCH) // timedelta(microseconds=1)


def small_bytes(volume: VolumeOut) -> int:
    """Up to which size a file goes together with others."""
    return min(FILE_BYTES_MOST, volume["piece_bytes"] // 8)


def _bundle_bytes(volume: VolumeOut) -> int:
    """What the files of a bundle may hold together: room is left for their names."""
    return volume["piece_bytes"] // 2


def fetch_tree(
    client: Volumes, volume: VolumeOut, folder: str, target: Path, *, is_all: bool, progress: Progress
) -> Copied:
    """Copy a folder of a volume with all in it to a folder of this machine. Files that are here with the same size and
    time of change are passed over, unless `is_all`."""
    fetching = _Fetching(client, volume, _Tally(target.name, progress), is_all=is_all)
    with Crew(WORKERS) as crew:
        for row, path, place in fetching.tree(folder, target):
            fetching.file(crew, row, path, place)
        fetching.flush(crew)
    fetching.tally.end()
    return fetching.done


class _Fetching:
    def __init__(self, client: Volumes, volume: VolumeOut, tally: _Tally, *, is_all: bool) -> None:
        self._client, self._volume, self.tally, self._is_all = client, volume, tally, is_all
        self._lock = Lock()
        self.done = Copied()
        self._small: dict[str, tuple[EntryOut, Path]] = {}
        self._small_bytes = 0

    def tree(self, folder: str, target: Path) -> Iterator[tuple[EntryOut, str, Path]]:
        """The files of a folder and of all below, each with where it goes; folders are made on the way."""
        target.mkdir(parents=True, exist_ok=True)
        for row in self._client.folder(self._volume["uid"], folder):
            path = posixpath.join(folder, row["name"])
            if row["name"] in ("", ".", "..") or "/" in row["name"] or os.sep in row["name"]:
                raise WeirClientError(f"{row['name']!r} is no name of a file.", "Do not trust this portal.")
            if row["kind"] == "folder":
                yield from self.tree(path, target / row["name"])
            elif row["kind"] == "file":
                yield row, path, target / row["name"]
            else:
                self.done.left_out.append(f"{path}: neither a file nor a folder")

    def file(self, crew: Crew, row: EntryOut, path: str, place: Path) -> None:
        if not self._is_all and _is_here(row, place):
            self.done.there += 1
            return
        self.tally.seen(row["size_bytes"])
        if row["size_bytes"] > small_bytes(self._volume):
            crew.do(self._alone, row, path, place)
            return
        is_full = self._small_bytes + row["size_bytes"] > _bundle_bytes(self._volume)
        if is_full or len(self._small) >= _BUNDLE_FILES:
            self.flush(crew)
        self._small[path] = (row, place)
        self._small_bytes += row["size_bytes"]

    def flush(self, crew: Crew) -> None:
        if self._small:
            crew.do(self._together, self._small)
        self._small, self._small_bytes = {}, 0

    def _alone(self, row: EntryOut, path: str, place: Path) -> None:
        size = fetch_file(self._client, self._volume["uid"], path, place, self.tally.of_file())
        _date(place, _modified_us(row) * 1000)
        self._count(1, size)

    def _together(self, files: dict[str, tuple[EntryOut, Path]]) -> None:
        def ask() -> list[BundleFile]:
            body, told = self._client.bundle_read(self._volume["uid"], list(files))
            if (
                told.get("Repr-Digest")
                != f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
            ):
                raise Unreachable("What came is not what was sent.", "Try again.")
            return bundle_unpack(body)

        left = dict(files)
        for one in patiently(ask):
            if one.path not in left:
                raise WeirClientError(f"{one.path!r} was not asked for.", "Do not trust this portal.")
            _row, place = left.pop(one.path)
            _write(place, one)
            self._count(1, len(one.data))
            self.tally.moved(len(one.data))
        for path, (row, place) in left.items():
            # It has grown meanwhile, or has gone: asked for alone it says so.
            self._alone(row, path, place)

    def _count(self, files: int, size: int) -> None:
        with self._lock:
            self.done.files += files
            self.done.size += size


def _is_here(row: EntryOut, place: Path) -> bool:
    try:
        facts = place.lstat()
    except FileNotFoundError:
        return False
    return (
        place.is_file()
        and not place.is_symlink()
        and ((facts.st_size, facts.st_mtime_ns // 1000) == _facts(row))
    )


def _write(place: Path, file: BundleFile) -> None:
    """Into a file beside the target, which takes its place when it is whole."""
    part = place.with_name(f".{place.name[:100]}.{os.urandom(4).hex()}.part")
    try:
        part.write_bytes(file.data)
        _date(part, file.modified_ns)
        os.replace(part, place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _date(place: Path, modified_ns: int) -> None:
    os.utime(place, ns=(modified_ns, modified_ns))
