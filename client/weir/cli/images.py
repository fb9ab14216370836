"""`weir image`: what work can run in."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.group import App
from weir.cli.show import cell, one, rows, said, tell
from weir.cli.volumes import size_text
from weir.errors import WeirClientError
from weir.volume_copying import VolumePlace, bring, is_place, place_of

if TYPE_CHECKING:
    from weir.api import Client
    from weir.api_types import ImageOut, ImageVersionOut

_COLUMNS = [
    ("name", "name"), ("owner", "owner"), ("of", "of"), ("versions", "tags"), ("introduction", "introduction"),
]  # fmt: skip
_VERSIONS = [
    ("tag", "tag"), ("state", "state"), ("machines", "architecture"), ("size", "size"), ("digest", "digest"),
    ("problem", "problem"),
]  # fmt: skip
_OWNERS = ("person", "organization", "tenant", "centre")

image = App(help="Container images: yours, your organization's, your tenant's, the centre's.")


def _shown(row: "ImageOut") -> dict[str, Any]:
    found: dict[str, Any] = {**row}
    return found | {
        "of": cell(found, "person") or cell(found, "organization"),
        "tags": ", ".join(version["tag"] for version in row["versions"]),
    }


def _version_shown(row: "ImageVersionOut") -> dict[str, Any]:
    return {**row, "size": size_text(row["size_bytes"])}


def image_of(client: "Client", name: str) -> "ImageOut":
    """The image of that name, or uid: of several of a name one's own first, the centre's last."""
    found = [row for row in client.images() if name in (row["name"], row["uid"])]
    if not found:
        raise WeirClientError(f"There is no image {name}.", "`weir image list` shows those that you may run.")
    found.sort(key=lambda row: _OWNERS.index(row["owner"]))
    if len(found) > 1 and found[0]["owner"] == found[1]["owner"]:
        raise WeirClientError(f"Several images are called {name}.", "Give the uid of the one that you mean.")
    return found[0]


@image.command("list")
def list_(ctx: typer.Context) -> None:
    """The images that you may run."""
    with caller(ctx) as client:
        rows(ctx, [_shown(row) for row in client.images()], _COLUMNS)


@image.command()
def show(ctx: typer.Context, name: str = typer.Argument(..., help="The image, by name or uid.")) -> None:
    """One image with its versions."""
    with caller(ctx) as client:
        found = image_of(client, name)
        if found["introduction"]:
            tell(found["introduction"])
        rows(ctx, [_version_shown(row) for row in found["versions"]], _VERSIONS)


@image.command("import")
def import_(
    ctx: typer.Context,
    source: str = typer.Argument(..., help="An archive by `docker save`: a file here, or vol://name/path."),
    name: str = typer.Argument(..., help="NAME or NAME:TAG."),
    via: str = typer.Option(
        "", "--via", help="The folder of a volume that a file goes by: vol://name/folder/."
    ),
    introduction: str = typer.Option("", "--introduction", help="What it is, for people."),
    tenant: bool = typer.Option(False, "--of-tenant", help="It is the tenant's."),
    organization: str = typer.Option("", "--of-organization", help="It is this organization's (uid)."),
    no_wait: bool = typer.Option(False, "--no-wait", help="Do not wait until it was looked at."),
) -> None:
    """Make an archive a version of an image; stays until it was looked at, and fails where it is refused."""
    title, _sign, tag = name.partition(":")
    with caller(ctx) as client:
        place = _archive_place(client, source, via)
        found = client.image_import(
            place.volume["uid"],
            place.path,
            title,
            tag or "latest",
            introduction=introduction,
            owner=_owner(tenant, organization),
            organization=organization or None,
        )
        if not no_wait:
            found = client.image_settled(found["uid"])
    _settled_say(ctx, found)


@image.command()
def save(
    ctx: typer.Context,
    resource: str = typer.Argument(..., help="Your running work in a container image, by number or uid."),
    name: str = typer.Argument(..., help="NAME or NAME:TAG."),
    introduction: str = typer.Option("", "--introduction", help="What it is, for people."),
    tenant: bool = typer.Option(False, "--of-tenant", help="It is the tenant's."),
    organization: str = typer.Option("", "--of-organization", help="It is this organization's (uid)."),
    no_wait: bool = typer.Option(False, "--no-wait", help="Do not wait until it is ready."),
) -> None:
    """Save running work as a version of an image: its image, and what it has changed over that. It holds still while
    its files are read; volumes, its own folder and temporary files are left out. Fails where it is refused."""
    title, _sign, tag = name.partition(":")
    with caller(ctx) as client:
        found = client.image_save(
            uid_of(resource, client.workloads, "no"),
            title,
            tag or "latest",
            introduction=introduction,
            owner=_owner(tenant, organization),
            organization=organization or None,
        )
        if not no_wait:
            found = client.image_settled(found["uid"])
    _settled_say(ctx, found)


def _owner(tenant: bool, organization: str) -> str:
    return "organization" if organization else "tenant" if tenant else "person"


def _settled_say(ctx: typer.Context, found: "ImageVersionOut") -> None:
    name = f"{found['name']}:{found['tag']}"
    if found["state"] == "refused":
        raise WeirClientError(f"{name} is refused.", found["problem"])
    said(ctx, found, f"{name} is {found['state']}.")


def _archive_place(client: "Client", source: str, via: str) -> VolumePlace:
    if is_place(source):
        return place_of(client, source)
    if not via:
        raise WeirClientError(
            "A file of this machine goes by a volume.", "Name a folder in one: --via vol://data/images/"
        )
    folder = place_of(client, via if via.endswith("/") else f"{via}/")
    bring(client, Path(source), folder, recursive=False, progress=lambda _path, _done, _size: None)
    path = "/".join(filter(None, (folder.path, Path(source).name)))
    return VolumePlace(folder.volume, path, is_folder=False)


@image.command()
def describe(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="The image, by name or uid."),
    introduction: str = typer.Argument(..., help="What it is, for people."),
) -> None:
    """Say what an image is."""
    with caller(ctx) as client:
        found = client.image_change(image_of(client, name)["uid"], introduction=introduction)
        one(ctx, _shown(found), _COLUMNS)


@image.command()
def delete(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="NAME with all its versions, or NAME:TAG."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
) -> None:
    """Delete an image, or one version of it."""
    title, _sign, tag = name.partition(":")
    with caller(ctx) as client:
        found = image_of(client, title)
        if not yes:
            typer.confirm(f"Delete {name}?", abort=True)
        if not tag:
            client.image_delete(found["uid"])
        else:
            client.image_version_delete(_tagged(found, tag)["uid"])
    said(ctx, {"name": name}, f"{name} is deleted.")


@image.command()
def publish(ctx: typer.Context, name: str = typer.Argument(..., help="NAME:TAG.")) -> None:
    """Operators: offer a version to everybody."""
    title, _sign, tag = name.partition(":")
    with caller(ctx) as client:
        found = client.image_publish(_tagged(image_of(client, title), tag or "latest")["uid"])
    said(ctx, found, f"{found['name']}:{found['tag']} is offered to everybody.")


def _tagged(found: "ImageOut", tag: str) -> "ImageVersionOut":
    for version in found["versions"]:
        if version["tag"] == tag:
            return version
    raise WeirClientError(f"{found['name']} has no version {tag}.", "`weir image show` lists them.")
