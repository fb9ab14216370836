"""`python -m apps.jointcloud.engine.bench`: how fast a cycle is, and what its choices are worth."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from apps.jointcloud.engine.bench.optimum import by_price
from apps.jointcloud.engine.bench.speed import speed
from apps.jointcloud.engine.bench.week import engine, run, simple, week
from apps.jointcloud.engine.types import DEFAULT_WEIGHTS

SIMPLE = ("random", "round_robin", "first_fit", "cheapest_first")


def _speed(options: argparse.Namespace) -> int:
    row = speed(options.tasks, options.centres, options.seed)
    _print(row, options)
    return 0 if row["equal"] else 1


def _price(options: argparse.Namespace) -> int:
    try:
        _print(by_price(week(options.seed, options.jobs), options.hours), options)
    except ModuleNotFoundError:
        print("The solver is not installed: pip install highspy", file=sys.stderr)
        return 2
    return 0


def _week(options: argparse.Namespace) -> int:
    for row in compared(options.seed, options.jobs):
        _print(row, options)
    return 0


def compared(seed: int, jobs: int) -> list[dict[str, str | float]]:
    """A week by the engine's default weights and by the simple ways: cost in minor currency, mean wait in seconds."""
    given = week(seed, jobs)
    outcomes = {"default_weights": run(given, engine, DEFAULT_WEIGHTS)}
    outcomes |= {name: run(given, simple(name), DEFAULT_WEIGHTS) for name in SIMPLE}
    return [
        {
            "by": name,
            "jobs": each.jobs,
            "cost": round(each.cost_minor),
            "mean_wait_s": round(each.mean_wait_s, 1),
        }
        for name, each in outcomes.items()
    ]


def _print(row: Mapping[str, object], options: argparse.Namespace) -> None:
    text = "  ".join(f"{name} {value}" for name, value in row.items())
    print(json.dumps(row) if options.json else text, flush=True)


def main(arguments: list[str]) -> int:
    """Read the command line, measure, print; 1 where the plan is not the plain loop's, 2 without the solver."""
    parser = argparse.ArgumentParser(prog="python -m apps.jointcloud.engine.bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("speed", help="a cycle beside the plain loop that defines it")
    command.add_argument("--tasks", type=int, default=10_000)
    command.add_argument("--centres", type=int, default=100)
    command.set_defaults(run=_speed)
    for name, work, text in (
        ("price", _price, "a week by price alone, beside the least cost of each of its snapshots"),
        ("week", _week, "cost and mean wait of a week, by the default weights and by simple ways"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--jobs", type=int, default=20_000)
        command.set_defaults(run=work)
    commands.choices["price"].add_argument("--hours", action="store_true", help="the solver knows durations")
    for command in commands.choices.values():
        command.add_argument("--seed", type=int, default=42)
        command.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
