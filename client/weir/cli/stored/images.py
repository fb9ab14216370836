"""`weir image`: what work can run in."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from weir.cli.context import caller, uid_of
from weir.cli.group import App
from weir.cli.show import Progress, as_json, cell, one, rows, said, say_printed, tell
from weir.cli.stored.volumes import size_text
from weir.cli.units import cores_milli, duration_s, memory_mib, pairs
from weir.errors import WeirClientError
from weir.files.copying import VolumePlace, bring, is_place, place_of

if TYPE_CHECKING:
    from weir.api import Client
    from weir.api_types import ImageBuildIn, ImageBuildOut, ImageOut, ImageVersionOut

_COLUMNS = [
    ("name", "name"), ("owner", "owner"), ("of", "of"), ("versions", "tags"), ("introduction", "introduction"),
]  # fmt: skip
_VERSIONS = [
    ("tag", "tag"), ("state", "state"), ("machines", "architecture"), ("size", "size"), ("digest", "digest"),
    ("problem", "problem"),
]  # fmt: skip
_BUILDS = [
    ("image", "name"), ("state", "state"), ("begins with", "base"), ("steps", "steps"), ("work", "workload_no"),
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


@image.command()
def build(
    ctx: typer.Context,
    folder: Path = typer.Argument(
        ..., help="The folder with the Containerfile and the files that it copies."
    ),
    name: str = typer.Option(..., "--tag", "-t", help="NAME or NAME:TAG."),
    file: Path = typer.Option(
        None, "--file", "-f", help="The Containerfile; else FOLDER/Containerfile or Dockerfile."
    ),
    build_arg: list[str] = typer.Option(
        [], "--build-arg", help="NAME=value for an ARG; NAME alone passes yours."
    ),
    share: int = typer.Option(10, min=1, max=100, help="Compute for its steps, in percent of one device."),
    memory: str = typer.Option("512Mi", help="Accelerator memory for its steps."),
    cpu: str = typer.Option("", help="Processor cores beside the share: 2, 0.5."),
    host_memory: str = typer.Option("", help="Main memory beside the share: 8Gi."),
    queue: str = typer.Option("", help="The queue to wait in; else the default one."),
    timeout: str = typer.Option("1h", help="It fails after so long: 30m, 2h."),
    no_cache: bool = typer.Option(False, "--no-cache", help="Run steps that an image of before has."),
    introduction: str = typer.Option("", "--introduction", help="What it is, for people."),
    tenant: bool = typer.Option(False, "--of-tenant", help="It is the tenant's."),
    organization: str = typer.Option("", "--of-organization", help="It is this organization's (uid)."),
    no_wait: bool = typer.Option(False, "--no-wait", help="Do not wait until it is ready."),
) -> None:
    """Build an image: the steps of a Containerfile run on a node, as work of yours, and what they print is shown. The
    folder travels along, but for what .weirignore and .gitignore name. Fails where the build does."""
    title, _sign, tag = name.partition(":")
    asked: dict[str, Any] = {
        "name": title,
        "tag": tag or "latest",
        "containerfile": _containerfile(folder, file),
        "args": pairs(build_arg),
        "compute_percent": share,
        "memory_mib": memory_mib(memory),
        "host_cpu_milli": cores_milli(cpu) if cpu else 0,
        "host_memory_mib": memory_mib(host_memory) if host_memory else 0,
        "queue": queue,
        "run_timeout_s": duration_s(timeout),
        "is_fresh": no_cache,
        "introduction": introduction,
        "owner": _owner(tenant, organization),
        "organization": organization or None,
    }
    with caller(ctx) as client:
        found = client.image_build(**cast("ImageBuildIn", asked | _context(client, folder, asked)))
        if not no_wait:
            found = _built(ctx, client, found)
    if found["state"] in ("failed", "cancelled"):
        raise WeirClientError(f"{found['name']} is {found['state']}.", found["problem"])
    said(ctx, found, f"{found['name']} is {'ready' if found['state'] == 'done' else found['state']}.")


def _containerfile(folder: Path, file: Path | None) -> str:
    for path in [file] if file else [folder / "Containerfile", folder / "Dockerfile"]:
        if path.is_file():
            return path.read_text(errors="replace")
    raise WeirClientError(
        f"There is no {file or folder / 'Containerfile'}.", "Name it: --file Containerfile.gpu"
    )


def _context(client: "Client", folder: Path, asked: dict[str, Any]) -> dict[str, str]:
    """The folder, sent where the Containerfile copies files."""
    words = {line.split(None, 1)[0].upper() for line in asked["containerfile"].splitlines() if line.strip()}
    if not words & {"COPY", "ADD"}:
        return {}
    from weir.working_folder import folder_pack

    packed = folder_pack(folder)
    with Progress("sending the folder") as shown:
        return {"folder": client.folder_send(packed, progress=shown.at)}


def _built(ctx: typer.Context, client: "Client", found: "ImageBuildOut") -> "ImageBuildOut":
    if not as_json(ctx):
        tell(f"{found['workload_no']} builds {found['name']}.")
        for text in client.log_follow(found["workload"]):
            say_printed(text, is_raw=False)
    return client.image_built(found["uid"])


@image.command()
def builds(ctx: typer.Context) -> None:
    """Your builds, the newest first."""
    with caller(ctx) as client:
        rows(ctx, [dict(row) for row in client.image_builds()], _BUILDS)


@image.command("cancel")
def cancel(
    ctx: typer.Context, name: str = typer.Argument(..., help="NAME:TAG, or the uid of a build.")
) -> None:
    """End a build."""
    with caller(ctx) as client:
        found = [
            row for row in client.image_builds() if name in (row["name"], row["uid"]) and row["may_cancel"]
        ]
        if not found:
            raise WeirClientError(f"No build of {name} goes on.", "`weir image builds` lists them.")
        ended = client.image_build_cancel(found[0]["uid"])
    said(ctx, ended, f"The build of {ended['name']} is cancelled.")


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
