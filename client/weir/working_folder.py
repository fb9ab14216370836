"""A folder that travels with a job: packed by what is in it, sent once however often the same one is used.

What `.weirignore` and `.gitignore` name stays here, as do `.git`, compiled Python and virtual environments. Links that
lead out of the folder, sockets and devices cannot travel.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from weir.errors import WeirClientError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".weirignore")
LIMIT_MIB = 512
_ALWAYS = (".git/", "__pycache__/", "*.pyc")
_MIB = 1024 * 1024
Rules = tuple[tuple[Path, "GitIgnoreSpec"], ...]


@dataclass
class PackedFolder:
    """An archive in a file without a name; `left_behind` are links and other things that cannot travel."""

    archive: IO[bytes]
    sha256: str = ""
    size_bytes: int = 0
    files: int = 0
    left_behind: list[str] = field(default_factory=list)

    def piece(self, number: int, piece_bytes: int) -> bytes:
        """One piece of it."""
        self.archive.seek(number * piece_bytes)
        return self.archive.read(piece_bytes)


def folder_pack(
    folder: Path | None, *, extra: Mapping[str, bytes] | None = None, limit_mib: int = LIMIT_MIB
) -> PackedFolder:
    """Pack a folder (None: an empty one), with `extra` files on top of it, each executable.

    Raises:
        WeirClientError: there is no such folder, it holds more than `limit_mib`, an extra file's name is taken, or a
            file cannot be read.
    """
    if folder is not None and not folder.is_dir():
        raise WeirClientError(f"{folder} is no folder.", "Name the folder that the job is to start in.")
    packed = PackedFolder(tempfile.TemporaryFile())  # noqa: SIM115 - lives as long as the pack
    sizes: dict[str, int] = {}
    with tarfile.open(fileobj=packed.archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, name in _walk(folder) if folder is not None else ():
            _add(tar, path, name, packed, sizes, limit_mib)
        for name, content in (extra or {}).items():
            if folder is not None and (folder / name).exists():
                raise WeirClientError(
                    f"{folder} has a {name} of its own.", "Move the script into the folder, or rename it."
                )
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
            packed.files += 1
    packed.archive.seek(0)
    digest = hashlib.sha256()
    while block := packed.archive.read(_MIB):
        digest.update(block)
        packed.size_bytes += len(block)
    packed.sha256 = digest.hexdigest()
    return packed


def _add(
    tar: tarfile.TarFile,
    path: Path,
    name: str,
    packed: PackedFolder,
    sizes: dict[str, int],
    limit_mib: int,
) -> None:
    try:
        entry = tar.gettarinfo(path, name)
        if entry is None or not _travels(entry, name):
            packed.left_behind.append(name)
            return
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = int(entry.mtime)
        top = name.partition("/")[0]
        sizes[top] = sizes.get(top, 0) + entry.size
        if sum(sizes.values()) > limit_mib * _MIB:
            largest = max(sizes, key=lambda each: sizes[each])
            raise WeirClientError(
                f"The folder holds more than the {limit_mib} MiB that travel, most of it in {largest}.",
                "Name what is to stay in .weirignore, or raise --workdir-limit.",
            )
        if entry.isreg():
            with path.open("rb") as file:
                tar.addfile(entry, file)
            packed.files += 1
        else:
            tar.addfile(entry)
    except OSError as error:
        raise WeirClientError(
            f"{name} cannot be packed: {error.strerror or error}.", "Let it be, or name it in .weirignore."
        ) from error


def _travels(entry: tarfile.TarInfo, name: str) -> bool:
    if entry.issym():
        target = os.path.normpath(os.path.join(os.path.dirname(name), entry.linkname))
        return not os.path.isabs(entry.linkname) and target.split("/")[0] != ".."
    return entry.isreg() or entry.isdir() or entry.islnk()


def _walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """All that is not ignored, in order, each folder before what it holds."""
    from pathspec import GitIgnoreSpec

    yield from _below(folder, folder, ((folder, GitIgnoreSpec.from_lines(_ALWAYS)),))


def _below(root: Path, folder: Path, rules: Rules) -> Iterator[tuple[Path, str]]:
    from pathspec import GitIgnoreSpec

    for name in IGNORE_FILES:
        if (folder / name).is_file():
            lines = (folder / name).read_text(errors="replace").splitlines()
            rules = (*rules, (folder, GitIgnoreSpec.from_lines(lines)))
    try:
        listed = sorted(folder.iterdir())
    except OSError as error:
        raise WeirClientError(f"{folder} cannot be read: {error.strerror}.", "Let it be read.") from error
    for path in listed:
        is_folder = path.is_dir() and not path.is_symlink()
        if _is_ignored(path, is_folder, rules):
            continue
        if is_folder and (path / "pyvenv.cfg").exists():
            continue
        yield path, path.relative_to(root).as_posix()
        if is_folder:
            yield from _below(root, path, rules)


def _is_ignored(path: Path, is_folder: bool, rules: Rules) -> bool:
    """What the last rule that speaks of it says, as git reads them."""
    verdict = False
    for base, spec in rules:
        name = path.relative_to(base).as_posix() + ("/" if is_folder else "")
        said = spec.check_file(name).include
        verdict = verdict if said is None else said
    return verdict
