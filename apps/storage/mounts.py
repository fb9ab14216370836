"""Volumes that work asks for: which they are, and where it finds them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.kernel.pick_list import Pick
from apps.storage.models import Volume
from apps.storage.permissions import StoragePermission as P
from apps.storage.permissions import volumes_opened
from apps.storage.selectors import key_of, mark_get
from apps.storage.states import Owner

_ASKED = re.compile(r"(?P<name>[^:]+)(?::(?P<path>/[^:]*))?(?::(?P<mode>ro|rw))?")
_PATH = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){1,8}")
# Below these, where nodes have nothing of their own that work needs.
TOPS = ("volumes", "data", "datasets", "models", "mnt", "workspace")
_NEAREST = (Owner.PERSON, Owner.ORGANIZATION, Owner.TENANT)


@dataclass(frozen=True, slots=True)
class Mount:
    """What was asked for in one word: `name`, `name:/path`, `name:ro`, `name:/path:ro`."""

    name: str
    path: str
    is_read_only: bool


def volumes_mounted(*, actor: Actor, asked: Sequence[str]) -> list[dict[str, Any]]:
    """What nodes are told of the volumes. Those that the actor may open alone: of several of a name his own, then his
    organization's, then the tenant's; who may only look has them read-only, and so has everybody those of ended orders.

    Raises InvalidInput for a name, a path or a way that cannot be.
    """
    if not asked:
        return []
    actor.require(P.VIEW)
    wanted = [(one, _find(actor, one.name)) for one in map(mount_read, asked)]
    return [
        {
            "key": key_of(row.uid),
            "path": one.path,
            "read_only": _is_read_only(actor, one, row),
            **_class_mark(row),
        }
        for one, row in wanted
    ]


def _class_mark(row: Volume) -> dict[str, str]:
    """By what nodes know the storage of a volume that does not lie in the centre's own folder."""
    return {} if row.storage_class_id is None else {"storage": mark_get("volumes", row)}


def volumes_again(
    *, actor: Actor, mounts: Sequence[Mapping[str, Any]], outputs: UUID | None
) -> dict[str, list[Pick]]:
    """Of what work was told to mount (`mounts`) and to keep its outputs in, the volumes that the actor may still ask
    for, as they are chosen once more: `volumes` and `outputs`."""
    if not actor.may(P.VIEW):
        return {"volumes": [], "outputs": []}
    wanted = [(uid_of_key(one["key"]), one) for one in mounts]
    uids = {uid for uid, _mount in wanted} | ({outputs} if outputs else set())
    rows = Volume.objects.filter(volumes_opened(actor), uid__in=uids)
    found = {row.uid: row for row in rows.exclude(kept_until__lte=timezone.now())}
    kept = found.get(outputs) if outputs and actor.may(P.USE) else None
    return {
        "volumes": [_pick_again(found[uid], one) for uid, one in wanted if uid in found],
        "outputs": [Pick(str(kept.uid), kept.name)] if kept and kept.kept_until is None else [],
    }


def volume_picks(actor: Actor, words: Sequence[str], most: int, *, are_kept_in: bool = False) -> list[Pick]:
    """The volumes whose names have every one of the words, at most `most`, as work asks for them: by name, or by uid
    where the actor opens several of that name. With `are_kept_in` those alone that can keep what work leaves."""
    actor.require(P.VIEW)
    opened = Volume.objects.filter(volumes_opened(actor)).exclude(kept_until__lte=timezone.now())
    rows = opened.filter(kept_until=None) if are_kept_in else opened
    for word in words:
        rows = rows.filter(name__icontains=word)
    found = list(rows.select_related("person", "organization").order_by("name", "pk")[:most])
    counted = opened.filter(name__in={row.name for row in found}).values_list("name").annotate(Count("pk"))
    several = {name for name, count in counted.order_by() if count > 1}
    return [Pick(str(row.uid) if row.name in several else row.name, row.name, _note(row)) for row in found]


def _note(row: Volume) -> str:
    """Whose it is."""
    if row.owner == Owner.ORGANIZATION and row.organization is not None:
        return str(row.organization.name)
    return str(row.get_owner_display())


def _pick_again(volume: Volume, mount: Mapping[str, Any]) -> Pick:
    usual, mode = mount["path"] == f"/volumes/{volume.name}", ":ro" if mount["read_only"] else ""
    title = volume.name if usual else f"{volume.name}:{mount['path']}"
    return Pick(f"{volume.uid}:{mount['path']}{mode}", title + mode)


def uid_of_key(key: str) -> UUID:
    """The uid of the volume that a driver knows by `key` (`key_of`)."""
    return UUID(key.rpartition("/")[2])


def paths_check(paths: Sequence[str], field: str) -> None:
    """InvalidInput where one is another, or below it."""
    for path in paths:
        if any(other.startswith(f"{path}/") or (other == path and paths.count(path) > 1) for other in paths):
            raise _wrong(
                _("Two things cannot be at %(path)s or one below the other.") % {"path": path}, field
            )


def path_check(path: str, field: str) -> None:
    """InvalidInput for a path where nothing can be mounted."""
    if not _PATH.fullmatch(path) or path.split("/")[1] not in TOPS:
        raise _wrong(
            _("Nothing can be mounted at %(path)s: choose a path below one of %(tops)s.")
            % {"path": path, "tops": ", ".join(f"/{top}" for top in TOPS)},
            field,
        )


def outputs_volume(*, actor: Actor, name: str) -> UUID | None:
    """The volume that is to keep the outputs of work, by name or uid; None for none. Raises InvalidInput."""
    if not name:
        return None
    actor.require(P.USE)
    row = _find(actor, name, "outputs")
    if row.kept_until is not None:
        raise _wrong(
            _("The order of %(name)s has ended: nothing more is kept in it.") % {"name": row.name}, "outputs"
        )
    return row.uid


def _is_read_only(actor: Actor, one: Mount, volume: Volume) -> bool:
    if volume.kept_until is not None:
        return True
    return one.is_read_only or not actor.may(P.USE) or actor.is_read_only


def mount_read(word: str) -> Mount:
    found = _ASKED.fullmatch(word)
    if found is None:
        raise _wrong(
            _("%(word)s is no volume: write NAME, NAME:/path, NAME:ro or NAME:/path:ro.") % {"word": word}
        )
    path = found["path"] or f"/volumes/{found['name']}"
    path_check(path, "volumes")
    return Mount(found["name"], path, found["mode"] == "ro")


def _find(actor: Actor, name: str, field: str = "volumes") -> Volume:
    rows = Volume.objects.filter(volumes_opened(actor))
    try:
        named = rows.filter(uid=UUID(name))
    except ValueError:
        named = rows.filter(name=name)
    named = named.exclude(kept_until__lte=timezone.now())
    found = sorted(named, key=lambda row: _NEAREST.index(Owner(row.owner)))
    if not found:
        raise _wrong(_("There is no volume %(name)s that you may open.") % {"name": name}, field)
    if len(found) > 1 and found[0].owner == found[1].owner:
        raise _wrong(_("Several volumes are called %(name)s: give the uid of one.") % {"name": name}, field)
    return found[0]


def _wrong(text: str, field: str = "volumes") -> InvalidInput:
    return InvalidInput(fields={field: text})
