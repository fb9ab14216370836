"""`weir ssh-config` and `weir ssh-proxy`: `ssh`, `scp`, `rsync` and editors that speak SSH, beside running work."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from weir.cli.context import caller, context_of, uid_of
from weir.cli.show import said, say, tell
from weir.config import chosen, config_path
from weir.errors import WeirClientError

if TYPE_CHECKING:
    from weir.ssh_server import Keys

_NOTE = "# Written by `weir ssh-config`: not by hand."


def ssh_config(
    ctx: typer.Context,
    works: list[str] = typer.Argument(None, help="Running work of yours, by number or uid; else all of it."),
    install: bool = typer.Option(
        False, "--install", help="Write it beside the settings of `weir`, and have ~/.ssh/config include it."
    ),
) -> None:
    """Write what `ssh` and its like need to reach your running work: `ssh W-1`, `scp data.csv W-1:`, VS Code Remote.

    `weir ssh-config >> ~/.ssh/config`, `weir ssh-config --install`; write it anew when other work runs.
    """
    with caller(ctx) as client:
        rows = client.workloads(state="running")
        if works:
            wanted = {uid_of(work, client.workloads, "no") for work in works}
            rows = [row for row in rows if row["uid"] in wanted]
        hosts = [(row["no"], row["uid"]) for row in rows if row["kind"] == "program"]
    if works and len(hosts) < len(works):
        raise WeirClientError("Not all of that runs.", "`weir resources` shows what does.")
    # What `ssh` starts later acts where this does, whatever is in use then.
    context, _config = chosen(context_of(ctx))
    text = "\n".join([_NOTE, *(_entry(no, uid, context) for no, uid in hosts)]) + "\n"
    if not install:
        say(text, ends_line=False)
        return
    path = config_path().parent / "ssh_config"
    _write(path, text)
    _include(path)
    said(ctx, {"hosts": [no for no, _uid in hosts], "file": str(path)}, f"{len(hosts)} hosts are in {path}.")


def _entry(no: str, uid: str, context: str) -> str:
    keys = _keys(uid)
    # As the file of known hosts is read: in small letters.
    keys.make(no.lower())
    acting = f"--context {_quoted(context)} " if context else ""
    return "\n".join(
        (
            f"Host {no}",
            f"  HostName {no.lower()}",
            f"  HostKeyAlias {no.lower()}",
            "  User work",
            f"  ProxyCommand {_quoted(sys.executable)} -m weir {acting}ssh-proxy {no}",
            f"  IdentityFile {_quoted(str(keys.own))}",
            "  IdentitiesOnly yes",
            "  IdentityAgent none",
            f"  UserKnownHostsFile {_quoted(str(keys.known))}",
            "  GlobalKnownHostsFile /dev/null",
            "  StrictHostKeyChecking yes",
            "  ServerAliveInterval 15",
        )
    )


def _quoted(path: str) -> str:
    return '"' + path.replace("%", "%%") + '"'


def _keys(uid: str) -> "Keys":
    try:
        from weir.ssh_server import Keys
    except ImportError as error:
        cure = "Install it: pip install asyncssh"
        raise WeirClientError("This needs a package that is not installed here: asyncssh.", cure) from error
    return Keys(config_path().parent / "ssh" / uid)


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.replace(path)


def _include(path: Path) -> None:
    """Have the user's own file name it first: what stands behind a Host counts for that alone."""
    own = Path.home() / ".ssh" / "config"
    line = f'Include "{path}"'
    before = own.read_text() if own.exists() else ""
    if line in before.splitlines():
        return
    own.parent.mkdir(mode=0o700, exist_ok=True)
    target = own.resolve()
    _write(target, f"{line}\n{before}")
    tell(f"{own} includes it now.")


def ssh_proxy(
    ctx: typer.Context,
    work: str = typer.Argument(..., help="Your running work, by number or uid."),
    share: int = typer.Option(0, "--share", help="Which of its shares, counted from 0."),
) -> None:
    """What `ssh` starts to reach your running work, by its ProxyCommand: it speaks SSH itself. See `ssh-config`."""
    with caller(ctx) as client:
        uid = uid_of(work, client.workloads, "no")
        keys = _keys(uid)
        keys.make(work.lower())
        from weir.ssh_server import serve

        serve(client, uid, keys, share)


COMMANDS = (ssh_config, ssh_proxy)
