"""For operators: the pool's log, alarms with their rules, reports."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.show import as_json, heading, one, rows, said
from weir.cli.units import duration_s

_SINCE = typer.Option(
    "", "--since", help="How far back: 30m, 2h, 7d; or an instant like 2026-03-01T00:00:00Z."
)
_UNTIL = typer.Option("", "--until", help="Up to an instant, or so long ago.")
_ALARM_COLUMNS = [
    ("level", "level"),
    ("state", "state"),
    ("what", "title"),
    ("since", "fired_at"),
    ("rule", "rule"),
    ("uid", "uid"),
]
_RULE_COLUMNS = [
    ("rule", "code"),
    ("metric", "metric"),
    ("is", "comparison"),
    ("threshold", "threshold"),
    ("unit", "unit"),
    ("for s", "for_s"),
    ("severity", "severity"),
    ("on", "is_enabled"),
]


def instant(text: str) -> str:
    """An instant as the API takes it, from one or from how long ago it was; empty stays empty."""
    if not text or "T" in text:
        return text
    return (datetime.now(UTC) - timedelta(seconds=duration_s(text))).isoformat()


def pool_log(
    ctx: typer.Context,
    level: str = typer.Option("", help="debug, info, warning, error, critical; several with commas."),
    component: str = typer.Option("", help="Who wrote it: agent, scheduling, web …"),
    node: str = typer.Option("", help="A node's name."),
    task: str = typer.Option("", help="A workload's uid."),
    priority: int | None = typer.Option(None, help="The priority of the task it is about."),
    search: str = typer.Option("", help="A part of the text."),
    since: str = _SINCE,
    until: str = _UNTIL,
    most: int = typer.Option(50, "--most", "-n", help="At most so many lines."),
    export: Path | None = typer.Option(
        None, help="Write all that meet the conditions to a .csv or .jsonl file."
    ),
) -> None:
    """The pool's log, newest first."""
    filters: dict[str, Any] = {
        "level": level, "component": component, "node": node, "task": task, "priority": priority, "search": search,
        "from_at": instant(since), "to_at": instant(until),
    }  # fmt: skip
    with caller(ctx) as client:
        if export is not None:
            form = "csv" if export.suffix == ".csv" else "jsonl"
            export.write_text(client.logs_export(form, **filters), newline="")
            said(ctx, {"file": str(export)}, f"Written to {export}.")
            return
        found = [row for row, _n in zip(client.logs(**filters), range(most), strict=False)]
    rows(
        ctx,
        found,
        [("time", "at"), ("level", "level"), ("component", "component"), ("node", "node"), ("text", "text")],
    )


def alarms(
    ctx: typer.Context,
    state: str = typer.Option("", help="firing, acknowledged, resolved or open."),
    level: str = typer.Option("", help="critical, major, minor or notice."),
    rule: str = typer.Option("", help="A rule's code."),
    since: str = _SINCE,
) -> None:
    """The alarms."""
    with caller(ctx) as client:
        rows(ctx, client.alarms(state, level=level, rule=rule, from_at=instant(since)), _ALARM_COLUMNS)


def alarm(
    ctx: typer.Context, uid: str = typer.Argument(..., help="Its uid, or enough of its begin.")
) -> None:
    """One alarm, and whom it was told."""
    with caller(ctx) as client:
        found = client.alarm(uid_of(uid, client.alarms))
    one(ctx, found, [*_ALARM_COLUMNS, ("times", "count"), ("until", "resolved_at")])
    if not as_json(ctx) and found["deliveries"]:
        rows(ctx, found["deliveries"], [("told by", "channel"), ("state", "state"), ("error", "error")])


def alarm_rules(ctx: typer.Context) -> None:
    """When alarms are raised."""
    with caller(ctx) as client:
        rows(ctx, client.alarm_rules(), _RULE_COLUMNS)


def alarm_rule(
    ctx: typer.Context,
    code: str = typer.Argument(..., help="The rule's code."),
    threshold: float | None = typer.Option(None, help="The new threshold."),
    for_s: int | None = typer.Option(None, "--for-s", help="How long it must last, in seconds."),
    severity: str = typer.Option("", help="critical, major, minor or notice."),
    enabled: bool | None = typer.Option(None, "--enable/--disable", help="Switch it on or off."),
) -> None:
    """Show a rule, or change what is named; it holds at once."""
    wanted = {"threshold": threshold, "for_s": for_s, "severity": severity, "is_enabled": enabled}
    changes: dict[str, Any] = {name: value for name, value in wanted.items() if value not in (None, "")}
    with caller(ctx) as client:
        found = client.alarm_rule_edit(code, **changes) if changes else client.alarm_rule(code)
    one(ctx, found, _RULE_COLUMNS)


def report(
    ctx: typer.Context,
    name: str = typer.Argument(..., help="resources, tasks, operations or energy."),
    since: str = _SINCE,
    until: str = _UNTIL,
    csv: Path | None = typer.Option(None, help="Write it to this file as CSV."),
) -> None:
    """Statistics of the pool; the last seven days where nothing is said."""
    span = {"from_at": instant(since), "to_at": instant(until)}
    with caller(ctx) as client:
        if csv is not None:
            csv.write_text(client.report_csv(name, **span), newline="")
            said(ctx, {"file": str(csv)}, f"Written to {csv}.")
            return
        found = client.report(name, **span)
    one(ctx, found, [(figure.replace("_", " "), f"totals.{figure}") for figure in found["totals"]])
    if as_json(ctx):
        return
    for section, listed in found["sections"].items():
        if listed:
            heading(section)
            rows(ctx, listed, [(figure.replace("_", " "), figure) for figure in listed[0]])


COMMANDS = (pool_log, alarms, alarm, alarm_rules, alarm_rule, report)
