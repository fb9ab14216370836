"""What runs: resources, their logs and usage, quota."""

import typer

from weir.cli.context import Work, caller, uid_of
from weir.cli.show import one, rows, say_printed
from weir.output import output

RESOURCE = [
    ("number", "no"),
    ("name", "name"),
    ("state", "state"),
    ("why", "reason"),
    ("node", "node"),
    ("device", "device"),
    ("share %", "compute_percent"),
    ("memory MiB", "memory_mib"),
    ("started", "started_at"),
    ("ended", "ended_at"),
    ("uid", "uid"),
]


TASKS = [
    ("array", "array.no"),
    ("tasks waiting", "array_progress.waiting"),
    ("running", "array_progress.running"),
    ("failed", "array_progress.failed"),
]
ARRAY = [
    ("number", "no"),
    ("name", "name"),
    ("tasks", "spec"),
    ("waiting", "progress.waiting"),
    ("running", "progress.running"),
    ("finished", "progress.finished"),
    ("failed", "progress.failed"),
    ("submitted", "created_at"),
    ("uid", "uid"),
]


def resources(ctx: typer.Context) -> None:
    """Your resources with node, device, share and state; an array is one of them."""
    with caller(ctx) as client:
        rows(ctx, client.workloads(tasks="first"), [*RESOURCE, *TASKS])


def arrays(ctx: typer.Context) -> None:
    """Your arrays and how far each is."""
    with caller(ctx) as client:
        rows(ctx, client.arrays(), ARRAY)


def resource(ctx: typer.Context, uid: Work) -> None:
    """One resource."""
    with caller(ctx) as client:
        one(ctx, client.workload(uid_of(uid, client.workloads, "no")), RESOURCE)


def logs(
    ctx: typer.Context,
    uid: Work,
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on as it prints, until it has ended."),
    share: int | None = typer.Option(None, min=0, help="Of this share alone, from 0."),
    attempt: int | None = typer.Option(None, min=1, help="Of this attempt alone, from 1."),
    raw: bool = typer.Option(False, "--raw", help="Let the terminal obey what the work printed."),
) -> None:
    """What the work printed. Of several shares each line begins with the number of its own.

    A terminal shows its colours and obeys nothing else of it; a pipe gets every byte.
    """
    from weir.call.run import MARK

    with caller(ctx) as client:
        uid = uid_of(uid, client.workloads, "no")
        for line in output(client, uid, share=share, attempt=attempt, follows=follow):
            # What a called function answers is for its caller.
            if not line.startswith(f"{MARK} "):
                say_printed(line, is_raw=raw)


def usage(ctx: typer.Context, uid: Work) -> None:
    """The metered intervals of a resource."""
    with caller(ctx) as client:
        rows(
            ctx,
            client.usage(uid_of(uid, client.workloads, "no")),
            [
                ("#", "seq"),
                ("from", "start_at"),
                ("until", "end_at"),
                ("s", "seconds"),
                ("share %", "compute_percent"),
                ("memory MiB", "memory_mib"),
                ("CPU s", "cpu_seconds"),
                ("peak MiB", "memory_peak_mib"),
            ],
        )


def quota(ctx: typer.Context) -> None:
    """Total, allocated, allocatable, used and in process."""
    with caller(ctx) as client:
        found = client.quota()
    rows(
        ctx,
        found,
        [
            ("item", "item"),
            ("model", "model"),
            ("total", "total"),
            ("allocated", "allocated"),
            ("allocatable", "allocatable"),
            ("used", "used"),
            ("in process", "in_process"),
        ],
    )


COMMANDS = (resources, resource, arrays, logs, usage, quota)
