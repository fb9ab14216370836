"""For operators: the queues as a file, planned, applied and exported; opened and closed by command."""

from typing import Any

import typer

from weir.cli.calling import caller
from weir.cli.show import as_json, err, out, rows, said

Json = dict[str, Any]
_CHANGE = [
    ("what", "act"),
    ("queue", "name"),
    ("setting", "setting"),
    ("before", "before"),
    ("after", "after"),
]

queues = typer.Typer(help="The queues as a file, and their states.", no_args_is_help=True)
File = typer.Argument(
    ...,
    encoding="utf-8",
    help="queues.yaml, a ConfigMap that holds it, or manifests of Volcano's queues; - is standard input.",
)
Prune = typer.Option(False, "--prune", help="Remove the queues that it does not name.")


@queues.command()
def plan(ctx: typer.Context, file: typer.FileText = File, prune: bool = Prune) -> None:
    """What the file would change, and whether it would be refused; nothing is kept."""
    with caller(ctx) as client:
        _tell(ctx, client.queue_file_plan(file.read(), prune=prune))


@queues.command()
def apply(
    ctx: typer.Context,
    file: typer.FileText = File,
    prune: bool = Prune,
    state: str = typer.Option("", help="The state that `plan` told: applied to that and nothing else."),
) -> None:
    """Bring the queues to what the file says, all of it or nothing."""
    with caller(ctx) as client:
        _tell(ctx, client.queue_file_apply(file.read(), prune=prune, state=state))


@queues.command()
def export(
    ctx: typer.Context,
    volcano: bool = typer.Option(False, "--volcano", help="As manifests of Volcano's queues."),
    resource: str = typer.Option("nvidia.com/gpu", help="What the cluster calls the cards."),
) -> None:
    """Print the queues as they stand, as a file that `apply` takes."""
    with caller(ctx) as client:
        found = client.queue_file(form="volcano" if volcano else "queues", resource=resource)
    if as_json(ctx):
        said(ctx, found, "")
    else:
        typer.echo(found["text"], nl=False)


@queues.command("open")
def open_(ctx: typer.Context, code: str = typer.Argument(..., help="The queue.")) -> None:
    """Let it take and start work."""
    with caller(ctx) as client:
        said(ctx, client.queue_open(code), f"Queue {code} takes and starts work.")


@queues.command()
def close(ctx: typer.Context, code: str = typer.Argument(..., help="The queue.")) -> None:
    """Let it take and start none; what runs goes on to its end."""
    with caller(ctx) as client:
        said(ctx, client.queue_close(code), f"Queue {code} takes and starts none; what runs goes on.")


def _tell(ctx: typer.Context, found: Json) -> None:
    """Each setting that changes on a line of its own, then what the file leaves alone."""
    if as_json(ctx):
        said(ctx, found, "")
        return
    if found["changes"]:
        rows(ctx, [row for change in found["changes"] for row in _lines(change)], _CHANGE)
    else:
        out.print("Nothing changes.")
    for note in found["notes"]:
        err.print(f"Note: {note}")
    if found["kept"]:
        err.print(f"Not in the file: {', '.join(found['kept'])}")
    out.print(f"State: {found['state']}")


def _lines(change: Json) -> list[Json]:
    head = {"act": change["act"], "name": change["name"]}
    told = [{**head, **each, "name": change["name"], "setting": each["name"]} for each in change["settings"]]
    return told or [head]
