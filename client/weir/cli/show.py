"""How answers look in a terminal: tables for people, JSON for programs.

What other people wrote never acts on a terminal: whatever would move its cursor, clear it, rename it or turn the
direction of a text is shown by its number. A pipe gets every byte as it is.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from rich.table import Table

# In a pipe nobody wraps lines: columns keep their width.
_PIPE_WIDTH = 240
_UID_SHOWN = 8
_LEAST_COLUMNS = 3
# A text as wide as this may be folded into several lines.
_FOLDED = 36
# A colour, or else what a terminal obeys: C0, delete, C1, and overrides of a text's direction.
_OBEYED = re.compile("(\x1b\\[[0-9;:]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str, *, has_lines: bool = True, has_colours: bool = False) -> str:
    """A text that a terminal shows and does not obey; its line ends and tabs stay where it `has_lines`."""
    shown = _OBEYED.sub(lambda found: found[0] if found[1] and has_colours else _numbered(found[0]), text)
    return shown if has_lines else shown.replace("\n", "\\n").replace("\t", "\\t")


def _numbered(characters: str) -> str:
    """The first character, which is obeyed, by its number; what followed it is shown anyhow."""
    number = ord(characters[0])
    return (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}") + characters[1:]


def _shown(text: str, stream: TextIO, *, has_lines: bool = True) -> str:
    return visible(text, has_lines=has_lines) if stream.isatty() else text


def say(text: str, *, ends_line: bool = True) -> None:
    """A text of the answer, on the standard output: a line of it, unless it brings its line ends."""
    typer.echo(_shown(text, sys.stdout), nl=ends_line)


def say_printed(text: str, *, is_raw: bool = False) -> None:
    """What work printed, with its line end. A terminal shows its colours and obeys nothing else, unless `is_raw`."""
    if sys.stdout.isatty() and not is_raw:
        # A progress bar draws over its line: on a line of its own, each stays with whose it is.
        text = visible(text.replace("\r\n", "\n").replace("\r", "\n  "), has_colours=True)
    typer.echo(text, nl=False, color=True)


def tell(text: str) -> None:
    """A line beside the answer, on the standard error."""
    typer.echo(_shown(text, sys.stderr), err=True)


def heading(text: str) -> None:
    """The title of the table that follows."""
    typer.secho(f"\n{_shown(text, sys.stdout)}", bold=True)


def say_json(found: Any) -> None:
    """An answer for programs."""
    written = json.dumps(found, indent=2, ensure_ascii=False)
    if sys.stdout.isatty():
        # The same to who parses it.
        written = _OBEYED.sub(lambda each: f"\\u{ord(each[0][0]):04x}{each[0][1:]}", written)
    typer.echo(written)


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
    """An instant on this machine's clock, to the second, with its zone; an amount without idle zeros; else the text."""
    if re.fullmatch(r"\d{4}-\d\d-\d\dT\S+", text):
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
    if re.fullmatch(r"-?\d+\.\d{3,}", text):
        whole, _dot, places = text.partition(".")
        return f"{whole}.{places.rstrip('0').ljust(2, '0')}"
    return text


def rows(ctx: typer.Context, found: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> None:
    """Print a list: `columns` are (heading, dotted key). A terminal gets what fits it, a pipe all of it."""
    listed = list(found)
    if as_json(ctx):
        say_json(listed)
        return
    if not listed:
        tell("Nothing here yet.")
        return
    from rich.text import Text

    shown = {
        heading: [_shown(cell(row, key), sys.stdout, has_lines=False) for row in listed]
        for heading, key in columns
    }
    left_out: list[str] = []
    if sys.stdout.isatty():
        shown, left_out = fitting(shown, shutil.get_terminal_size().columns)
    table = _table(header_style="bold")
    for heading in shown:
        # Numbers and identifiers are copied: they stay in one piece.
        table.add_column(heading, overflow="fold", no_wrap=heading in ("number", "uid"))
    for line in zip(*shown.values(), strict=True):
        table.add_row(*map(Text, line))
    _print(table)
    if left_out:
        tell(f"Not shown here: {', '.join(left_out)}. A wider terminal shows them, and --json.")


def fitting(shown: Mapping[str, list[str]], width: int) -> tuple[dict[str, list[str]], list[str]]:
    """The columns that a terminal has room for, and the names of those that it has not.

    Empty ones go, the uid where a number names the thing, else all but its begin, which commands take for it; and then
    the last ones until a line holds the rest.
    """
    kept = {heading: cells for heading, cells in shown.items() if any(cells)}
    if "number" in kept:
        kept.pop("uid", None)
    elif "uid" in kept:
        kept["uid"] = [text[:_UID_SHOWN] for text in kept["uid"]]
    left_out: list[str] = []
    while len(kept) > _LEAST_COLUMNS and sum(map(_width, kept.items())) + 2 * (len(kept) - 1) > width:
        last = [heading for heading in kept if heading != "uid"][-1]
        left_out.insert(0, last)
        del kept[last]
    return kept, left_out


def _width(column: tuple[str, list[str]]) -> int:
    """How wide a column wants to be; a long text folds."""
    from rich.cells import cell_len

    heading, cells = column
    return max(cell_len(heading), min(_FOLDED, max(map(cell_len, cells))))


def one(ctx: typer.Context, found: Mapping[str, Any], columns: Sequence[tuple[str, str]]) -> None:
    """Print one thing, a line each."""
    if as_json(ctx):
        say_json(found)
        return
    from rich.text import Text

    table = _table(show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for heading, key in columns:
        if text := cell(found, key):
            table.add_row(heading, Text(_shown(text, sys.stdout)))
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
        table.add_row(*(Text(_shown(str(value), sys.stderr, has_lines=False)) for value in row.values()))
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
