"""`weir asset`: models, datasets and algorithms with versions, shared and mounted into work."""

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import one, rows, said
from weir.cli.stored.volumes import size_text
from weir.errors import WeirClientError
from weir.files.copying import place_of

if TYPE_CHECKING:
    from weir.api import Client
    from weir.api_types import AssetOut, AssetVersionOut

_COLUMNS = [
    ("kind", "kind"), ("name", "name"), ("newest", "newest"), ("owner", "owner"), ("shared with", "reach"),
    ("tags", "tags"), ("uid", "uid"),
]  # fmt: skip
_VERSIONS = [
    ("version", "number"), ("state", "state"), ("files", "files"), ("size", "size"), ("sha256", "sha256"),
    ("note", "note"),
]  # fmt: skip
_NAMED = re.compile(
    r"(?:(?P<kind>model|dataset|algorithm)/)?(?P<name>[^:/]+)(?::(?P<version>[1-9][0-9]{0,8}|latest))?"
)
_KINDS = "model, dataset or algorithm."

asset = App(help="Models, datasets and algorithms: by name and version, shared, mounted into work.")


def asset_of(client: "Client", text: str) -> "tuple[AssetOut, int | None]":
    """The asset that NAME, KIND/NAME, NAME:VERSION or a uid means, and the version. Raises WeirClientError."""
    named = _NAMED.fullmatch(text)
    if named is None:
        raise WeirClientError(f"{text!r} is no asset.", "Write NAME, KIND/NAME or NAME:VERSION.")
    listed = client.assets(kind=named["kind"] or "")
    found = [row for row in listed if named["name"] in (row["name"], row["uid"])]
    if not found:
        raise WeirClientError(f"You have no asset {text}.", "`weir asset list` shows those that you may use.")
    if len(found) > 1:
        raise WeirClientError(f"Several assets are called {text}.", "Give its kind, or the uid of one.")
    version = named["version"] or "latest"
    return found[0], None if version == "latest" else int(version)


def _shown(row: "AssetOut") -> dict[str, Any]:
    return {**row, "tags": ", ".join(row["tags"])}


def _version_shown(row: "AssetVersionOut") -> dict[str, Any]:
    return {**row, "size": size_text(row["size_bytes"]), "note": row["problem"] or row["note"]}


@asset.command("list")
def list_(
    ctx: typer.Context,
    kind: str = typer.Option("", help=_KINDS),
    search: str = typer.Option("", help="Part of a name or of an introduction."),
    tag: str = typer.Option("", help="With this tag."),
) -> None:
    """Your assets, and those that are shared with you."""
    with caller(ctx) as client:
        rows(ctx, [_shown(row) for row in client.assets(kind, search, tag)], _COLUMNS)


@asset.command()
def show(ctx: typer.Context, name: str = typer.Argument(..., help="NAME, KIND/NAME or uid.")) -> None:
    """One asset."""
    with caller(ctx) as client:
        one(ctx, _shown(asset_of(client, name)[0]), [*_COLUMNS, ("introduction", "introduction")])


@asset.command()
def versions(ctx: typer.Context, name: str = typer.Argument(..., help="NAME, KIND/NAME or uid.")) -> None:
    """The versions of an asset."""
    with caller(ctx) as client:
        found = client.asset_versions(asset_of(client, name)[0]["uid"])
        rows(ctx, [_version_shown(row) for row in found], _VERSIONS)


@asset.command()
def make(
    ctx: typer.Context,
    kind: str = typer.Argument(..., help=_KINDS),
    name: str = typer.Argument(..., help="Small letters, digits, points, hyphens, underscores."),
    introduction: str = typer.Option("", "--introduction", help="What it is."),
    tag: list[str] = typer.Option([], "--tag", help="A tag; may be given again."),
    share: str = typer.Option("person", "--share", help="person (nobody), organization or tenant."),
) -> None:
    """Make an asset, which has no version yet."""
    with caller(ctx) as client:
        found = client.asset_make(kind, name, introduction=introduction, tags=tag, reach=share)
    said(ctx, found, f"{kind}/{name} is there: publish a folder of a volume as its first version.")


@asset.command()
def publish(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="NAME, KIND/NAME or uid."),
    place: str = typer.Argument(..., help="vol://volume/folder"),
    note: str = typer.Option("", "--note", help="What is new in it."),
) -> None:
    """Publish a folder of a volume as the next version: it is copied, and never changes again."""
    with caller(ctx) as client:
        at = place_of(client, place)
        uid = asset_of(client, name)[0]["uid"]
        found = client.asset_publish(uid, at.volume["uid"], at.path, note)
    said(ctx, found, f"Version {found['number']} of {name} is being copied.")


@asset.command()
def share(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="NAME, KIND/NAME or uid."),
    reach: str = typer.Argument(..., help="person (nobody), organization or tenant."),
) -> None:
    """Share an asset, or take that back."""
    with caller(ctx) as client:
        found = client.asset_change(asset_of(client, name)[0]["uid"], reach=reach)
    said(ctx, found, f"{name} is shared with: {found['reach']}.")


@asset.command()
def get(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="NAME, KIND/NAME or NAME:VERSION."),
    target: Path = typer.Argument(Path(), help="The folder that its files are put into."),
) -> None:
    """Fetch the files of a version; each is compared with its checksum."""
    with caller(ctx) as client:
        found, version = asset_of(client, name)
        number = version or found["newest"]
        if number is None:
            raise WeirClientError(f"{name} has no version yet.", "Publish one.")
        count = _fetch(client, found["uid"], number, target)
    said(ctx, {"files": count, "version": number}, f"{count} files of version {number}.")


def _fetch(client: "Client", uid: str, number: int, target: Path) -> int:
    files = client.asset_files(uid, number)
    for row in files:
        parts = row["path"].split("/")
        if any(part in ("", ".", "..") or os.sep in part for part in parts):
            raise WeirClientError(f"{row['path']!r} is no path of a file.", "Do not trust this portal.")
        place = target.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        part, digest = place.with_name(f".{place.name[:100]}.part"), hashlib.sha256()
        with part.open("wb") as file:
            for block in client.asset_file_read(uid, number, row["path"]):
                file.write(block)
                digest.update(block)
        if digest.hexdigest() != row["sha256"]:
            part.unlink()
            raise WeirClientError(f"{row['path']} arrived damaged.", "Fetch it again.")
        os.replace(part, place)
    return len(files)


@asset.command()
def delete(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="NAME, KIND/NAME: all of it; NAME:VERSION: this version alone."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
) -> None:
    """Delete an asset, or one version of it."""
    with caller(ctx) as client:
        found, version = asset_of(client, name)
        if not yes:
            typer.confirm(f"Delete {name} with its files?", abort=True)
        if version is None:
            client.asset_delete(found["uid"])
        else:
            client.asset_version_delete(found["uid"], version)
    said(ctx, {"uid": found["uid"]}, f"{name} is deleted.")
