"""How fast the engine places, how tight, how fair; the figures and the method are in docs/performance.md.

`python -m apps.scheduling.engine.bench speed` prints jobs per second and the ratio to a plain scan of all
devices for every job, measured in the same run; `openb` the study of GPU allocation; `fairness` and `fragmentation`
simulated days.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from apps.scheduling.engine.bench.fairness import ORDERINGS, fairness
from apps.scheduling.engine.bench.gangs import PLACINGS, gangs
from apps.scheduling.engine.bench.openb import read_hosts, read_tasks
from apps.scheduling.engine.bench.openb_policies import ENGINE, OURS, PUBLISHED, study
from apps.scheduling.engine.bench.replay import replayed
from apps.scheduling.engine.bench.speed import speed
from apps.scheduling.engine.model.types import Placing

DAY_S = 86_400
MOST_ARRIVED = 10


def _speed(options: argparse.Namespace) -> int:
    rows = speed(options.nodes, options.cards, options.jobs)
    if options.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        placed, rate = f"{row['placed']:>7} placed", f"{row['jobs_per_s']:>8} jobs/s"
        print(f"{row['policy']:<15} {placed} {rate} {row['times_scan']:>7} x scan")
    return 0


def _openb(options: argparse.Namespace) -> int:
    try:
        hosts, tasks = read_hosts(options.nodes), read_tasks(options.pods)
        row = study(hosts, tasks, seed=options.seed, arrived=options.arrived, policy=options.policy)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(row) if options.json else _line(row))
    return 0


def _fairness(options: argparse.Namespace) -> int:
    for ordering in ORDERINGS:
        row = fairness(ordering, seed=options.seed, until_s=options.days * DAY_S)
        print(json.dumps(row) if options.json else _line(row), flush=True)
    return 0


def _fragmentation(options: argparse.Namespace) -> int:
    for placing in PLACINGS:
        row = gangs(placing, days_count=options.days, seed=options.seed)
        print(json.dumps(row) if options.json else _line(row), flush=True)
    return 0


def _passes(options: argparse.Namespace) -> int:
    from apps.scheduling.engine.bench.passes import growth, passes  # it builds on this module

    def tell(row: Mapping[str, object]) -> None:
        print(json.dumps(row) if options.json else _line(row), flush=True)

    for placing in (Placing.SPREAD, Placing.NODE_COMPACT, Placing.DEVICE_COMPACT):
        for ends in (False, True):
            tell(passes(options.devices, options.waiting, placing, ends=ends))
    tell(growth(Placing.DEVICE_COMPACT))
    return 0


def _replay(options: argparse.Namespace) -> int:
    row = replayed(options.submissions, options.days, options.seed)
    print(json.dumps(row) if options.json else _line(row))
    return 0


def _line(row: Mapping[str, object]) -> str:
    return "  ".join(f"{name} {value}" for name, value in row.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("speed", help="jobs placed per second")
    command.add_argument("--nodes", type=int, default=1000)
    command.add_argument("--cards", type=int, default=8)
    command.add_argument("--jobs", type=int, default=20_000)
    command.set_defaults(run=_speed)
    command = commands.add_parser("openb", help="GPU allocation on the lists of the FGD study")
    command.add_argument("--nodes", type=Path, required=True, metavar="N.csv")
    command.add_argument("--pods", type=Path, required=True, metavar="P.csv")
    command.add_argument("--seed", type=int, default=42)
    command.add_argument(
        "--arrived", type=_positive, default=1.3, help="part of the capacity that is asked for"
    )
    command.add_argument("--policy", default=OURS, help=", ".join([*ENGINE, *PUBLISHED]))
    command.set_defaults(run=_openb)
    for name, days, run, text in (
        ("fairness", 7, _fairness, "shares of bursty tenants over simulated days, by order"),
        ("fragmentation", 3, _fragmentation, "whole cards and waiting gangs over simulated days, by placing"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--days", type=int, default=days)
        command.add_argument("--seed", type=int, default=42)
        command.set_defaults(run=run)
    command = commands.add_parser("passes", help="seconds and memory of passes over a long backlog")
    command.add_argument("--devices", type=int, default=10_000)
    command.add_argument("--waiting", type=int, default=100_000)
    command.set_defaults(run=_passes)
    command = commands.add_parser("replay", help="seconds of a what-if over a simulated past")
    command.add_argument("--submissions", type=int, default=20_000)
    command.add_argument("--days", type=int, default=14)
    command.add_argument("--seed", type=int, default=42)
    command.set_defaults(run=_replay)
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true")
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value <= MOST_ARRIVED:
        raise argparse.ArgumentTypeError(f"give a part of the capacity, above 0 and up to {MOST_ARRIVED}")
    return value


def main(arguments: list[str]) -> int:
    """Read the command line, measure, print; 2 where a list or a name is wrong."""
    options = _parser().parse_args(arguments)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
