"""`weir`: the whole journey from a terminal. Every command prints a table, or JSON with `--json`."""

import sys
from typing import Any

import typer

from weir import __version__
from weir.api import Client
from weir.cli import (
    components,
    conformance,
    fleet,
    keeping,
    money,
    ordering,
    pooling,
    queues,
    running,
    scaling,
    watching,
    working,
)
from weir.cli.show import err, one, said
from weir.config import Config
from weir.errors import WeirClientError


class Commands(typer.core.TyperGroup):
    """A refusal is one line on stderr and exit status 1, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except WeirClientError as error:
            err.print(str(error))
            sys.exit(1)


app = typer.Typer(
    cls=Commands,
    help="Weir: order, run, watch and pay for shares of accelerators.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for module in (ordering, working, pooling, money, fleet, watching, components):
    for command in module.COMMANDS:
        app.command(name=command.__name__.rstrip("_").replace("_", "-"))(command)

# What follows the script's name is the script's own.
for command in (running.run, pooling.submit):
    app.command(context_settings=running.CONTEXT)(command)
app.add_typer(pooling.environments, name="environments")
app.add_typer(pooling.sessions, name="sessions")
app.add_typer(conformance.conformance, name="conformance")
app.add_typer(queues.queues, name="queues")
app.add_typer(scaling.scaling, name="scaling")
app.add_typer(keeping.reservations, name="reservations")
app.add_typer(keeping.hooks, name="hooks")


@app.callback()
def root(
    json_: bool = typer.Option(False, "--json", help="Print JSON."),
    tenant: str = typer.Option("", envvar="WEIR_TENANT", help="The tenant to act in."),
) -> None:
    """Order, run, watch and pay for shares of accelerators."""


@app.command()
def login(
    ctx: typer.Context,
    url: str = typer.Argument("http://localhost:8000", help="The centre's address."),
    user: str = typer.Option(..., "--user", "-u", prompt=True, help="Login account."),
    password: str = typer.Option(..., envvar="WEIR_PASSWORD", prompt=True, hide_input=True, help="Password."),
    role: str = typer.Option("", help="The role to act in, where you hold several."),
    days: int = typer.Option(7, help="How long the token lives."),
) -> None:
    """Sign in; the token is kept in a file only you can read."""
    tenant = ctx.find_root().params["tenant"]
    client, answer = Client.sign_in(url, user, password, tenant=tenant, days=days)
    with client:
        Config(url=client.url, token=answer["token"], tenant=tenant, role=role).save()
    names = ", ".join(found["schema"] for found in answer["tenants"]) or "the operators' side"
    said(ctx, answer, f"Signed in as {answer['user']['username']} ({names}) until {answer['expires_at']}.")


@app.command()
def logout(ctx: typer.Context) -> None:
    """Revoke the kept token and forget it."""
    with Client.from_config() as client:
        client.sign_out()
    Config.forget()
    said(ctx, None, "Signed out.")


@app.command()
def whoami(ctx: typer.Context) -> None:
    """Who you are here, in which role, and what it may do."""
    with Client.from_config(tenant=ctx.find_root().params["tenant"]) as client:
        columns = [("user", "user.username"), ("tenant", "tenant"), ("role", "role"), ("may", "permissions")]
        one(ctx, client.me(), columns)


@app.command()
def version() -> None:
    """The client's version."""
    typer.echo(__version__)
