"""Jobs placed per second, and the ratio to a plain scan of all devices for every job in the same run."""

from __future__ import annotations

from random import Random
from time import perf_counter

from apps.scheduling.engine.bench.simulation import pool
from apps.scheduling.engine.cycle.planner import plan
from apps.scheduling.engine.model.types import Placing, Policy, Queue, Request, Snapshot

SIZES = ((100, 0), (50, 40_960), (25, 20_480), (10, 8_192), (5, 4_096), (1, 512))


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
