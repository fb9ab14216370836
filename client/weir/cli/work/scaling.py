"""Rules by which elastic work is scaled: of one's own work, or of a queue (ELA-907)."""

import re
from typing import Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.group import App
from weir.cli.show import rows, said
from weir.errors import WeirClientError

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPAN = re.compile(r"([a-z]{3})(?:-([a-z]{3}))?\s+(\d\d?):(\d\d)-(\d\d?):(\d\d)")
_COLUMNS = [("uid", "uid"), ("by", "by"), ("rule", "sentence"), ("rests (s)", "cooldown_s")]

scaling = App(help="Rules by which elastic work is scaled.")
Work = typer.Argument(..., help="The work, by number or uid; with --queue a queue.")
OfQueue = typer.Option(False, "--queue", help="The rules of a queue, for operators.")


@scaling.command("list")
def list_(ctx: typer.Context, work: str = Work, queue: bool = OfQueue) -> None:
    """The rules that are set."""
    with caller(ctx) as client:
        rows(ctx, client.queue_rules(work) if queue else client.workload_rules(_uid(client, work)), _COLUMNS)


@scaling.command("set")
def set_(
    ctx: typer.Context,
    work: str = Work,
    queue: bool = OfQueue,
    by: str = typer.Option(..., help="queue_depth, utilisation (percent) or window."),
    low: int = typer.Option(None, help="At so much and less it acts one way."),
    high: int = typer.Option(None, help="At so much and more it acts the other way."),
    grows_when_high: bool = typer.Option(None, "--grows-when-high/--shrinks-when-high"),
    step: int = typer.Option(None, help="Shares at a time."),
    shares: int = typer.Option(None, help="Shares at most, inside the windows."),
    window: list[str] = typer.Option([], help="Mon-Fri 08:00-18:00; may be given more than once."),
    rest: int = typer.Option(None, help="Seconds between two changes."),
) -> None:
    """Set one more rule."""
    given: dict[str, Any] = {
        "by": by, "low": low, "high": high, "grows_when_high": grows_when_high, "step": step, "shares": shares,
        "windows": [span for text in window for span in spans(text)] or None, "cooldown_s": rest,
    }  # fmt: skip
    rule = {name: value for name, value in given.items() if value is not None}
    with caller(ctx) as client:
        found = (
            client.queue_rule_set(work, **rule)
            if queue
            else client.workload_rule_set(_uid(client, work), **rule)
        )
    said(ctx, found, found["sentence"])


@scaling.command()
def remove(
    ctx: typer.Context, work: str = Work, rule: str = typer.Argument(...), queue: bool = OfQueue
) -> None:
    """Take a rule away, by its uid."""
    with caller(ctx) as client:
        if queue:
            client.queue_rule_remove(work, rule)
        else:
            client.workload_rule_remove(_uid(client, work), rule)
    said(ctx, {"uid": rule}, "The rule is removed.")


def _uid(client: Any, work: str) -> str:
    return uid_of(work, client.workloads, "no")


def spans(text: str) -> list[dict[str, int]]:
    """The days of a window as the API takes them. Raises WeirClientError for what is none."""
    match = _SPAN.fullmatch(text.strip().lower())
    days = match and [match[1], match[2] or match[1]]
    if match is None or not set(days or ()) <= set(_DAYS):
        raise WeirClientError(f"{text} is no window.", "Write it like: Mon-Fri 08:00-18:00")
    first, last = (_DAYS.index(day) for day in days or ())
    begin, end = int(match[3]) * 60 + int(match[4]), int(match[5]) * 60 + int(match[6])
    return [
        {"weekday": (first + step) % 7, "from_minute": begin, "to_minute": end}
        for step in range((last - first) % 7 + 1)
    ]
