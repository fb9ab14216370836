"""What the portal keeps is its own: files of tenants, logs and mail are closed to every other account of the machine.

Jobs of tenants run on the same machine under accounts of their own.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import IO

LOG_KEPT_BYTES = 20 * 2**20
_PRIVATE = ("media", "log", "mail", "backups")
# Agents' work walks through the data folder to its own; the database's account through `run` to its socket.
_PASSABLE = (".", "run")


def folders_close(var_dir: Path) -> None:
    """Close the folders of a data folder with all that is in them, also those that an older version left open."""
    for name in _PASSABLE:
        if (var_dir / name).is_dir():
            _allow(var_dir / name, 0o711)
    for name in _PRIVATE:
        (var_dir / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder, _names, files in os.walk(var_dir / name):
            _allow(Path(folder), 0o700)
            for file in files:
                _allow(Path(folder) / file, 0o600)


def private_log(path: Path) -> IO[bytes]:
    """A log to append to, readable by its owner only."""
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def log_rotate(path: Path) -> None:
    """Keep a log below `LOG_KEPT_BYTES`, with as much of what was before beside it; its writer goes on appending.

    A line that is written in the moment between copy and cut is lost. Where the disk has no room for the copy, the
    old lines are given up for the new.
    """
    with suppress(FileNotFoundError):
        if path.stat().st_size <= LOG_KEPT_BYTES:
            return
        old = path.with_name(f"{path.name}.1")
        try:
            old.unlink(missing_ok=True)
            with path.open("rb") as source, private_log(old) as target:
                shutil.copyfileobj(source, target)
        except OSError:
            old.unlink(missing_ok=True)
        os.truncate(path, 0)


def _allow(path: Path, mode: int) -> None:
    """Take away what `mode` does not allow; what is another account's, or gone by now, is left alone."""
    with suppress(FileNotFoundError, PermissionError):
        now = path.lstat().st_mode & 0o777
        if now & ~mode and not path.is_symlink():
            path.chmod(now & mode)
