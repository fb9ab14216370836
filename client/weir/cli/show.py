"""How answers look in a terminal: tables for people, JSON for programs."""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

# In a pipe nobody wraps lines: columns keep their width.
_PIPE_WIDTH = 240


def say(text: str) -> None:
    """A line of the answer, on the standard output."""
    typer.echo(text)


def tell(text: str) -> None:
    """A line beside the answer, on the standard error."""
    typer.echo(text, err=True)


def heading(text: str) -> None:
    """The title of the table that follows."""
    typer.secho(f"\n{text}", bold=True)


def say_json(found: Any) -> None:
    """An answer for programs."""
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


def _print(table: "Table") -> None:
    from rich.console import Console

    out = Console(highlight=False, soft_wrap=True)
    if not out.is_terminal:
        out.width = _PIPE_WIDTH
    out.print(table)


def _table(**options: Any) -> "Table":
    # Tables alone need this library: a command that prints none starts without it.
    from rich.table import Table

    return Table(box=None, pad_edge=False, **options)


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
    return _short(str(value))


def _short(text: str) -> str:
    """An instant on this machine's clock, to the second; an amount without idle zeros; else the text itself."""
    if re.fullmatch(r"\d{4}-\d\d-\d\dT\S+", text):
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if re.fullmatch(r"-?\d+\.\d{3,}", text):
        whole, _dot, places = text.partition(".")
        return f"{whole}.{places.rstrip('0').ljust(2, '0')}"
    return text


def rows(ctx: typer.Context, found: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> None:
    """Print a list: `columns` are (heading, dotted key)."""
    listed = list(found)
    if as_json(ctx):
        say_json(listed)
        return
    if not listed:
        tell("Nothing here yet.")
        return
    table = _table(header_style="bold")
    for heading, _key in columns:
        # Numbers and identifiers are copied: they stay in one piece.
        table.add_column(heading, overflow="fold", no_wrap=heading in ("number", "uid"))
    for row in listed:
        table.add_row(*(cell(row, key) for _heading, key in columns))
    _print(table)


def one(ctx: typer.Context, found: Mapping[str, Any], columns: Sequence[tuple[str, str]]) -> None:
    """Print one thing, a line each."""
    if as_json(ctx):
        say_json(found)
        return
    table = _table(show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for heading, key in columns:
        if text := cell(found, key):
            table.add_row(heading, text)
    _print(table)


def said(ctx: typer.Context, found: Any, text: str) -> None:
    """Print what was done: a sentence, or the API's answer."""
    if as_json(ctx):
        say_json(found)
    else:
        say(text)


def notes(found: Sequence[Mapping[str, Any]]) -> None:
    """A table beside the answer, on the standard error."""
    from rich.console import Console
    from rich.text import Text

    table = _table(header_style="bold")
    for name in found[0]:
        table.add_column(name, overflow="fold")
    for row in found:
        table.add_row(*(Text(str(value)) for value in row.values()))
    out = Console(highlight=False, stderr=True, soft_wrap=not sys.stderr.isatty())
    if not out.is_terminal:
        out.width = _PIPE_WIDTH
    out.print(table)


class Progress:
    """How far something is, drawn on a terminal's standard error and nowhere else."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        return self

    def at(self, done: int, of: int) -> None:
        """So many bytes of so many."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn(self._what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=of)
        self._bar.update(self._task, completed=done)

    def __exit__(self, *_error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
