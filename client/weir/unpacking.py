"""Taking an archive apart that somebody else has made: nothing of it lands outside the folder that is named.

Folders on the way are opened one below the other and never through a link. Links are made when all else is there, and
only those that lead to something below the same folder.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from weir.errors import WeirClientError

_CHUNK_BYTES = 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Unpacked:
    """What was written, and what was left out, by its name and why."""

    files: int = 0
    size: int = 0
    left_out: list[str] = field(default_factory=list)


def unpack(stream: IO[bytes], name: str, target: Path) -> Unpacked:
    """Write what the archive has under `name` as `target`, whose folder is there.

    Raises:
        WeirClientError: it is no archive, or has something else than was asked for.
    """
    done, links = Unpacked(), []
    root = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with tarfile.open(fileobj=stream, mode="r|", bufsize=_CHUNK_BYTES) as archive:
            for member in archive:
                parts = [target.name, *_below(member.name, name)]
                if member.issym():
                    links.append((parts, member.linkname))
                else:
                    _write(root, parts, archive, member, name, done)
        for parts, leads_to in links:
            _link(root, parts, leads_to, done)
    except tarfile.TarError as error:
        raise WeirClientError(f"What came is no archive: {error}.", "Is `tar` installed there?") from error
    finally:
        os.close(root)
    return done


def _below(path: str, name: str) -> list[str]:
    """The parts of a member's path below what was asked for."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or parts[:1] != [name]:
        raise WeirClientError(
            f"What came holds {path!r}, which was not asked for.", "Nothing more of it is written."
        )
    return parts[1:]


def _write(
    root: int, parts: list[str], archive: tarfile.TarFile, member: tarfile.TarInfo, name: str, done: Unpacked
) -> None:
    if member.isdir():
        with _folder(root, parts) as folder:
            os.fchmod(folder, (member.mode & 0o777) | stat.S_IRWXU)
        return
    with _folder(root, parts[:-1]) as folder:
        if member.islnk():
            _remove(folder, parts[-1])
            # By the names of the archive: what it links to was written before, and is no link itself.
            source = [parts[0], *_below(member.linkname, name)]
            with _folder(root, source[:-1]) as other:
                os.link(source[-1], parts[-1], src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False)
        elif member.isreg():
            _remove(folder, parts[-1])
            _file(folder, parts[-1], archive, member)
            done.size += member.size
        else:
            done.left_out.append(f"{'/'.join(parts)}: neither a file nor a folder")
            return
    done.files += 1


def _file(folder: int, leaf: str, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    content = archive.extractfile(member)
    assert content is not None
    with os.fdopen(os.open(leaf, _FILE, 0o600, dir_fd=folder), "wb") as file:
        while chunk := content.read(_CHUNK_BYTES):
            file.write(chunk)
        os.fchmod(file.fileno(), (member.mode & 0o777) | stat.S_IRUSR | stat.S_IWUSR)
        file.flush()
        os.utime(file.fileno(), (member.mtime, member.mtime))


def _link(root: int, parts: list[str], leads_to: str, done: Unpacked) -> None:
    if not is_inside(len(parts) - 2, leads_to):
        done.left_out.append(f"{'/'.join(parts)}: a link that leads out of the folder")
        return
    with _folder(root, parts[:-1]) as folder:
        _remove(folder, parts[-1])
        os.symlink(leads_to, parts[-1], dir_fd=folder)
    done.files += 1


def is_inside(depth: int, leads_to: str) -> bool:
    """Whether a link that lies `depth` folders below the top leads to something below it, whatever other links do.

    It may go up first and then down, and no more up: what it comes through may be a link itself.
    """
    parts = [part for part in leads_to.split("/") if part not in ("", ".")]
    ups = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    return not leads_to.startswith("/") and ups <= depth and ".." not in parts[ups:]


@contextmanager
def _folder(root: int, parts: list[str]) -> Iterator[int]:
    """The folder below the root, made where it is missing; a link on the way is refused. Raises OSError."""
    here = os.dup(root)
    try:
        for part in parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=here)
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _remove(folder: int, leaf: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(leaf, dir_fd=folder)
