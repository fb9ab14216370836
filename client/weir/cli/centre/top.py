"""`weir top`: what runs and waits, anew every few seconds, below a line that sums it up."""

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller
from weir.cli.show import as_json, rows, say, say_json
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.api import Client

_OPEN = ("pending", "placed", "running", "stopping", "suspended")
_MEASURED = 20
_CLEAR = "\x1b[H\x1b[2J"
_COLUMNS = [
    ("number", "no"),
    ("name", "name"),
    ("state", "state"),
    ("shares", "shares"),
    ("share %", "compute_percent"),
    ("gets %", "gets"),
    ("memory MiB", "memory_mib"),
    ("used MiB", "used"),
    ("node", "node"),
    ("place", "position"),
    ("why", "reason"),
    ("uid", "uid"),
]


def top(
    ctx: typer.Context,
    every: float = typer.Option(3.0, min=1.0, help="Anew after so many seconds."),
    once: bool = typer.Option(False, "--once", help="Print it once and end."),
) -> None:
    """What runs and waits, anew every few seconds; Ctrl-C ends it."""
    if as_json(ctx) and not once:
        raise WeirClientError("For programs it is printed once.", "Give --once too.")
    with caller(ctx) as client:
        try:
            while True:
                found = _found(client)
                if as_json(ctx):
                    say_json(found)
                    return
                if not once and sys.stdout.isatty():
                    typer.echo(_CLEAR, nl=False)
                say(summary(found))
                rows(ctx, found, _COLUMNS)
                if once:
                    return
                time.sleep(every)
        except KeyboardInterrupt:
            return


def _found(client: "Client") -> list[dict[str, Any]]:
    """The open work, what runs first; of the first that run what they are measured to get."""
    listed: list[dict[str, Any]] = [dict(row) for state in _OPEN for row in client.workloads(state=state)]
    listed.sort(key=lambda row: (row["state"] != "running", row["position"] or 0))
    for row in [row for row in listed if row["state"] == "running"][:_MEASURED]:
        parts = [part for part in client.workload(row["uid"])["slices"] if part["ended_at"] is None]
        row["gets"] = _sum(parts, "delivered_percent")
        row["used"] = _sum(parts, "memory_used_mib")
        if any(part["is_simulated"] for part in parts):
            row["node"] = f"{row['node']} (simulated)"
    return listed


def _sum(parts: list[Any], name: str) -> int | None:
    figures = [part[name] for part in parts if part[name] is not None]
    return round(sum(figures)) if figures else None


def summary(found: list[dict[str, Any]]) -> str:
    """One line over all of it."""
    running = [row for row in found if row["state"] == "running"]
    waiting = [row for row in found if row["state"] == "pending"]
    percent = sum(_held(row, "compute_percent") for row in running)
    mib = sum(_held(row, "memory_mib") for row in running)
    line = f"{len(running)} running with {percent} % of a device and {mib} MiB, {len(waiting)} waiting"
    other = len(found) - len(running) - len(waiting)
    return f"{line}, {other} on their way." if other else f"{line}."


def _held(row: Mapping[str, Any], name: str) -> int:
    return int((row["active_shares"] or row["shares"]) * row[name])


COMMANDS = (top,)
