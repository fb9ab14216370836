"""The signed-in client of a command, and things called by their number."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer

from weir.api import Client
from weir.errors import WeirClientError

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def caller(ctx: typer.Context) -> Client:
    """The client for the tenant given with `--tenant`, else the kept one."""
    return Client.from_config(tenant=ctx.find_root().params["tenant"])


def uid_of(given: str, listed: Callable[[], Iterable[Mapping[str, Any]]], *names: str) -> str:
    """The uid of what a person calls by uid or by one of its numbers; `listed` is asked only for a number.

    Raises:
        WeirClientError: nothing listed has that number.
    """
    if _UID.fullmatch(given):
        return given
    for row in listed():
        if given.upper() in {str(row.get(name, "")).upper() for name in names}:
            return str(row["uid"])
    raise WeirClientError(f"There is no {given} here.", "Copy the number or the uid from a list.")
