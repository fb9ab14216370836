"""For operators: what is reserved of the pool, and the calls of the site's hooks that were not made."""

from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.group import App
from weir.cli.show import rows, said
from weir.cli.units import instant
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.api_types import ReservationOut

_RESERVED = [
    ("name", "name"), ("tenant", "tenant"), ("queue", "queue"), ("devices", "devices"), ("from", "from_at"),
    ("until", "to_at"), ("uid", "uid"),
]  # fmt: skip
_CALLS = [
    ("hook", "hook"), ("what", "kind"), ("state", "state"), ("tries", "tries"), ("error", "error"), ("uid", "uid"),
]  # fmt: skip

reservations = App(help="What is reserved of the pool, now and later.")
hooks = App(help="Calls of the site's hooks that were not made.")


@reservations.command("list")
def list_(ctx: typer.Context) -> None:
    """What is reserved now or later, what begins next first."""
    with caller(ctx) as client:
        rows(ctx, [row | {"devices": _devices(row)} for row in client.reservations()], _RESERVED)


def _devices(row: "ReservationOut") -> str:
    if row["device_uids"]:
        return ", ".join(row["device_uids"])
    memory = f", {row['memory_mib']} MiB" if row["memory_mib"] else ""
    return f"{row['count']} × {row['compute_percent']} %{memory} {row['model']}".rstrip()


@reservations.command()
def make(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="What it is called."),
    from_: str = typer.Option(..., "--from", help="18:00, 2026-12-01T08:00, or 2h from now."),
    until: str = typer.Option(..., "--until", help="The same; it ends before then."),
    tenant: str = typer.Option("", "--for", help="The tenant that it is for."),
    queue: str = typer.Option("", help="The queue that it is for."),
    device: list[str] = typer.Option([], help="A device, whole; may be given more than once."),
    count: int = typer.Option(0, help="Or so many devices."),
    share: int = typer.Option(None, help="Of each so much compute, in percent."),
    memory: int = typer.Option(None, help="And so much memory, in MiB."),
    model: str = typer.Option("", help="Devices of this model."),
) -> None:
    """Keep devices for a tenant or a queue; what runs there is not stopped."""
    if not (tenant or queue):
        raise WeirClientError("It is for nobody.", "Name a tenant with --for, or a queue with --queue.")
    given: dict[str, Any] = {
        "name": name, "from_at": instant(from_), "to_at": instant(until), "tenant": tenant, "queue": queue,
        "device_uids": list(device), "count": count, "compute_percent": share, "memory_mib": memory, "model": model,
    }  # fmt: skip
    body = {key: value for key, value in given.items() if value not in (None, "", 0, [])}
    with caller(ctx) as client:
        found = client.reservation_make(**body)
    said(ctx, found, f"{name} is reserved from {found['from_at']} until {found['to_at']}.")


@reservations.command()
def cancel(
    ctx: typer.Context, reservation: str = typer.Argument(..., help="The reservation, by name or uid.")
) -> None:
    """Give back what is reserved; what runs there goes on."""
    with caller(ctx) as client:
        uid = uid_of(reservation, client.reservations, "name")
        client.reservation_cancel(uid)
    said(ctx, {"uid": uid}, f"{reservation} is given back.")


@hooks.command("list")
def hooks_list(ctx: typer.Context) -> None:
    """The calls that were given up, or are still tried, newest first."""
    with caller(ctx) as client:
        rows(ctx, client.hook_calls(), _CALLS)


@hooks.command()
def retry(ctx: typer.Context, uid: str = typer.Argument(..., help="The call.")) -> None:
    """Try a call again that was given up."""
    with caller(ctx) as client:
        found = client.hook_call_retry(uid)
    said(ctx, found, f"{found['hook']} is called again.")
