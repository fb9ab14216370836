"""How fast the engine places.

`python -m apps.scheduling.engine.bench speed` prints jobs per second and the ratio to a plain scan of all
devices for every job, measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import sys
from random import Random
from time import perf_counter

from apps.scheduling.engine.cycle import plan
from apps.scheduling.engine.types import Device, Node, Placing, Policy, Queue, Request, Snapshot

MIB_PER_CARD = 81_920
SIZES = ((100, 0), (50, 40_960), (25, 20_480), (10, 8_192), (5, 4_096), (1, 512))


def pool(nodes: int, cards: int) -> tuple[tuple[Node, ...], tuple[Device, ...]]:
    """So many equal nodes of so many equal cards."""
    ids = [f"n{i:05}" for i in range(nodes)]
    devices = tuple(Device(f"{node}-d{k}", node, MIB_PER_CARD) for node in ids for k in range(cards))
    return tuple(Node(node) for node in ids), devices


def jobs(count: int, seed: int) -> tuple[Request, ...]:
    """So many jobs of the six sizes, evenly drawn."""
    rng = Random(seed)
    return tuple(
        Request(f"r{i:07}", f"t{i % 20}", "default", i, percent, mib)
        for i, (percent, mib) in enumerate(rng.choices(SIZES, k=count))
    )


def engine_rate(nodes: int, cards: int, count: int, placing: Placing) -> tuple[float, int]:
    """Jobs placed per second by one cycle, from snapshot to plan, and how many it placed."""
    node_rows, devices = pool(nodes, cards)
    snapshot = Snapshot(
        node_rows, devices, (Queue("default"),), (), jobs(count, 1), policy=Policy(placing=placing)
    )
    started = perf_counter()
    made = plan(snapshot, now=0, seed=1)
    return len(made.placements) / (perf_counter() - started), len(made.placements)


def scan_rate(nodes: int, cards: int, count: int) -> float:
    """Jobs placed per second when each looks at every device for the least used that fits."""
    _, devices = pool(nodes, cards)
    free = {device.id: [100, device.memory_mib] for device in devices}
    started = perf_counter()
    placed = 0
    for job in jobs(count, 1):
        fitting = [
            (-left[0], -left[1], key)
            for key, left in free.items()
            if left[0] >= job.compute_percent and left[1] >= job.memory_mib
        ]
        if fitting:
            left = free[min(fitting)[2]]
            left[0] -= job.compute_percent
            left[1] -= job.memory_mib
            placed += 1
    return placed / (perf_counter() - started)


def speed(nodes: int, cards: int, count: int) -> list[dict[str, str | int | float]]:
    """One row a policy: jobs per second, and that over the scan's."""
    scan = scan_rate(nodes, cards, max(1, count // 100))
    rows: list[dict[str, str | int | float]] = []
    for placing in Placing:
        rate, placed = engine_rate(nodes, cards, count, placing)
        ratio = round(rate / scan, 1)
        rows.append(
            {"policy": placing.value, "placed": placed, "jobs_per_s": round(rate), "times_scan": ratio}
        )
    return rows


def main(arguments: list[str]) -> int:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("speed", help="jobs placed per second")
    command.add_argument("--nodes", type=int, default=1000)
    command.add_argument("--cards", type=int, default=8)
    command.add_argument("--jobs", type=int, default=20_000)
    command.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = speed(options.nodes, options.cards, options.jobs)
    if options.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        placed, rate = f"{row['placed']:>7} placed", f"{row['jobs_per_s']:>8} jobs/s"
        print(f"{row['policy']:<9} {placed} {rate} {row['times_scan']:>7} x scan")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
