"""For operators: nodes, devices, letting a node join."""

import typer

from weir.cli.calling import caller
from weir.cli.show import rows, said


def nodes(ctx: typer.Context) -> None:
    """The nodes with state and last word."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.nodes(),
            [
                ("name", "name"),
                ("state", "state"),
                ("seen", "last_seen_at"),
                ("agent", "agent_version"),
                ("uid", "uid"),
            ],
        )


def devices(ctx: typer.Context) -> None:
    """The devices with what is held of them."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.devices(),
            [
                ("node", "node"),
                ("#", "index"),
                ("vendor", "vendor"),
                ("model", "model"),
                ("memory MiB", "memory_mib"),
                ("held %", "held_percent"),
                ("held MiB", "held_mib"),
                ("health", "health"),
                ("uid", "uid"),
            ],
        )


def join_token(ctx: typer.Context, note: str = typer.Argument(..., help="Which node it is for.")) -> None:
    """A one-time token with which a node may join; shown once."""
    with caller(ctx) as client:
        secret = client.join_token(note)
    said(ctx, {"secret": secret}, secret)


COMMANDS = (nodes, devices, join_token)
