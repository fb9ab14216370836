"""Secrets that work is given in its environment: set, listed, deleted; never shown."""

import sys

import typer

from weir.cli.context import caller
from weir.cli.group import App
from weir.cli.show import rows, said
from weir.errors import WeirClientError

secret = App(help="Secrets for the environment of work: set, list, delete. Nothing shows what is in one.")
_COLUMNS = [
    ("name", "name"),
    ("for all", "is_shared"),
    ("set by", "changed_by"),
    ("set", "changed_at"),
    ("last used", "used_at"),
]
Shared = typer.Option(
    False, "--shared", help="Of all people of the tenant, for who manages the organization."
)


@secret.command("list")
def list_(ctx: typer.Context) -> None:
    """The names of your secrets and of those of all."""
    with caller(ctx) as client:
        rows(ctx, client.secrets(), _COLUMNS)


@secret.command("set")
def set_(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="The variable in which work finds it."),
    shared: bool = Shared,
) -> None:
    """Set a secret, or replace it. It is asked for, or read from the input: `weir secret set HF_TOKEN < file`."""
    value = typer.prompt(name, hide_input=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\n")
    if not value:
        raise WeirClientError("There is nothing in it.", "Type it, or send it to the input.")
    with caller(ctx) as client:
        found = client.secret_set(name, value, is_shared=shared)
    said(ctx, found, f"{found['name']} is set.")


@secret.command("delete")
def delete(ctx: typer.Context, name: str = typer.Argument(...), shared: bool = Shared) -> None:
    """Delete a secret. Work that waits with it is refused when its turn comes."""
    with caller(ctx) as client:
        for row in client.secrets():
            if (row["name"], row["is_shared"]) == (name, shared):
                client.secret_delete(str(row["uid"]))
                said(ctx, {"name": name}, f"{name} is deleted.")
                return
    raise WeirClientError(f"There is no secret {name} here.", "See weir secret list.")
