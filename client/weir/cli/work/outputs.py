"""`weir outputs`: what work has left, listed or copied to this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.show import rows, said, tell
from weir.cli.stored.volumes import progress_line, size_text
from weir.errors import WeirClientError
from weir.files.copying import fetch, place_of
from weir.files.volume_files import Copied

if TYPE_CHECKING:
    from weir.api import Client
    from weir.api_types import OutputOut

_COLUMNS = [
    ("share", "share"), ("state", "state"), ("files", "files"), ("size", "size"), ("place", "place"),
    ("note", "sentence"),
]  # fmt: skip


def outputs(
    ctx: typer.Context,
    work: str = typer.Argument(..., help="The work, by number or uid."),
    target: str = typer.Argument("", help="Where to copy them to; left out: they are listed."),
) -> None:
    """What work has left as its outputs: `weir outputs W-1`, `weir outputs W-1 ./results`."""
    with caller(ctx) as client:
        found = client.workload_outputs(uid_of(work, client.workloads, "no"))
        if not target:
            rows(ctx, [_shown(row) for row in found], _COLUMNS)
            return
        done = _copy(client, found, Path(target))
    told = {"files": done.files, "bytes": done.size, "left_out": done.left_out}
    said(ctx, told, f"{done.files} files, {size_text(done.size)}.")


def _copy(client: "Client", found: "list[OutputOut]", target: Path) -> Copied:
    done, progress = Copied(), progress_line()
    kept = [row for row in found if row["state"] == "kept" and row["may_open"]]
    if not kept:
        why = found[0]["sentence"] if found else "It has not ended, or keeps none."
        raise WeirClientError("There are no outputs to copy.", why)
    for row in found:
        if row not in kept:
            tell(f"Left out: share {row['share']}. {row['sentence']}")
    for row in kept:
        into = target
        if len(found) > 1:
            target.mkdir(parents=True, exist_ok=True)
            into = target / f"share-{row['share']}"
        place = place_of(client, f"vol://{row['volume']}/{row['path']}/")
        more = fetch(client, place, into, recursive=True, progress=progress)
        done.files, done.size = done.files + more.files, done.size + more.size
        done.left_out += more.left_out
    return done


def _shown(row: "OutputOut") -> dict[str, Any]:
    place = f"vol://{row['volume_name']}/{row['path']}" if row["volume_name"] else ""
    return {**row, "size": size_text(row["size_bytes"]), "place": place}


COMMANDS = (outputs,)
