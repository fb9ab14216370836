"""How answers look in a terminal: tables for people, JSON for programs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False)


def as_json(ctx: typer.Context) -> bool:
    return bool(ctx.find_root().params.get("json_"))


def cell(row: Mapping[str, Any], key: str) -> str:
    """A value by dotted path, as short text."""
    value: Any = row
    for part in key.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value)


def rows(ctx: typer.Context, found: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> None:
    """Print a list: `columns` are (heading, dotted key)."""
    listed = list(found)
    if as_json(ctx):
        out.print_json(json.dumps(listed))
        return
    if not listed:
        err.print("Nothing here yet.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, _key in columns:
        table.add_column(heading, overflow="fold")
    for row in listed:
        table.add_row(*(cell(row, key) for _heading, key in columns))
    out.print(table)


def one(ctx: typer.Context, found: Mapping[str, Any], columns: Sequence[tuple[str, str]]) -> None:
    """Print one thing, a line each."""
    if as_json(ctx):
        out.print_json(json.dumps(found))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for heading, key in columns:
        if text := cell(found, key):
            table.add_row(heading, text)
    out.print(table)


def said(ctx: typer.Context, found: Any, text: str) -> None:
    """Print what was done: a sentence, or the API's answer."""
    if as_json(ctx):
        out.print_json(json.dumps(found))
    else:
        out.print(text)
