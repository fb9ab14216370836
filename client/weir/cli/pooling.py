"""Work submitted directly: programs, sessions, the queue they wait in and the environments they run in."""

import typer

from weir.cli.calling import caller, uid_of
from weir.cli.show import one, rows, said
from weir.cli.words import duration_s, pairs

WORK = [
    ("number", "no"),
    ("name", "name"),
    ("kind", "kind"),
    ("state", "state"),
    ("why", "reason"),
    ("place", "position"),
    ("queue", "queue"),
    ("priority", "priority"),
    ("expected start", "expected_start"),
    ("environment", "environment"),
    ("spec", "spec"),
    ("shares", "shares"),
    ("share %", "compute_percent"),
    ("memory MiB", "memory_mib"),
    ("node", "node"),
    ("device", "device"),
    ("uid", "uid"),
]
_LISTED = frozenset({"no", "name", "kind", "state", "reason", "position", "queue", "node", "uid"})
WAITING = [
    ("queue", "queue"),
    ("place", "position"),
    ("priority", "priority"),
    ("number", "no"),
    ("name", "name"),
    ("why", "reason"),
    ("since", "created_at"),
    ("uid", "uid"),
]
ENVIRONMENT = [
    ("name", "name"),
    ("fixed", "is_fixed"),
    ("spec", "spec"),
    ("shares", "shares"),
    ("share %", "compute_percent"),
    ("memory MiB", "memory_mib"),
    ("uid", "uid"),
]
_ENDED = frozenset({"finished", "failed", "lost"})


def submit(
    ctx: typer.Context,
    command: list[str] = typer.Argument(..., help="The program and its arguments.", metavar="COMMAND..."),
    name: str = typer.Option("", help="What to call it; else the program."),
    share: int = typer.Option(None, envvar="WEIR_SHARE", help="Compute, in percent of one device."),
    memory: int = typer.Option(None, envvar="WEIR_MEMORY", help="Accelerator memory in MiB."),
    shares: int = typer.Option(None, help="How many such shares, all or none."),
    distinct: bool = typer.Option(False, "--distinct", help="Each share on a device of its own."),
    single_node: bool = typer.Option(False, "--single-node", help="All shares on one node."),
    whole: bool = typer.Option(False, "--whole", help="Whole physical cards."),
    env: list[str] = typer.Option([], "--env", "-e", help="NAME=value for the program, once for each."),
    spec: str = typer.Option("", help="A specification, instead of share and memory."),
    environment: str = typer.Option("", help="An environment; a fixed one decides the amounts."),
    queue: str = typer.Option("default", help="The queue to wait in."),
    priority: int = typer.Option(0, help="Higher goes first where the queue is ordered by priority."),
    model: str = typer.Option("", help="The card model wanted."),
    vendor: str = typer.Option("", help="The vendor wanted."),
    node: str = typer.Option("", help="The node wanted."),
    device: str = typer.Option("", help="The very device wanted."),
    group: str = typer.Option("", help="The resource group to use."),
    placing: str = typer.Option("", help="How it is placed, instead of the queue's way."),
    local_node: str = typer.Option("", help="The node that counts as local."),
    affinity: str = typer.Option("", help="Share one device with work of the same word."),
    anti_affinity: str = typer.Option("", help="Keep off devices with work of this word."),
    run_timeout: str = typer.Option("", help="Ended after so long: 30s, 2h."),
    requeue: bool = typer.Option(False, "--requeue", help="Queued again when its node is lost."),
    wait_for_quota: bool = typer.Option(False, "--wait-for-quota", help="Wait where the quota is used up."),
) -> None:
    """Put a program in a queue; it runs on a node of the pool, on a share of a device."""
    body = {
        "name": name or command[0].rpartition("/")[2],
        "kind": "program",
        "argv": command,
        "env": pairs(env),
        "compute_percent": share,
        "memory_mib": memory,
        "shares": shares,
        "distinct_devices": distinct,
        "single_node": single_node,
        "whole_cards": whole,
        "spec": spec,
        "environment": environment,
        "queue": queue,
        "priority": priority,
        "model": model,
        "vendor": vendor,
        "node": node,
        "device": device,
        "resource_group": group,
        "placing": placing,
        "local_node": local_node,
        "affinity": affinity,
        "anti_affinity": anti_affinity,
        "run_timeout_s": duration_s(run_timeout) if run_timeout else None,
        "requeue_on_loss": requeue,
        "wait_for_quota": wait_for_quota,
    }
    with caller(ctx) as client:
        one(ctx, client.workload_submit(**body), WORK)


def queue(ctx: typer.Context, code: str = typer.Argument("", help="One queue; all when left out.")) -> None:
    """What waits, in the order of each queue, and why."""
    with caller(ctx) as client:
        waiting = client.workloads(state="pending", queue=code)
    rows(ctx, sorted(waiting, key=lambda row: (row["queue"], row["position"] or 0)), WAITING)


def explain(ctx: typer.Context, uid: str) -> None:
    """Why work waits, its place in the queue, and when it is expected to start."""
    with caller(ctx) as client:
        one(ctx, client.workload(uid_of(uid, client.workloads, "no")), WORK)


def cancel(ctx: typer.Context, uid: str, reason: str = typer.Option("", help="Kept beside its end.")) -> None:
    """Stop work: at once while it waits, else as soon as its node has ended it."""
    with caller(ctx) as client:
        found = client.workload_stop(uid_of(uid, client.workloads, "no"), reason)
    said(
        ctx,
        found,
        f"{found['no']} is being stopped." if found["state"] == "stopping" else f"{found['no']} has ended.",
    )


def resize(
    ctx: typer.Context,
    uid: str,
    share: int = typer.Option(None, help="Compute, in percent of one device."),
    memory: int = typer.Option(None, help="Accelerator memory in MiB."),
) -> None:
    """Give each share other amounts while it runs; nothing is restarted."""
    with caller(ctx) as client:
        uid = uid_of(uid, client.workloads, "no")
        found = client.workload_resize(uid, compute_percent=share, memory_mib=memory)
    said(
        ctx,
        found,
        f"{found['no']} holds {found['compute_percent']} % and {found['memory_mib']} MiB per share.",
    )


# --- environments ------------------------------------------------------------------------------------------------

environments = typer.Typer(help="Initialised environments: amounts under a name.", no_args_is_help=True)


@environments.command("list")
def environment_list(ctx: typer.Context) -> None:
    """The environments."""
    with caller(ctx) as client:
        rows(ctx, client.environments(), ENVIRONMENT)


@environments.command("make")
def environment_make(
    ctx: typer.Context,
    name: str,
    share: int = typer.Option(None, help="Compute, in percent of one device."),
    memory: int = typer.Option(None, help="Accelerator memory in MiB."),
    spec: str = typer.Option("", help="A specification, instead of share and memory."),
    shares: int = typer.Option(1, help="How many such shares."),
    fixed: bool = typer.Option(True, help="Whether work in it gets exactly this, whatever it asks."),
) -> None:
    """Make an environment."""
    with caller(ctx) as client:
        found = client.environment_make(
            name, compute_percent=share, memory_mib=memory, spec=spec, shares=shares, is_fixed=fixed
        )
    one(ctx, found, ENVIRONMENT)


@environments.command("remove")
def environment_remove(ctx: typer.Context, name: str) -> None:
    """Take an environment out of use; what runs in it keeps its amounts."""
    with caller(ctx) as client:
        client.environment_remove(uid_of(name, client.environments, "name"))
    said(ctx, None, f"{name} is out of use.")


# --- sessions ----------------------------------------------------------------------------------------------------

sessions = typer.Typer(help="Remote accelerators that are open.", no_args_is_help=True)


@sessions.command("list")
def session_list(ctx: typer.Context) -> None:
    """Your open sessions; without a tenant, for operators, everybody's."""
    with caller(ctx) as client:
        found = [row for row in client.workloads() if row["kind"] == "session" and row["state"] not in _ENDED]
    rows(ctx, found, [column for column in WORK if column[1] in _LISTED])


@sessions.command("migrate")
def session_migrate(
    ctx: typer.Context,
    uid: str,
    node: str = typer.Option("", help="The node to move to."),
    device: str = typer.Option("", help="The very device to move to."),
    share: int = typer.Option(0, help="Which share, where it has several."),
) -> None:
    """Move a running session to another device while its script computes."""
    with caller(ctx) as client:
        uid = uid_of(uid, client.workloads, "no")
        found = client.workload_migrate(uid, node=node, device=device, share=share)
    target = next((each for each in found["grants"] if each["moving"]), None)
    where = f" to {target['node']}, device {target['device']}" if target else ""
    said(ctx, found, f"{found['no']} is moving{where}.")


COMMANDS = (queue, explain, cancel, resize)
