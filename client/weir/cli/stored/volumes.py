"""`weir volume`: places for files; `weir cp` fills and empties them."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import cell, one, rows, said, tell, visible
from weir.cli.units import memory_mib
from weir.errors import WeirClientError
from weir.files.copying import bring, fetch, is_place, place_of, volume_of
from weir.files.volume_files import Progress

if TYPE_CHECKING:
    from weir.api_types import VolumeOut

_SHOWN_EVERY_S = 0.2
_COLUMNS = [
    ("name", "name"), ("owner", "owner"), ("of", "of"), ("used", "used"), ("size", "size"), ("uid", "uid"),
]  # fmt: skip
_ENTRIES = [("name", "name"), ("kind", "kind"), ("size", "size_bytes"), ("changed", "modified_at")]

volume = App(help="Places for files: yours, your organization's, your tenant's.")


def size_text(count: int) -> str:
    """Bytes as people read them."""
    amount, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"


def _shown(row: "VolumeOut") -> dict[str, Any]:
    found: dict[str, Any] = {**row}
    return found | {
        "of": cell(found, "person") or cell(found, "organization"),
        "used": size_text(found["used_bytes"]),
        "size": size_text(found["size_mib"] * 2**20),
    }


@volume.command("list")
def list_(ctx: typer.Context) -> None:
    """The volumes that you may open."""
    with caller(ctx) as client:
        rows(ctx, [_shown(row) for row in client.volumes()], _COLUMNS)


@volume.command()
def show(ctx: typer.Context, name: str = typer.Argument(..., help="The volume, by name or uid.")) -> None:
    """One volume."""
    with caller(ctx) as client:
        one(ctx, _shown(volume_of(client, name)), _COLUMNS)


@volume.command()
def make(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="Small letters, digits, points, hyphens, underscores."),
    size: str = typer.Option("10Gi", "--size", help="50Gi, 512Mi, or a number of MiB."),
    tenant: bool = typer.Option(False, "--of-tenant", help="It is the tenant's."),
    organization: str = typer.Option("", "--of-organization", help="It is this organization's (uid)."),
    storage_class: str = typer.Option(
        "", "--class", help="Where it is kept, by a storage class; else the centre's."
    ),
) -> None:
    """Make an empty volume; its size is held of the quota of storage."""
    owner = "organization" if organization else "tenant" if tenant else "person"
    with caller(ctx) as client:
        found = client.volume_make(
            name,
            memory_mib(size),
            owner=owner,
            organization=organization or None,
            storage_class=storage_class,
        )
    said(ctx, found, f"The volume {name} is there: vol://{name}/.")


@volume.command()
def change(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="The volume, by name or uid."),
    size: str = typer.Option("", "--size", help="50Gi, 512Mi, or a number of MiB."),
    to: str = typer.Option("", "--name", help="Its new name."),
) -> None:
    """Rename a volume, or give it another size."""
    with caller(ctx) as client:
        uid = volume_of(client, name)["uid"]
        found = client.volume_change(uid, name=to, size_mib=memory_mib(size) if size else None)
    said(ctx, found, f"{found['name']} holds up to {size_text(found['size_mib'] * 2**20)}.")


@volume.command()
def delete(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="The volume, by name or uid."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Do not ask."),
) -> None:
    """Delete a volume with all that is in it."""
    with caller(ctx) as client:
        found = volume_of(client, name)
        if not yes:
            typer.confirm(f"Delete {name} with {size_text(found['used_bytes'])} in it?", abort=True)
        client.volume_delete(found["uid"])
    said(ctx, {"uid": found["uid"]}, f"{name} is deleted.")


@volume.command()
def ls(ctx: typer.Context, place: str = typer.Argument(..., help="vol://name/folder")) -> None:
    """What is in a folder."""
    with caller(ctx) as client:
        at = place_of(client, place)
        rows(ctx, client.folder(at.volume["uid"], at.path), _ENTRIES)


@volume.command()
def mkdir(ctx: typer.Context, place: str = typer.Argument(..., help="vol://name/folder")) -> None:
    """Make a folder, and those above it that are missing."""
    with caller(ctx) as client:
        at = place_of(client, place)
        client.folder_make(at.volume["uid"], at.path)
    said(ctx, {"path": at.path}, f"{at.path} is there.")


@volume.command()
def mv(
    ctx: typer.Context,
    place: str = typer.Argument(..., help="vol://name/path"),
    to: str = typer.Argument(..., help="The new path within the volume."),
) -> None:
    """Move or rename a file or folder within its volume."""
    with caller(ctx) as client:
        at = place_of(client, place)
        client.file_move(at.volume["uid"], at.path, to)
    said(ctx, {"path": to}, f"{at.path} is now {to}.")


@volume.command()
def rm(ctx: typer.Context, place: str = typer.Argument(..., help="vol://name/path")) -> None:
    """Delete a file, or a folder with all that is in it."""
    with caller(ctx) as client:
        at = place_of(client, place)
        client.file_remove(at.volume["uid"], at.path)
    said(ctx, {"path": at.path}, f"{at.path} is deleted.")


# --- weir cp ---------------------------------------------------------------------------------------------------


def volume_cp(ctx: typer.Context, source: str, target: str, *, recursive: bool, is_all: bool) -> None:
    """Copy files between this machine and a volume, which one of the two names."""
    if is_place(source) == is_place(target):
        raise WeirClientError(
            "One of the two is to be here.", "Copy from one volume to another by way of here."
        )
    with caller(ctx) as client:
        progress = progress_line()
        if is_place(source):
            done = fetch(
                client,
                place_of(client, source),
                Path(target),
                recursive=recursive,
                is_all=is_all,
                progress=progress,
            )
        else:
            done = bring(
                client,
                Path(source),
                place_of(client, target),
                recursive=recursive,
                is_all=is_all,
                progress=progress,
            )
    for line in done.left_out:
        tell(f"Left out: {line}.")
    for line in done.refused:
        tell(f"Refused: {line}")
    told = {
        "files": done.files, "bytes": done.size, "there": done.there,
        "left_out": done.left_out, "refused": done.refused,
    }  # fmt: skip
    there = f", {done.there} were there already" if done.there else ""
    said(ctx, told, f"{done.files} files, {size_text(done.size)}{there}.")
    if done.refused:
        raise typer.Exit(1)


def progress_line() -> Progress:
    """A line on the terminal that says how far the file is; nothing where there is none."""
    if not sys.stderr.isatty():
        return lambda _path, _done, _size: None
    shown_at = 0.0

    def show(path: str, done: int, size: int) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if now - shown_at < _SHOWN_EVERY_S and done < size:
            return
        shown_at = now
        percent = 100 * done // size if size else 100
        end = "\n" if done >= size else ""
        name = visible(path, has_lines=False)
        sys.stderr.write(f"\r\x1b[K{name}  {percent} %  {size_text(done)} of {size_text(size)}{end}")
        sys.stderr.flush()

    return show
