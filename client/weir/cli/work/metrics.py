"""`weir metrics`: what work has written of itself, by metric and work."""

from typing import Any

import typer

from weir.cli.context import caller, uid_of
from weir.cli.show import rows

_SUMMARY = [
    ("metric", "name"), ("work", "work"), ("share", "share"), ("points", "points"), ("step", "step"),
    ("last", "last"), ("least", "least"), ("most", "most"),
]  # fmt: skip
_POINTS = [
    ("metric", "name"),
    ("work", "work"),
    ("share", "share"),
    ("step", "step"),
    ("value", "value"),
    ("time", "time"),
]


def metrics(
    ctx: typer.Context,
    work: list[str] = typer.Argument(..., help="The work, by number or uid; several to compare them."),
    name: str = typer.Option("", help="Only metrics in whose names this occurs."),
    points: bool = typer.Option(False, help="Every point that is kept, instead of a summary."),
) -> None:
    """Metrics that work has written: `weir metrics W-1 W-2`, `weir metrics W-1 --name loss --points`."""
    with caller(ctx) as client:
        found: list[dict[str, Any]] = [
            {**series, "work": one}
            for one in work
            for series in client.metrics(uid_of(one, client.workloads, "no"), name)
        ]
    found.sort(key=lambda series: str(series["name"]))
    if points:
        rows(ctx, [point for series in found for point in _points(series)], _POINTS)
    else:
        rows(ctx, [_summary(series) for series in found], _SUMMARY)


def _points(series: "dict[str, Any]") -> "list[dict[str, Any]]":
    whose = {key: series[key] for key in ("name", "work", "share")}
    points = zip(series["steps"], series["values"], series["times"], strict=True)
    return [{**whose, "step": step, "value": value, "time": time} for step, value, time in points]


def _summary(series: "dict[str, Any]") -> "dict[str, Any]":
    values = series["values"]
    figures = {"points": len(values), "step": series["steps"][-1], "last": values[-1]}
    return {**series, **figures, "least": min(values), "most": max(values)}


COMMANDS = (metrics,)
