"""Assets that work asks for: which they are, and where it finds them, read-only, beside its volumes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Max
from django.utils.translation import gettext as _

from apps.assets.models import Asset, AssetVersion
from apps.assets.selectors import asset_list, version_get
from apps.assets.states import AssetKind, Reach, VersionState
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, WeirError
from apps.kernel.pick_list import Pick
from apps.storage.mounts import path_check, paths_check, uid_of_key, volumes_again, volumes_mounted
from apps.storage.permissions import StoragePermission as P
from apps.storage.selectors import key_of, mark_get

_ASKED = re.compile(
    r"(?:(?P<kind>model|dataset|algorithm)/)?(?P<name>[^:/]+)(?::(?P<version>[1-9][0-9]{0,8}|latest))?"
    r"(?::(?P<path>/[^:]*))?"
)
_WHERE = {AssetKind.MODEL: "/models", AssetKind.DATASET: "/datasets", AssetKind.ALGORITHM: "/workspace"}
_NEAREST = (Reach.PERSON, Reach.ORGANIZATION, Reach.TENANT)


def mounts_of(
    *, actor: Actor, volumes: Sequence[str], assets: Sequence[str]
) -> tuple[list[dict[str, Any]], str]:
    """What nodes are told of the volumes and the assets, and the marks, with blanks between them, of the storages that
    a node has to see. Of several
    assets of a name the actor's own, then his organization's, then the tenant's.

    Raises InvalidInput for a name, a version, a path or a way that cannot be.
    """
    mounts = volumes_mounted(actor=actor, asked=volumes)
    for word in assets:
        version, path = _read(actor, word)
        mounts.append({"key": key_of(version.volume.uid), "path": path, "read_only": True})
    paths_check([one["path"] for one in mounts], "assets" if assets else "volumes")
    marks = {one.get("storage") for one in mounts}
    own = mark_get("assets" if assets else "volumes") if None in marks else ""
    return mounts, " ".join(sorted({*filter(None, marks), *filter(None, [own])}))


def mounts_again(
    *, actor: Actor, mounts: Sequence[Mapping[str, Any]], outputs: UUID | None
) -> dict[str, list[Pick]]:
    """Of what work was told to mount and to keep its outputs in, what the actor may still ask for, as it is chosen once
    more: `volumes`, `assets` and `outputs`."""
    found = volumes_again(actor=actor, mounts=mounts, outputs=outputs)
    if not actor.may(P.VIEW):
        return {**found, "assets": []}
    wanted = [(uid_of_key(one["key"]), str(one["path"])) for one in mounts]
    ready = AssetVersion.objects.filter(
        volume__uid__in={uid for uid, _path in wanted},
        state=VersionState.READY,
        asset__in=asset_list(actor=actor).values("pk"),
    )
    rows = {row.volume.uid: row for row in ready.select_related("asset", "volume")}
    return {**found, "assets": [_pick_again(rows[uid], path) for uid, path in wanted if uid in rows]}


def asset_picks(actor: Actor, words: Sequence[str], most: int) -> list[Pick]:
    """The assets whose names have every one of the words and of which a version is ready, at most `most`, as work asks
    for them: the newest version by its number, of several assets of a name by uid."""
    seen = asset_list(actor=actor)
    ready = AssetVersion.objects.filter(state=VersionState.READY)
    rows = seen.filter(pk__in=ready.values("asset"))
    for word in words:
        rows = rows.filter(name__icontains=word)
    found = list(rows[:most])
    newest = dict(ready.filter(asset__in=found).values_list("asset").annotate(Max("number")).order_by())
    named = list(seen.filter(name__in={row.name for row in found}).values_list("name", flat=True))
    return [
        Pick(
            f"{row.name if named.count(row.name) == 1 else row.uid}:{newest[row.pk]}",
            f"{row.name}:{newest[row.pk]}",
            f"{row.get_kind_display()} · {row.get_reach_display()}",
        )
        for row in found
    ]


def _pick_again(row: AssetVersion, path: str) -> Pick:
    title = f"{row.asset.name}:{row.number}"
    usual = path == f"{_WHERE[AssetKind(row.asset.kind)]}/{row.asset.name}"
    return Pick(f"{row.asset.uid}:{row.number}:{path}", title if usual else f"{title}:{path}")


def _read(actor: Actor, word: str) -> tuple[AssetVersion, str]:
    asked = _ASKED.fullmatch(word)
    if asked is None:
        raise _wrong(
            _("%(word)s is no asset: write NAME, NAME:VERSION, dataset/NAME:VERSION or NAME:VERSION:/path.")
            % {"word": word}
        )
    asset = _find(actor, asked["name"], asked["kind"] or "")
    number = int(asked["version"]) if (asked["version"] or "latest") != "latest" else None
    path = asked["path"] or f"{_WHERE[AssetKind(asset.kind)]}/{asset.name}"
    path_check(path, "assets")
    try:
        return version_get(actor=actor, asset=asset, number=number), path
    except WeirError as error:
        raise _wrong(str(error.message)) from error


def _find(actor: Actor, name: str, kind: str) -> Asset:
    rows = asset_list(actor=actor, kind=kind)
    try:
        named = rows.filter(uid=UUID(name))
    except ValueError:
        named = rows.filter(name=name)
    found = sorted(named, key=lambda row: _rank(actor, row))
    if not found:
        raise _wrong(_("There is no asset %(name)s that you may use.") % {"name": name})
    if len(found) > 1 and _rank(actor, found[0]) == _rank(actor, found[1]):
        raise _wrong(
            _(
                "Several assets are called %(name)s: put its kind and a slash before it, or give the uid of one."
            )
            % {"name": name}
        )
    return found[0]


def _rank(actor: Actor, row: Asset) -> int:
    return -1 if row.owner_id == actor.user_id else _NEAREST.index(Reach(row.reach))


def _wrong(text: str) -> InvalidInput:
    return InvalidInput(fields={"assets": text})
