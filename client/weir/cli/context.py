"""The signed-in client of a command, and things called by their number."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from weir.api import Client
from weir.config import Contexts
from weir.errors import WeirClientError

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# So much of a number or uid may stand for it.
_SHORTEST = 3


def _numbers(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """For a shell that asks: the newest work whose number begins so. Whatever is wrong, it is not told here."""
    try:
        with caller(ctx) as client:
            found = client.get("workloads")["results"]
    except Exception:
        return []
    return [(row["no"], row["name"]) for row in found if row["no"].startswith(incomplete.upper())]


# What a command takes for a thing, and for work.
Thing = Annotated[
    str,
    typer.Argument(
        help="Its number or uid, or enough of the begin; `last` is the newest.", show_default=False
    ),
]
Work = Annotated[
    str,
    typer.Argument(
        help="Its number or uid, or enough of the begin; `last` is the newest.",
        metavar="ID",
        show_default=False,
        autocompletion=_numbers,
    ),
]


def known_contexts(incomplete: str) -> list[str]:
    """For a shell that asks: the contexts whose name begins so. Whatever is wrong, it is not told here."""
    try:
        return [name for name in sorted(Contexts.load().named) if name.startswith(incomplete)]
    except Exception:
        return []


# What a command takes for a context.
Context = Annotated[str, typer.Argument(help="Its name.", show_default=False, autocompletion=known_contexts)]


def context_of(ctx: typer.Context) -> str:
    """The context given with `--context`; "" where none is."""
    return str(ctx.find_root().params.get("context") or "")


def caller(ctx: typer.Context) -> Client:
    """The client for the context given with `--context`, else the one in use; for the tenant given with `--tenant`,
    else the kept one."""
    return Client.from_config(tenant=ctx.find_root().params["tenant"], context=context_of(ctx))


def uid_of(given: str, listed: Callable[[], Iterable[Mapping[str, Any]]], *names: str) -> str:
    """The uid of what a person calls by its uid, one of its numbers, or enough of the begin of either; `last` is the
    newest. `listed` is asked for anything but a whole uid, and lists the newest first.

    Raises:
        WeirClientError: nothing listed is called so, or several things are.
    """
    if _UID.fullmatch(given):
        return given
    rows, wanted = list(listed()), given.upper()
    if wanted == "LAST" and rows:
        return str(rows[0]["uid"])
    called = [(row, [str(row.get(name, "")).upper() for name in (*names, "uid")]) for row in rows]
    found = [row for row, words in called if wanted in words]
    if not found and len(wanted) >= _SHORTEST:
        found = [row for row, words in called if any(word.startswith(wanted) for word in words)]
    if len(found) == 1:
        return str(found[0]["uid"])
    if found:
        several = ", ".join(str(row.get((*names, "uid")[0], row["uid"])) for row in found[:5])
        raise WeirClientError(f"{given} may be one of {len(found)}: {several}.", "Write more of it.")
    raise WeirClientError(f"There is no {given} here.", "Copy the number or the uid from a list.")
