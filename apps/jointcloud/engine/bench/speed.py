"""Seconds of `plan`, and how many times as long the plain loop takes for the same plan, in one run."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from apps.jointcloud.engine.bench.plain import plain_plan
from apps.jointcloud.engine.bench.worlds import NOW, network
from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.engine.types import Plan

Figures = dict[str, int | float | str | bool]


def speed(tasks: int, centres: int, seed: int, repeats: int = 5) -> Figures:
    """Both over the same snapshot; of ours the least of some runs, since the plain loop's one run is long enough to
    be a mean of its own. Seconds are of this process alone."""
    snapshot = network(seed, centres=centres, tasks=tasks, gpus=4_000 * tasks // 10_000)
    ours, made = min(
        (_timed(lambda: plan(snapshot, now=NOW, seed=seed)) for _ in range(repeats)), key=_seconds
    )
    plain, expected = _timed(lambda: plain_plan(snapshot, now=NOW, seed=seed))
    return {
        "tasks": tasks,
        "centres": centres,
        "policies": len(snapshot.settings.weights),
        "bound": len(made.bindings),
        "plan_s": round(ours, 3),
        "plain_s": round(plain, 3),
        "times_plain": round(plain / ours, 1),
        "equal": made == expected,
    }


def _timed(work: Callable[[], Plan]) -> tuple[float, Plan]:
    started = process_time()
    made = work()
    return process_time() - started, made


def _seconds(run: tuple[float, Plan]) -> float:
    return run[0]
