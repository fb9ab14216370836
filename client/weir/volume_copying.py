"""Files between this machine and volumes: in pieces, with a checksum each; what broke off goes on where it stopped."""

from __future__ import annotations

import base64
import hashlib
import os
import posixpath
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from weir.errors import ApiError, Unreachable, WeirClientError
from weir.volumes import Volumes

if TYPE_CHECKING:
    from weir.api_types import UploadOut, VolumeOut

_PLACE = re.compile(r"vol://(?P<volume>[^/]+)(?:/(?P<path>.*))?", re.DOTALL)
_OWNERS = ("person", "organization", "tenant")
# What the portal answers otherwise a moment later.
_PASSING = ("offset_mismatch", "upload_busy", "checksum_mismatch", "busy", "unavailable", "storage_away")
TRIES = 8
PAUSE_S = 1.0
Progress = Callable[[str, int, int], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VolumePlace:
    """A path within a volume; `is_folder`: it was written with a slash behind it."""

    volume: VolumeOut
    path: str
    is_folder: bool


@dataclass(slots=True)
class Copied:
    files: int = 0
    size: int = 0
    left_out: list[str] = field(default_factory=list)


def is_place(text: str) -> bool:
    """Whether this is meant to be a path within a volume."""
    return text.startswith("vol://")


def place_of(client: Volumes, text: str) -> VolumePlace:
    """The place that `vol://name/path` means: of several volumes of a name one's own, then the organization's, then
    the tenant's. Raises WeirClientError."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise WeirClientError(f"{text!r} is no place in a volume.", "Write vol://name/path.")
    path = found["path"] or ""
    return VolumePlace(volume_of(client, found["volume"]), path.rstrip("/"), not path or path.endswith("/"))


def volume_of(client: Volumes, name: str) -> VolumeOut:
    """The volume of that name, or uid."""
    rows = [row for row in client.volumes() if name in (row["name"], row["uid"]) and row["may_open"]]
    if not rows:
        raise WeirClientError(
            f"You have no volume {name}.", "`weir volume list` shows those that you may open."
        )
    rows.sort(key=lambda row: _OWNERS.index(row["owner"]))
    if len(rows) > 1 and rows[0]["owner"] == rows[1]["owner"]:
        raise WeirClientError(f"Several volumes are called {name}.", "Give the uid of the one that you mean.")
    return rows[0]


def bring(
    client: Volumes, source: Path, target: VolumePlace, *, recursive: bool, progress: Progress
) -> Copied:
    """Copy a file or folder of this machine into a volume. What is there already is replaced, as by `cp`."""
    if source.is_dir() and not recursive:
        raise WeirClientError(f"{source} is a folder.", "Copy folders with -r.")
    if not source.exists():
        raise WeirClientError(f"There is no {source}.", "Look at the path.")
    path = target.path
    if target.is_folder or _is_folder(client, target):
        path = posixpath.join(path, source.absolute().name)
    sender = _Sender(client, target.volume, progress)
    if not source.is_dir():
        sender.send(source, path)
        return sender.done
    for folder, below, names in os.walk(source):
        at = posixpath.normpath(posixpath.join(path, Path(folder).relative_to(source).as_posix()))
        for name in sorted(names + [name for name in below if os.path.islink(os.path.join(folder, name))]):
            file = Path(folder) / name
            if file.is_symlink() or not file.is_file():
                sender.done.left_out.append(f"{file}: neither a file nor a folder")
            else:
                sender.send(file, posixpath.join(at, name))
        if not names and not below:
            sender.folder(at)
    return sender.done


class _Sender:
    def __init__(self, client: Volumes, volume: VolumeOut, progress: Progress) -> None:
        self._client, self._volume, self._progress = client, volume, progress
        self._unfinished: list[UploadOut] = client.uploads(volume["uid"])
        self.done = Copied()

    def folder(self, path: str) -> None:
        try:
            self._client.folder_make(self._volume["uid"], path)
        except ApiError as error:
            if error.code != "already_there":
                raise

    def send(self, source: Path, path: str) -> None:
        with source.open("rb") as file:
            facts = os.fstat(file.fileno())
            mark = f"{facts.st_size}-{facts.st_mtime_ns}"
            upload, offset = self._find(path, mark, facts.st_size)
            if not upload:
                upload, offset = self._begin(
                    file.read(self._volume["piece_bytes"]), path, mark, facts.st_size
                )
            self._progress(path, offset, facts.st_size)
            while offset < facts.st_size:
                file.seek(offset)
                piece = file.read(min(self._volume["piece_bytes"], facts.st_size - offset))
                if not piece:
                    break
                offset = self._go_on(upload, offset, piece)
                self._progress(path, offset, facts.st_size)
            after = os.fstat(file.fileno())
        if offset < facts.st_size or (after.st_size, after.st_mtime_ns) != (facts.st_size, facts.st_mtime_ns):
            raise WeirClientError(f"{source} was changed while it was sent.", "Copy it again.")
        self.done.files += 1
        self.done.size += facts.st_size

    def _find(self, path: str, mark: str, size: int) -> tuple[str, int]:
        """An unfinished upload of this very file, and how far it is."""
        for row in self._unfinished:
            if (row["path"], row["fingerprint"], row["size_bytes"]) == (path, mark, size):
                return row["uid"], _patiently(lambda uid=row["uid"]: self._client.upload_offset(uid))  # type: ignore[misc]
        return "", 0

    def _begin(self, piece: bytes, path: str, mark: str, size: int) -> tuple[str, int]:
        pairs = {"path": path, "replace": "yes", "fingerprint": mark}
        metadata = ",".join(f"{key} {_base64(value.encode())}" for key, value in pairs.items())
        told = _patiently(lambda: self._client.upload_begin(self._volume["uid"], size, metadata, piece))
        return told["Location"].rpartition("/")[2], int(told["Upload-Offset"])

    def _go_on(self, upload: str, offset: int, piece: bytes) -> int:
        checksum = f"sha256 {_base64(hashlib.sha256(piece).digest())}"

        def step() -> int:
            try:
                return self._client.upload_go_on(upload, offset, piece, checksum)
            except ApiError as error:
                if error.code != "offset_mismatch":
                    raise
                # The answer to an earlier try was lost: it may have come further than it said.
                return self._client.upload_offset(upload)

        return _patiently(step)


def fetch(
    client: Volumes, source: VolumePlace, target: Path, *, recursive: bool, progress: Progress
) -> Copied:
    """Copy a file or folder of a volume to this machine."""
    is_folder = not source.path or _is_folder(client, source, is_there=True)
    if is_folder and not recursive:
        raise WeirClientError(f"{source.path or '/'} is a folder.", "Copy folders with -r.")
    name = posixpath.basename(source.path) or source.volume["name"]
    if target.is_dir():
        target = target / name
    done = Copied()
    if is_folder:
        for path, place in _tree(client, source.volume["uid"], source.path, target, done):
            _fetch_file(client, source.volume["uid"], path, place, done, progress)
    else:
        _fetch_file(client, source.volume["uid"], source.path, target, done, progress)
    return done


def _tree(
    client: Volumes, volume: str, folder: str, target: Path, done: Copied
) -> Iterator[tuple[str, Path]]:
    """The files of a folder and of all below, each with where it goes; folders are made on the way."""
    target.mkdir(parents=True, exist_ok=True)
    for row in client.folder(volume, folder):
        path = posixpath.join(folder, row["name"])
        if row["name"] in ("", ".", "..") or "/" in row["name"] or os.sep in row["name"]:
            raise WeirClientError(f"{row['name']!r} is no name of a file.", "Do not trust this portal.")
        if row["kind"] == "folder":
            yield from _tree(client, volume, path, target / row["name"], done)
        elif row["kind"] == "file":
            yield path, target / row["name"]
        else:
            done.left_out.append(f"{path}: neither a file nor a folder")


def _fetch_file(
    client: Volumes, volume: str, path: str, target: Path, done: Copied, progress: Progress
) -> None:
    """Fetch into a file beside the target, which takes its place when it is whole."""
    facts = _patiently(lambda: client.file_facts(volume, path))
    mark, size = facts["ETag"], int(facts["Content-Length"])
    part = target.with_name(f".{target.name[:100]}.{re.sub('[^0-9a-f-]', '', mark)}.part")

    def step() -> None:
        offset = part.stat().st_size if part.exists() else 0
        if offset > size:
            offset = 0
        with part.open("r+b" if part.exists() else "wb") as file:
            file.truncate(offset)
            file.seek(offset)
            progress(path, offset, size)
            for block in client.file_read(volume, path, offset=offset, mark=mark) if offset < size else ():
                file.write(block)
                offset += len(block)
                progress(path, min(offset, size), size)
            file.flush()
            os.fsync(file.fileno())
        if offset != size:
            part.unlink()
            raise WeirClientError(f"{path} was changed while it was fetched.", "Copy it again.")

    _patiently(step)
    os.replace(part, target)
    done.files += 1
    done.size += size


def _is_folder(client: Volumes, place: VolumePlace, *, is_there: bool = False) -> bool:
    """Whether a folder is there; with `is_there` ApiError where nothing is."""
    try:
        next(client.folder(place.volume["uid"], place.path), None)
    except ApiError as error:
        if error.code not in (("path_refused",) if is_there else ("no_such_file", "path_refused")):
            raise
        return False
    return True


def _patiently(ask: Callable[[], T]) -> T:
    """Ask again after trouble on the way, with growing pauses."""
    for turn in range(TRIES):
        try:
            return ask()
        except Unreachable as error:
            if turn == TRIES - 1:
                raise Unreachable(
                    error.message, "Run the same command again: it goes on where it stopped."
                ) from error
        except ApiError as error:
            if error.code not in _PASSING or turn == TRIES - 1:
                raise
        time.sleep(min(PAUSE_S * 2**turn, 30.0))
    raise AssertionError("the last turn returns or raises")


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
