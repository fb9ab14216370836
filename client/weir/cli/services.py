"""Services: their address and health, and the keys by which programs reach them."""

import typer

from weir.cli.context import Work, caller, uid_of
from weir.cli.group import App
from weir.cli.show import one, rows, said
from weir.errors import WeirClientError

service = App(help="Services: address, health, restarts, and the keys by which programs reach them.")
_SHOWN = [
    ("address", "address"),
    ("health", "health"),
    ("restarts", "restarts"),
    ("last failure", "failure"),
    ("failed at", "failed_at"),
    ("port", "port"),
]
_KEYS = [("name", "name"), ("made by", "made_by"), ("made", "created_at"), ("last used", "used_at")]


@service.command()
def show(ctx: typer.Context, uid: Work) -> None:
    """Its address, its health, and how often it was started again."""
    with caller(ctx) as client:
        one(ctx, client.service(uid_of(uid, client.workloads, "no")), _SHOWN)


@service.command()
def keys(ctx: typer.Context, uid: Work) -> None:
    """The keys that open it, without what is in them."""
    with caller(ctx) as client:
        rows(ctx, client.service_keys(uid_of(uid, client.workloads, "no")), _KEYS)


@service.command("make-key")
def make_key(ctx: typer.Context, uid: Work, name: str = typer.Argument(..., help="What it is for.")) -> None:
    """Make a key for a program, sent as `Authorization: Bearer …`. It is shown this once."""
    with caller(ctx) as client:
        found = client.service_key_make(uid_of(uid, client.workloads, "no"), name)
    said(ctx, found, found["key"])


@service.command("revoke-key")
def revoke_key(ctx: typer.Context, uid: Work, name: str = typer.Argument(..., help="Its name.")) -> None:
    """Revoke a key: programs that use it are refused."""
    with caller(ctx) as client:
        work = uid_of(uid, client.workloads, "no")
        for row in client.service_keys(work):
            if row["name"] == name:
                client.service_key_revoke(work, row["uid"])
                said(ctx, {"name": name}, f"{name} is revoked.")
                return
    raise WeirClientError(f"There is no key {name}.", "See weir service keys.")
