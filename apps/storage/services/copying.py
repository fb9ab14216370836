"""Files of a volume copied into another one: looked through first, never through a link."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from django.utils.translation import gettext as _

from apps.kernel.errors import TooLarge
from apps.storage.drivers.chosen import driver
from apps.storage.errors import PathRefused
from apps.storage.models import Volume
from apps.storage.paths import file_names, names_of, path_of
from apps.storage.selectors import key_of
from apps.storage.types import Kind, Names

FILES_MAX = 20_000
_BLOCK_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class FileFound:
    """A file below the folder that was looked through: `path` from there, `source` from the volume's top."""

    path: str
    source: Names
    size_bytes: int


def folder_survey(volume: Volume, path: str) -> list[FileFound]:
    """All files below a folder. Raises PathRefused for a path that leads out of the volume or through a link, and where
    a link or another special file is in the folder; TooLarge for more files than can be copied at once."""
    top = names_of(path)
    found: list[FileFound] = []
    folders = [top]
    while folders:
        folder = folders.pop()
        for entry in driver(volume).entries(key_of(volume.uid), folder):
            names = (*folder, entry.name)
            if entry.kind == Kind.FOLDER:
                file_names(path_of(names))
                folders.append(names)
            elif entry.kind == Kind.FILE:
                file_names(path_of(names))
                found.append(FileFound(path_of(names[len(top) :]), names, entry.size_bytes))
            else:
                raise PathRefused(
                    _("%(path)s is a link or a special file.") % {"path": path_of(names)},
                    cure=_("Take it out, or put the file itself there."),
                )
        if len(found) + len(folders) > FILES_MAX:
            raise TooLarge(
                _("The folder holds more than %(most)s files.") % {"most": FILES_MAX},
                cure=_("Pack them into archives."),
            )
    return found


def file_copy(source: Volume, file: FileFound, target: Volume, gets_on: Callable[[], None]) -> str:
    """Copy a file into a volume, where it takes its place whole; its SHA-256. `gets_on` hears that it gets on. Raises
    PathRefused where it is not as long as it was."""
    opened = driver(source).file_open(key_of(source.uid), file.source)
    part, digest, offset = uuid4(), hashlib.sha256(), 0
    try:
        driver(target).upload_make(key_of(target.uid), part)
        while block := os.read(opened.fd, _BLOCK_BYTES):
            if offset + len(block) > file.size_bytes:
                break
            driver(target).upload_write(key_of(target.uid), part, offset, block)
            digest.update(block)
            offset += len(block)
            gets_on()
        if block or offset != file.size_bytes:
            raise PathRefused(_("%(path)s was changed while it was copied.") % {"path": file.path})
        driver(target).upload_place(key_of(target.uid), part, file_names(file.path), replaces=True)
        return digest.hexdigest()
    except BaseException:
        driver(target).upload_remove(key_of(target.uid), part)
        raise
    finally:
        os.close(opened.fd)
