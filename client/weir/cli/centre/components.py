"""For operators: the pool's components, releases of the node agent, roll-outs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.show import one, rows, said
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.api_types import NodeOut

_ROLLOUT = [
    ("uid", "uid"),
    ("state", "state"),
    ("release", "release"),
    ("configuration", "config"),
    ("reason", "reason"),
    ("started", "created_at"),
    ("finished", "finished_at"),
]


def components(ctx: typer.Context) -> None:
    """Every part of the pool with version, state and configuration."""
    columns = [
        ("component", "component"),
        ("name", "name"),
        ("host", "host"),
        ("version", "version"),
        ("wanted", "wanted_version"),
        ("state", "state"),
        ("configuration", "config_generation"),
        ("seen", "seen_at"),
        ("problem", "problem"),
    ]
    with caller(ctx) as client:
        rows(ctx, client.components(), columns)


def releases(ctx: typer.Context) -> None:
    """The releases of the node agent."""
    columns = [
        ("version", "version"),
        ("signed by", "signed_by"),
        ("added", "created_at"),
        ("sha256", "sha256"),
    ]
    with caller(ctx) as client:
        rows(ctx, client.releases(), columns)


def release_add(
    ctx: typer.Context,
    file: Path = typer.Argument(..., exists=True, help="The archive; FILE.sig lies beside it."),
    notes: str = typer.Option("", help="What is new in it."),
) -> None:
    """Add a signed release of the node agent."""
    with caller(ctx) as client:
        answer = client.release_add(file, notes=notes)
    said(ctx, answer, f"Release {answer['version']} is there.")


def release_keys(ctx: typer.Context) -> None:
    """The keys that releases are or were signed with."""
    columns = [("key", "public_key"), ("name", "name"), ("since", "created_at"), ("revoked", "revoked_at")]
    with caller(ctx) as client:
        rows(ctx, client.release_keys(), columns)


def release_key_revoke(
    ctx: typer.Context, public_key: str = typer.Argument(..., help="`weir release-keys` lists them.")
) -> None:
    """Trust a key no more, here and on every node; that cannot be taken back on the nodes."""
    with caller(ctx) as client:
        answer = client.release_key_revoke(public_key)
    said(ctx, answer, f"Nothing signed with {answer['name']} is taken any more.")


def rollouts(ctx: typer.Context) -> None:
    """The roll-outs, newest first."""
    with caller(ctx) as client:
        rows(ctx, client.rollouts(), _ROLLOUT)


def rollout(
    ctx: typer.Context, uid: str = typer.Argument(..., help="Its uid, or enough of its begin.")
) -> None:
    """One roll-out and how far each target is."""
    with caller(ctx) as client:
        found = client.rollout(uid_of(uid, client.rollouts))
    one(ctx, found, _ROLLOUT)
    if not ctx.find_root().params.get("json_"):
        columns = [
            ("batch", "batch_no"),
            ("target", "name"),
            ("state", "state"),
            ("from", "from_version"),
            ("to", "to_version"),
            ("reason", "reason"),
        ]
        rows(ctx, found["steps"], columns)


def roll_out(
    ctx: typer.Context,
    nodes: list[str] = typer.Argument(None, help="Names or uids of nodes; none: all that are there."),
    release: str = typer.Option("", help="The release's version."),
    setting: list[str] = typer.Option([], "--set", help="meter_s=5, log_level=info, log_limit_mib=16."),
    server: bool = typer.Option(False, "--server", help="Restart the server's processes in turn, too."),
    server_only: bool = typer.Option(False, "--server-only", help="No node, only the server's processes."),
    batch: int = typer.Option(1, help="How many targets at a time."),
    gate: int = typer.Option(60, help="Seconds that each target has to be healthy."),
) -> None:
    """Bring a release or a configuration to nodes, batch by batch."""
    with caller(ctx) as client:
        uids = [] if server_only else _uids(client.nodes(), nodes or [])
        answer = client.rollout_start(
            release=release,
            config=_config(setting) if setting else None,
            nodes=uids,
            server=server or server_only,
            batch=batch,
            gate_s=gate,
        )
    said(ctx, answer, f"Roll-out {answer['uid']} has begun with {len(answer['steps'])} targets.")


def _uids(known: list["NodeOut"], wanted: list[str]) -> list[str]:
    named = {name: node["uid"] for node in known for name in (node["name"], node["uid"])}
    unknown = [name for name in wanted if name not in named]
    if unknown:
        raise WeirClientError(f"There is no node {unknown[0]}.", "`weir nodes` lists them.")
    there = [node["uid"] for node in known if node["state"] in ("ready", "drained")]
    return [named[name] for name in wanted] if wanted else there


def _config(settings: list[str]) -> dict[str, Any]:
    pairs = [text.partition("=") for text in settings]
    if not all(sign for _key, sign, _value in pairs):
        raise WeirClientError("A setting is written name=value.", "For example --set meter_s=5.")
    return {key: int(value) if value.isdigit() else value for key, _sign, value in pairs}


def rollout_pause(
    ctx: typer.Context, uid: str = typer.Argument(..., help="Its uid, or enough of its begin.")
) -> None:
    """Begin no further batch."""
    _act(ctx, uid, "pause")


def rollout_resume(
    ctx: typer.Context, uid: str = typer.Argument(..., help="Its uid, or enough of its begin.")
) -> None:
    """Go on with the next batch."""
    _act(ctx, uid, "resume")


def rollout_cancel(
    ctx: typer.Context, uid: str = typer.Argument(..., help="Its uid, or enough of its begin.")
) -> None:
    """Stop here: what has it keeps it."""
    _act(ctx, uid, "cancel")


def rollout_back(
    ctx: typer.Context, uid: str = typer.Argument(..., help="Its uid, or enough of its begin.")
) -> None:
    """Give every target back what it had."""
    _act(ctx, uid, "roll_back")


def _act(ctx: typer.Context, uid: str, act: str) -> None:
    with caller(ctx) as client:
        answer = client.rollout_act(uid_of(uid, client.rollouts), act)
    said(ctx, answer, f"Roll-out {answer['uid']}: {answer['state']}.")


COMMANDS = (
    components,
    releases,
    release_add,
    release_keys,
    release_key_revoke,
    rollouts,
    rollout,
    roll_out,
    rollout_pause,
    rollout_resume,
    rollout_cancel,
    rollout_back,
)
