"""Work submitted directly: programs, sessions, the queue they wait in and the environments they run in."""

import webbrowser
from collections.abc import Mapping
from typing import Any

import typer

from weir.cli.context import Work, caller, uid_of
from weir.cli.group import App
from weir.cli.show import as_json, one, rows, said
from weir.cli.units import duration_s
from weir.cli.work import work_options

Json = dict[str, Any]

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
    ("replicas", "replicas"),
    ("shares of each", "shares_per_replica"),
    ("share %", "compute_percent"),
    ("memory MiB", "memory_mib"),
    ("node", "node"),
    ("device", "device"),
    ("uid", "uid"),
]
ETA = [
    ("start", "start_at"),
    ("no earlier than", "low_at"),
    ("no later than", "high_at"),
    ("rests on", "basis"),
    ("", "sentence"),
    ("place", "position"),
    ("now with", "now.sentence"),
]
EXPLAINED = [
    ("number", "no"),
    ("name", "name"),
    ("state", "state"),
    ("why", "reason"),
    ("queue", "queue"),
    ("place", "position"),
    ("ahead", "ahead"),
    ("expected", "expected.sentence"),
    ("start", "expected.start_at"),
    ("no later than", "expected.high_at"),
    ("uid", "uid"),
]
DECISION = [("when", "at"), ("what", "what"), ("why", "sentence"), ("who", "actor")]
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


@work_options.asking(but=["env", "checkpoint_signal", "checkpoint_command"])
def eta(
    ctx: typer.Context,
    uid: str = typer.Argument(
        "", help="Work that waits; left out: what the options ask for, without submitting."
    ),
    **_asked: Any,
) -> None:
    """When work starts: of some that waits, or of some that is not submitted yet."""
    with caller(ctx) as client:
        if uid:
            found: Mapping[str, Any] | None
            found = client.workload_explain(uid_of(uid, client.workloads, "no"))["expected"]
        else:
            found = client.workload_dry_run(**work_options.request_of(ctx, name="dry run"))
    if found is None:
        said(ctx, None, "It does not wait.")
    else:
        one(ctx, found, ETA)


def queue(ctx: typer.Context, code: str = typer.Argument("", help="One queue; all when left out.")) -> None:
    """What waits, in the order of each queue, and why."""
    with caller(ctx) as client:
        waiting = client.workloads(state="pending", queue=code)
    rows(ctx, sorted(waiting, key=lambda row: (row["queue"], row["position"] or 0)), WAITING)


def explain(ctx: typer.Context, uid: Work) -> None:
    """Why work waits, its place in the queue, when it is expected to start, and every decision on it."""
    with caller(ctx) as client:
        uid = uid_of(uid, client.workloads, "no")
        explained = client.workload_explain(uid)
        found = {**client.workload(uid), **explained}
    one(ctx, found, EXPLAINED)
    if not as_json(ctx):
        rows(ctx, explained["decisions"], DECISION)


def _act(ctx: typer.Context, uid: str, act: str, reason: str, text: str) -> None:
    with caller(ctx) as client:
        found = client.workload_act(uid_of(uid, client.workloads, "no"), act, reason)
    said(ctx, found, f"{found['no']} {text}")


def suspend(ctx: typer.Context, uid: Work, reason: work_options.Reason = "") -> None:
    """Stop work for now and give its room back; `resume` lets it go on."""
    _act(ctx, uid, "suspend", reason, "is suspended.")


def open_pages(
    ctx: typer.Context,
    uid: Work,
    prints: bool = typer.Option(False, "--print", help="Print the address instead of opening a browser."),
) -> None:
    """Open the web pages of your work, such as its JupyterLab, in the browser."""
    with caller(ctx) as client:
        found = client.workload_web(uid_of(uid, client.workloads, "no"))
    is_open = not (prints or as_json(ctx)) and webbrowser.open(found["url"])
    said(ctx, found, "It opens in your browser." if is_open else found["url"])


def resume(ctx: typer.Context, uid: Work, reason: work_options.Reason = "") -> None:
    """Let suspended work wait for its turn again."""
    _act(ctx, uid, "resume", reason, "waits for its turn.")


def requeue(ctx: typer.Context, uid: Work, reason: work_options.Reason = "") -> None:
    """Stop running work and let it wait again, in its old place."""
    _act(ctx, uid, "requeue", reason, "goes back to its queue.")


def scale(
    ctx: typer.Context,
    uid: Work,
    shares: int = typer.Argument(None, help="How many shares, at the most."),
    replicas: work_options.Replicas = None,
) -> None:
    """Let work have so many shares, or replicas, at the most; elastic work that runs follows at once."""
    with caller(ctx) as client:
        found = client.workload_scale(uid_of(uid, client.workloads, "no"), shares, replicas=replicas)
    said(ctx, found, f"{found['no']} is to have {found['shares']} shares.")


def extend(
    ctx: typer.Context,
    uid: Work,
    longer: str = typer.Argument(help="How much longer it may run, such as 90m, 2h or 1d."),
) -> None:
    """Let your work run longer than it may now; what an order delivered is extended by `weir change`."""
    with caller(ctx) as client:
        found = client.workload_extend(uid_of(uid, client.workloads, "no"), duration_s(longer))
    said(ctx, found, f"{found['no']} may run {longer} longer.")


def cancel(ctx: typer.Context, uid: Work, reason: work_options.Reason = "") -> None:
    """Stop work: at once while it waits, else as soon as its node has ended it. Of an array (A-...) all of it."""
    with caller(ctx) as client:
        if uid.upper().startswith("A-"):
            ended = client.array_stop(uid_of(uid, client.arrays, "no"), reason)
            said(ctx, ended, f"{ended['no']} with its {ended['size']} tasks is being ended.")
            return
        found = client.workload_stop(uid_of(uid, client.workloads, "no"), reason)
    said(
        ctx,
        found,
        f"{found['no']} is being stopped." if found["state"] == "stopping" else f"{found['no']} has ended.",
    )


@work_options.asking("share", "memory")
def resize(ctx: typer.Context, uid: Work, **_asked: Any) -> None:
    """Give each share other amounts while it runs; nothing is restarted."""
    with caller(ctx) as client:
        uid = uid_of(uid, client.workloads, "no")
        amounts = work_options.request_of(ctx)
        found = client.workload_resize(
            uid, compute_percent=amounts.get("compute_percent"), memory_mib=amounts.get("memory_mib")
        )
    said(
        ctx,
        found,
        f"{found['no']} holds {found['compute_percent']} % and {found['memory_mib']} MiB per share.",
    )


# --- environments ------------------------------------------------------------------------------------------------

environments = App(help="Initialised environments: amounts under a name.")


@environments.command("list")
def environment_list(ctx: typer.Context) -> None:
    """The environments."""
    with caller(ctx) as client:
        rows(ctx, client.environments(), ENVIRONMENT)


@environments.command("make")
@work_options.asking("share", "memory", "spec")
def environment_make(
    ctx: typer.Context,
    name: str,
    shares: int = typer.Option(1, help="How many such shares."),
    fixed: bool = typer.Option(True, help="Whether work in it gets exactly this, whatever it asks."),
    **_asked: Any,
) -> None:
    """Make an environment."""
    amounts = work_options.request_of(ctx, name=name, shares=shares)
    with caller(ctx) as client:
        found = client.environment_make(**amounts, is_fixed=fixed)
    one(ctx, found, ENVIRONMENT)


@environments.command("remove")
def environment_remove(ctx: typer.Context, name: str) -> None:
    """Take an environment out of use; what runs in it keeps its amounts."""
    with caller(ctx) as client:
        client.environment_remove(uid_of(name, client.environments, "name"))
    said(ctx, None, f"{name} is out of use.")


# --- sessions ----------------------------------------------------------------------------------------------------

sessions = App(help="Remote accelerators that are open.")


@sessions.command("list")
def session_list(ctx: typer.Context) -> None:
    """Your open sessions; without a tenant, for operators, everybody's."""
    with caller(ctx) as client:
        found = [row for row in client.workloads() if row["kind"] == "session" and row["state"] not in _ENDED]
    rows(ctx, found, [column for column in WORK if column[1] in _LISTED])


@sessions.command("migrate")
def session_migrate(
    ctx: typer.Context,
    uid: Work,
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


COMMANDS = (queue, eta, explain, cancel, resize, scale, extend, suspend, resume, requeue)
