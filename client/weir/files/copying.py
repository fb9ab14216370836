"""`weir cp` between this machine and volumes: which place is meant, and what is to be copied there."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weir.errors import ApiError, WeirClientError
from weir.files.trees import bring_tree, fetch_tree
from weir.files.volume_files import Copied, Progress, Sender, fetch_file
from weir.volumes import Volumes

if TYPE_CHECKING:
    from weir.api_types import VolumeOut

_PLACE = re.compile(r"vol://(?P<volume>[^/]+)(?:/(?P<path>.*))?", re.DOTALL)
_OWNERS = ("person", "organization", "tenant")


@dataclass(frozen=True, slots=True)
class VolumePlace:
    """A path within a volume; `is_folder`: it was written with a slash behind it."""

    volume: VolumeOut
    path: str
    is_folder: bool


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
    client: Volumes,
    source: Path,
    target: VolumePlace,
    *,
    recursive: bool,
    progress: Progress,
    is_all: bool = False,
) -> Copied:
    """Copy a file or folder of this machine into a volume. What is there already is replaced, as by `cp`; of a folder
    what is there with the same size and time of change is passed over, unless `is_all`."""
    if source.is_dir() and not recursive:
        raise WeirClientError(f"{source} is a folder.", "Copy folders with -r.")
    if not source.exists():
        raise WeirClientError(f"There is no {source}.", "Look at the path.")
    path = target.path
    if target.is_folder or _is_folder(client, target):
        path = posixpath.join(path, source.absolute().name)
    if source.is_dir():
        return bring_tree(client, target.volume, source, path, is_all=is_all, progress=progress)
    sender = Sender(client, target.volume)
    sender.send(source, path, progress)
    return sender.done


def fetch(
    client: Volumes,
    source: VolumePlace,
    target: Path,
    *,
    recursive: bool,
    progress: Progress,
    is_all: bool = False,
) -> Copied:
    """Copy a file or folder of a volume to this machine; of a folder what is here with the same size and time of change
    is passed over, unless `is_all`."""
    is_folder = not source.path or _is_folder(client, source, is_there=True)
    if is_folder and not recursive:
        raise WeirClientError(f"{source.path or '/'} is a folder.", "Copy folders with -r.")
    name = posixpath.basename(source.path) or source.volume["name"]
    if target.is_dir():
        target = target / name
    if is_folder:
        return fetch_tree(client, source.volume, source.path, target, is_all=is_all, progress=progress)
    size = fetch_file(client, source.volume["uid"], source.path, target, progress)
    return Copied(files=1, size=size)


def _is_folder(client: Volumes, place: VolumePlace, *, is_there: bool = False) -> bool:
    """Whether a folder is there; with `is_there` ApiError where nothing is."""
    try:
        next(client.folder(place.volume["uid"], place.path), None)
    except ApiError as error:
        if error.code not in (("path_refused",) if is_there else ("no_such_file", "path_refused")):
            raise
        return False
    return True
