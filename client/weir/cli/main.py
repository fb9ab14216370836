"""`weir`: the whole journey from a terminal. Every command prints a table, or JSON with `--json`."""

import json
from collections.abc import Callable
from typing import Any

import typer

from weir import __version__
from weir.cli import billing, ordering, resources, services, signing_in
from weir.cli.centre import components, conformance, fleet, network, queues, reservations, top, watching
from weir.cli.context import caller, known_contexts
from weir.cli.group import App
from weir.cli.show import say_json
from weir.cli.stored import access_keys, assets, images, secrets, volumes
from weir.cli.work import (
    copying,
    executing,
    jobs,
    metrics,
    outputs,
    placing,
    running,
    scaling,
    ssh,
    submitting,
    waiting,
    workloads,
)
from weir.errors import WeirClientError

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

app = App(help="Weir: order, run, watch and pay for shares of accelerators.")


def _take_in(heading: str, *commands: Callable[..., None], **options: Any) -> None:
    app.heading = heading
    for command in commands:
        app.command(**options)(command)


# What follows the script's name is the script's own.
_take_in("Your work", running.run, submitting.submit, context_settings=running.CONTEXT)
_take_in("Your work", *top.COMMANDS, *resources.COMMANDS, *workloads.COMMANDS, *waiting.COMMANDS)
_take_in(
    "Your work", *executing.COMMANDS, *ssh.COMMANDS, *copying.COMMANDS, *outputs.COMMANDS, *metrics.COMMANDS
)
app.command("open")(workloads.open_pages)
app.add_typer(workloads.environments, name="environments")
app.add_typer(workloads.sessions, name="sessions")
app.add_typer(jobs.job, name="job")
app.add_typer(services.service, name="service")
app.add_typer(placing.placement, name="placement")
app.add_typer(scaling.scaling, name="scaling")
app.add_typer(secrets.secret, name="secret")
app.add_typer(volumes.volume, name="volume")
app.add_typer(access_keys.access_key, name="access-key")
app.add_typer(images.image, name="image")
app.add_typer(assets.asset, name="asset")
_take_in("Catalogue and orders", *ordering.COMMANDS)
_take_in("Money and messages", *billing.COMMANDS)
_take_in("For operators", *fleet.COMMANDS, *watching.COMMANDS, *components.COMMANDS)
app.add_typer(network.center, name="center")
app.add_typer(network.network_spec, name="network-spec")
app.add_typer(conformance.conformance, name="conformance")
app.add_typer(queues.queues, name="queues")
app.add_typer(reservations.reservations, name="reservations")
app.add_typer(reservations.hooks, name="hooks")
app.heading = "This client"
_take_in("This client", signing_in.login, signing_in.logout, signing_in.whoami)
app.add_typer(signing_in.context, name="context")


def _version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
    tenant: str = typer.Option("", envvar="WEIR_TENANT", help="The tenant to act in."),
    context: str = typer.Option(
        "",
        help="The centre to act in, by the name that it has in `weir context list`; else WEIR_CONTEXT, else the"
        " one in use.",
        autocompletion=known_contexts,
    ),
    version_: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="The client's version."
    ),
) -> None:
    """Order, run, watch and pay for shares of accelerators."""


@app.command()
def api(
    ctx: typer.Context,
    path: str = typer.Argument(..., help="Below /api/v1/: tenants, tenants/acme/account.", metavar="PATH"),
    method: str = typer.Option(
        "", "--method", "-X", help="GET, or POST where something is sent, unless it is said here."
    ),
    sent: typer.FileText = typer.Option(
        None, "--input", help="A file with the JSON to send; - is the standard input.", show_default=False
    ),
) -> None:
    """Any call of the API, which /api/schema/ describes; prints the JSON that comes back."""
    try:
        body = json.load(sent) if sent else None
    except ValueError as error:
        raise WeirClientError(f"{sent.name} is no JSON: {error}.", "Mend it there.") from error
    verb = method.upper() or ("POST" if sent else "GET")
    if verb not in _METHODS:
        raise WeirClientError(f"There is no method {method}.", f"Name one of {', '.join(_METHODS)}.")
    with caller(ctx) as client:
        answer = client.call(verb, path.removeprefix("/api/v1/").lstrip("/"), body)
    if answer is not None:
        say_json(answer)


@app.command()
def version() -> None:
    """The client's version."""
    typer.echo(__version__)


@app.command()
def completion(
    shell: str = typer.Argument(..., help="bash, zsh or fish.", metavar="SHELL"),
) -> None:
    """The script by which a shell completes commands, options and numbers: `source <(weir completion bash)`."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in ("bash", "zsh", "fish"):
        raise WeirClientError(f"Nothing is known of the shell {shell}.", "Name bash, zsh or fish.")
    typer.echo(get_completion_script(prog_name="weir", complete_var="_WEIR_COMPLETE", shell=shell))
