"""Volumes below a path at which another machine's storage is mounted, such as NFS.

All is as in a folder of this machine, but that something else may stand there: the mount may be gone, and an empty
folder of the local disk in its place, or it may be another's. So nothing is read or written before the mark is seen
that was found there when the class was made.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from apps.storage.drivers.directory import Directory
from apps.storage.errors import StorageAway
from apps.storage.types import Names
from node_agent.protocol.storage import STORAGE_MARK as MARK

_BELIEVED_S = 2.0


class Mounted(Directory):
    """The driver for what is mounted at `root` and bears `mark`."""

    def __init__(self, root: Path, mark: str) -> None:
        super().__init__(root)
        self._expected, self._seen_s = mark, float("-inf")

    def mark(self) -> str:
        self._there()
        return self._expected

    def volume_make(self, key: str) -> None:
        self._there()
        super().volume_make(key)

    def size_tell(self, key: str, size_mib: int) -> None:
        self._there()
        super().size_tell(key, size_mib)

    def volume_remove(self, key: str) -> None:
        self._there()
        super().volume_remove(key)

    def tidy(self, key: str) -> None:
        self._there()
        super().tidy(key)

    def free_bytes(self) -> int:
        self._there()
        return super().free_bytes()

    def _part(self, key: str, upload: object) -> Path:
        self._there()
        return super()._part(key, upload)  # type: ignore[arg-type]

    @contextmanager
    def _folder(self, key: str, names: Names, *, makes: bool = False) -> Iterator[int]:
        self._there()
        with super()._folder(key, names, makes=makes) as fd:
            yield fd

    def _there(self) -> None:
        """StorageAway where not what is expected is mounted here. Believed for two seconds: each file would ask."""
        if time.monotonic() - self._seen_s < _BELIEVED_S:
            return
        try:
            found = (self._root / MARK).read_text().strip()
        except OSError as error:
            raise StorageAway(cure=_why(self._root, error)) from error
        if found != self._expected:
            raise StorageAway(
                cure=_("Something else than the centre's storage is mounted at %(path)s.")
                % {"path": self._root}
            )
        self._seen_s = time.monotonic()


def mount_check(root: Path) -> None:
    """StorageAway where nothing is mounted at the path, or where the portal may not write there."""
    try:
        facts, above = os.stat(root), os.stat(root.parent)
        if facts.st_dev == above.st_dev and not os.path.ismount(root):
            raise StorageAway(
                cure=_("Nothing is mounted at %(path)s: it is a folder of this machine's disk.")
                % {"path": root}
            )
    except OSError as error:
        raise StorageAway(cure=_why(root, error)) from error


def _why(root: Path, error: OSError) -> str:
    """What an administrator would do about it."""
    if error.errno == errno.ESTALE:
        text = _("The mount at %(path)s is stale: its server has another one now. Mount it again.")
    elif error.errno in (errno.EACCES, errno.EPERM):
        text = _(
            "The server of %(path)s does not let the portal in: export it with no_root_squash, or to the portal's user."
        )
    elif error.errno == errno.ENOENT:
        text = _("The centre's storage is not mounted at %(path)s.")
    else:
        return f"{root}: {error.strerror}"
    return text % {"path": root}
