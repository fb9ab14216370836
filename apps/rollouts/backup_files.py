"""The uploaded files that go with a snapshot: one tar of a folder, and back again without harming what is there."""

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from apps.rollouts.errors import BackupError


def files_pack(root: Path, path: Path) -> int:
    """Write every regular file below `root` into a tar; how many there are. One that is removed meanwhile is passed
    over: the database, read before, speaks of files that were whole then. Raises OSError."""
    count = 0
    with tarfile.open(path, "w") as packed:
        for folder, _folders, names in os.walk(root):
            for name in sorted(names):
                file = Path(folder) / name
                if file.is_symlink() or not file.is_file():
                    continue
                try:
                    packed.add(file, str(file.relative_to(root)), recursive=False)
                except FileNotFoundError:
                    continue
                count += 1
    return count


def files_unpack(packed: Path, root: Path) -> Path:
    """Unpack into a folder beside `root`, to be brought in by `files_bring`; nothing in `root` changes.

    Raises BackupError when a file there has the name of one in the tar and another content, OSError.
    """
    root.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=root.parent, prefix=".restored-"))
    try:
        with tarfile.open(packed) as files:
            files.extractall(draft, filter="data")
        for name in _names(draft):
            there = root / name
            if there.exists() and _digest(there) != _digest(draft / name):
                raise BackupError(f"{there} is another file than the backup's: name an empty WEIR_VAR_DIR")
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, tarfile.TarError):
            raise BackupError(f"the backup's files cannot be read: {error}") from error
        raise
    return draft


def files_bring(draft: Path, root: Path) -> int:
    """Move what was unpacked to its place; how many files. What is there already is the same. Raises OSError."""
    names = _names(draft)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if not (root / name).exists():
            (draft / name).replace(root / name)
    shutil.rmtree(draft, ignore_errors=True)
    return len(names)


def _names(root: Path) -> list[PurePosixPath]:
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(PurePosixPath(path.relative_to(root)) for path in found)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
