"""Volumes as clients of S3 see them: buckets by name, files by key in the order of keys.

A folder is no object of S3: it shows by the keys below it, and one that is empty as a key with a slash at its end. What
has no path within a volume, a link or a name with a control character, has no key.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, NotFound
from apps.storage.drivers.chosen import driver
from apps.storage.errors import NoSuchFile, PathRefused
from apps.storage.models import Volume
from apps.storage.paths import file_names, names_of, path_of
from apps.storage.permissions import StoragePermission as P
from apps.storage.permissions import volumes_opened
from apps.storage.selectors import ENTRIES_MAX, key_of
from apps.storage.states import Owner
from apps.storage.types import Entry, Kind, Names, OpenFile

_NEAREST = (Owner.PERSON, Owner.ORGANIZATION, Owner.TENANT)
_DEPTH_MOST = 64
# So many folders are gone through for one list: of those without a file there may be millions.
_FOLDERS_MOST = 20_000


@dataclass(frozen=True, slots=True)
class Seen:
    """A key, or with `entry` None what several keys begin with."""

    key: str
    entry: Entry | None


def buckets(*, actor: Actor) -> list[tuple[str, Volume]]:
    """The volumes that the actor may open, by the names of their buckets: of several of a name the nearest has it, his
    own, then his organization's, then the tenant's; the others are called by their uid."""
    actor.require(P.VIEW)
    rows = sorted(
        Volume.objects.filter(volumes_opened(actor)), key=lambda row: _NEAREST.index(Owner(row.owner))
    )
    found: dict[str, list[Volume]] = {}
    for row in rows:
        found.setdefault(row.name, []).append(row)
    named = []
    for name, same in found.items():
        is_plain = len(same) == 1 or same[0].owner != same[1].owner
        if is_plain:
            named.append((name, same[0]))
        named += [(str(row.uid), row) for row in same[1 if is_plain else 0 :]]
    return sorted(named, key=lambda pair: pair[0])


def bucket_get(*, actor: Actor, name: str) -> Volume:
    """The volume that a bucket's name, or its uid, means for the actor. Raises NotFound."""
    with suppress(ValueError):
        row = Volume.objects.filter(volumes_opened(actor), uid=UUID(name)).first()
        if row is not None:
            actor.require(P.VIEW)
            return row
    found = next((row for known, row in buckets(actor=actor) if known == name), None)
    if found is None:
        raise NotFound(_("There is no volume %(name)s that you may open.") % {"name": name})
    return found


def object_entry(*, actor: Actor, volume: Volume, key: str) -> Entry:
    """What a key names: a file, or with a slash at its end a folder. Raises NoSuchFile."""
    actor.require(P.VIEW)
    is_folder = key.endswith("/")
    with suppress(PathRefused):
        found = driver(volume).entry(key_of(volume.uid), file_names(key.removesuffix("/")))
        if found is not None and found.kind == (Kind.FOLDER if is_folder else Kind.FILE):
            return found
    raise NoSuchFile(_("There is no %(path)s in the volume.") % {"path": key})


def object_open(*, actor: Actor, volume: Volume, key: str) -> OpenFile:
    """The file of a key held open; who calls closes it. Raises NoSuchFile."""
    object_entry(actor=actor, volume=volume, key=key)
    return driver(volume).file_open(key_of(volume.uid), file_names(key))


def objects_list(
    *, actor: Actor, volume: Volume, prefix: str, after: str, is_grouped: bool, most: int
) -> tuple[list[Seen], bool]:
    """The keys that begin with `prefix` and come after `after`, in their order, and whether there are more;
    `is_grouped`: those that go on with a slash only as what they have in common."""
    actor.require(P.VIEW)
    walk = _Walk(volume, prefix, after.encode(), is_grouped)
    found = list(islice(walk.seen(), most + 1))
    return found[:most], len(found) > most


class _Walk:
    """Through the folders of a volume in the order of keys, as far as somebody asks."""

    def __init__(self, volume: Volume, prefix: str, after: bytes, is_grouped: bool) -> None:
        self._key, self._prefix, self._after, self._is_grouped = key_of(volume.uid), prefix, after, is_grouped
        self._folders = 0
        self._store = driver(volume)

    def seen(self) -> Iterator[Seen]:
        with suppress(NoSuchFile, PathRefused):
            yield from self._folder(names_of(self._prefix.rpartition("/")[0]))

    def _folder(self, folder: Names) -> Iterator[Seen]:
        self._folders += 1
        if self._folders > _FOLDERS_MOST:
            raise Conflict(
                _("More than %(most)s folders hold none of the keys that are asked for.")
                % {"most": _FOLDERS_MOST},
                cure=_("Ask with a narrower prefix, or with the delimiter /."),
            )
        entries = list(islice(self._store.entries(self._key, folder), ENTRIES_MAX + 1))
        if len(entries) > ENTRIES_MAX:
            raise Conflict(
                _("The folder holds more than %(most)s entries.") % {"most": ENTRIES_MAX},
                cure=_("Look at it from work that mounts the volume."),
            )
        top = f"{path_of(folder)}/" if folder else ""
        if folder and not entries and top.startswith(self._prefix) and top.encode() > self._after:
            now = self._store.entry(self._key, folder)
            if now is not None:
                yield Seen(top, now)
        for key, entry in sorted(_keyed(top, entries), key=lambda pair: pair[0].encode()):
            if entry.kind == Kind.FILE:
                if key.startswith(self._prefix) and key.encode() > self._after:
                    yield Seen(key, entry)
            else:
                yield from self._below((*folder, entry.name), key)

    def _below(self, folder: Names, key: str) -> Iterator[Seen]:
        """What a folder brings, whose keys all begin with `key`."""
        is_passed = key.encode() <= self._after
        if not key.startswith(self._prefix) or len(folder) > _DEPTH_MOST:
            return
        if self._is_grouped:
            if not is_passed:
                yield Seen(key, None)
        elif not is_passed or self._after.startswith(key.encode()):
            with suppress(NoSuchFile, PathRefused):
                yield from self._folder(folder)


def _keyed(top: str, entries: list[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in entries:
        key = f"{top}{entry.name}"
        with suppress(PathRefused):
            file_names(key)
            if entry.kind == Kind.FILE:
                yield key, entry
            elif entry.kind == Kind.FOLDER:
                yield f"{key}/", entry
