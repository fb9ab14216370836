"""The signed-in client of a command."""

import typer

from weir.api import Client


def caller(ctx: typer.Context) -> Client:
    """The client for the tenant given with `--tenant`, else the kept one."""
    return Client.from_config(tenant=ctx.find_root().params["tenant"])
