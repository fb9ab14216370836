"""For operators: the queues as a file, planned, applied and exported; opened and closed by command."""

from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import as_json, rows, said, say, tell
from weir.cluster import Cluster, manifests_of, text_of

if TYPE_CHECKING:
    from weir.api_types import ChangeOut, OutcomeOut

_CHANGE = [
    ("what", "act"),
    ("queue", "name"),
    ("setting", "setting"),
    ("before", "before"),
    ("after", "after"),
]

queues = App(help="The queues as a file, and their states.")
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
        say(found["text"], ends_line=False)


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


Kubeconfig = typer.Option("", help="The cluster's configuration; as kubectl finds it where none is named.")
Context = typer.Option("", help="Which cluster of the configuration.")


@queues.command()
def push(
    ctx: typer.Context,
    kubeconfig: str = Kubeconfig,
    context: str = Context,
    prune: bool = typer.Option(False, "--prune", help="Remove there what was pushed before and is no more."),
    dry_run: bool = typer.Option(False, "--dry-run", help="The cluster checks everything and keeps nothing."),
    resource: str = typer.Option("nvidia.com/gpu", help="What the cluster calls the cards."),
) -> None:
    """Write the queues into a Kubernetes cluster as Volcano's, and open or close them there as here."""
    with caller(ctx) as client:
        text = client.queue_file(form="volcano", resource=resource)["text"]
    cluster = Cluster(kubeconfig, context)
    done = cluster.push(manifests_of(text), prune=prune, dry_run=dry_run)
    if as_json(ctx):
        said(ctx, {"applied": done.applied, "removed": done.removed, "commanded": done.commanded}, "")
        return
    told = [("written", name) for name in done.applied] + [("removed", name) for name in done.removed]
    told += [("opened" if action == "OpenQueue" else "closed", name) for name, action in done.commanded]
    rows(ctx, [{"act": act, "name": name} for act, name in told], [("what", "act"), ("queue", "name")])
    if dry_run:
        say("Nothing was kept: it was a trial.")


@queues.command()
def pull(ctx: typer.Context, kubeconfig: str = Kubeconfig, context: str = Context) -> None:
    """Print the queues of a cluster with their observed states, as a file that `plan` and `apply` take."""
    found = Cluster(kubeconfig, context).pull()
    if as_json(ctx):
        said(ctx, found, "")
    else:
        say(text_of(found), ends_line=False)


def _tell(ctx: typer.Context, found: "OutcomeOut") -> None:
    """Each setting that changes on a line of its own, then what the file leaves alone."""
    if as_json(ctx):
        said(ctx, found, "")
        return
    if found["changes"]:
        rows(ctx, [row for change in found["changes"] for row in _lines(change)], _CHANGE)
    else:
        say("Nothing changes.")
    for note in found["notes"]:
        tell(f"Note: {note}")
    if found["kept"]:
        tell(f"Not in the file: {', '.join(found['kept'])}")
    say(f"State: {found['state']}")


def _lines(change: "ChangeOut") -> list[dict[str, Any]]:
    head = {"act": change["act"], "name": change["name"]}
    told = [{**head, **each, "name": change["name"], "setting": each["name"]} for each in change["settings"]]
    return told or [head]
