"""One file between this machine and a volume: in pieces with checksums; what broke off goes on where it stopped."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from weir.errors import ApiError, Unreachable, WeirClientError
from weir.volumes import Volumes

if TYPE_CHECKING:
    from weir.api_types import UploadOut, VolumeOut

# What the portal answers otherwise a moment later.
_PASSING = ("offset_mismatch", "upload_busy", "checksum_mismatch", "busy", "unavailable", "storage_away")
TRIES = 8
PAUSE_S = 1.0
Progress = Callable[[str, int, int], None]
T = TypeVar("T")


@dataclass(slots=True)
class Copied:
    """What was copied, what was there already, and what was not: links and the like, and what the centre refused."""

    files: int = 0
    size: int = 0
    there: int = 0
    left_out: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class Sender:
    """Sends files into one volume, several threads at a time."""

    def __init__(self, client: Volumes, volume: VolumeOut) -> None:
        self._client, self._volume, self._lock = client, volume, Lock()
        self._unfinished: list[UploadOut] = client.uploads(volume["uid"])
        self.done = Copied()

    def folder(self, path: str) -> None:
        try:
            self._client.folder_make(self._volume["uid"], path)
        except ApiError as error:
            if error.code != "already_there":
                raise

    def send(self, source: Path, path: str, progress: Progress) -> None:
        with source.open("rb") as file:
            facts = os.fstat(file.fileno())
            mark = f"{facts.st_size}-{facts.st_mtime_ns}"
            upload, offset = self._find(path, mark, facts.st_size)
            if not upload:
                upload, offset = self._begin(file.read(self._volume["piece_bytes"]), path, mark, facts)
            progress(path, offset, facts.st_size)
            while offset < facts.st_size:
                file.seek(offset)
                piece = file.read(min(self._volume["piece_bytes"], facts.st_size - offset))
                if not piece:
                    break
                offset = self._go_on(upload, offset, piece)
                progress(path, offset, facts.st_size)
            after = os.fstat(file.fileno())
        if offset < facts.st_size or (after.st_size, after.st_mtime_ns) != (facts.st_size, facts.st_mtime_ns):
            raise WeirClientError(f"{source} was changed while it was sent.", "Copy it again.")
        with self._lock:
            self.done.files += 1
            self.done.size += facts.st_size

    def _find(self, path: str, mark: str, size: int) -> tuple[str, int]:
        """An unfinished upload of this very file, and how far it is."""
        for row in self._unfinished:
            if (row["path"], row["fingerprint"], row["size_bytes"]) == (path, mark, size):
                return row["uid"], patiently(lambda uid=row["uid"]: self._client.upload_offset(uid))  # type: ignore[misc]
        return "", 0

    def _begin(self, piece: bytes, path: str, mark: str, facts: os.stat_result) -> tuple[str, int]:
        modified = str(max(0, facts.st_mtime_ns))
        pairs = {"path": path, "replace": "yes", "fingerprint": mark, "modified": modified}
        metadata = ",".join(f"{key} {_base64(value.encode())}" for key, value in pairs.items())
        told = patiently(
            lambda: self._client.upload_begin(self._volume["uid"], facts.st_size, metadata, piece)
        )
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

        return patiently(step)


def fetch_file(client: Volumes, volume: str, path: str, target: Path, progress: Progress) -> int:
    """Fetch into a file beside the target, which takes its place when it is whole. Its size in bytes."""
    facts = patiently(lambda: client.file_facts(volume, path))
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

    patiently(step)
    os.replace(part, target)
    return size


def patiently(ask: Callable[[], T]) -> T:
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
