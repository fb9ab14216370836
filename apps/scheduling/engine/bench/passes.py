"""What a pass costs: over a long backlog, after a single change, and the memory of what waits.

Seconds are of this process alone: on a busy machine the clock on the wall would tell of the others.
"""

from __future__ import annotations

import gc
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import TypeVar

from apps.scheduling.engine.bench.simulation import pool
from apps.scheduling.engine.bench.speed import jobs
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import Placing, Policy, Queue, RunningWorkload, Snapshot
from apps.scheduling.engine.state.scheduler_state import SchedulerState

CARDS = 8
CHANGES = 20
Row = dict[str, str | int | float]
T = TypeVar("T")


def filled(devices: int, waiting: int, placing: Placing, *, ends: bool = False) -> tuple[SchedulerState, Row]:
    """A pool of so many devices filled from a backlog, and what that pass cost: building the state, and planning on
    it. `ends`: what runs has known ends."""
    nodes, rows = pool(devices // CARDS, CARDS)
    policy = Policy(placing=placing)
    requests = jobs(waiting, 1)
    snapshot = Snapshot(nodes, rows, (Queue("default"),), (), requests, policy=policy)
    gc.collect()
    gc.freeze()
    built, warm = timed(lambda: SchedulerState(snapshot))
    planned, made = timed(lambda: plan_kept(warm, 0, 1))
    start(warm, made, ends=ends)
    row: Row = {"devices": devices, "waiting": waiting, "placed": len(made.placements)}
    return warm, row | {"build_s": round(built, 3), "filling_pass_s": round(planned, 3)}


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of this process's own time, and the result."""
    started = process_time()
    result = work()
    return process_time() - started, result


def start(warm: SchedulerState, made: Plan, *, ends: bool) -> None:
    """Carry the plan out."""
    for i, each in enumerate(made.placements):
        warm.request_drop(each.request_id)
        end = 3_600 + i % 7_200 if ends else None
        warm.running_put(RunningWorkload(each.request_id, each.tenant_id, each.queue_id, each.grants, end))


def passes(devices: int, waiting: int, placing: Placing, *, ends: bool = False) -> Row:
    """The pass that fills the pool; on the full pool with `waiting` waiting, one on rows read anew, and the median
    and the worst of those after one piece of work has ended."""
    warm, row = filled(devices, waiting, placing, ends=ends)
    for seq, request in enumerate(jobs(waiting - len(warm.backlog), 3), 10**8):
        warm.request_put(replace(request, id=f"w{seq}", submitted_seq=seq))
    snapshot = warm.snapshot()
    rebuilt, _ = timed(lambda: plan_kept(SchedulerState(snapshot), 0, 1))
    plan_kept(warm, 0, 1)
    names = list(warm.running)
    step = max(1, len(names) // CHANGES)
    took = []
    for name in names[::step][:CHANGES]:
        started = process_time()
        warm.running_drop(name)
        made = plan_kept(warm, 1, 1)
        took.append(process_time() - started)
        start(warm, made, ends=ends)
    took.sort()
    ms = {
        "one_change_ms": round(1000 * took[len(took) // 2], 2),
        "one_change_worst_ms": round(1000 * took[-1], 2),
    }
    row |= {"waiting_on_full_pool": len(warm.backlog), "rebuild_and_pass_s": round(rebuilt, 3)}
    return {"policy": placing.value, **row, **ms, "bytes_per_waiting": memory(warm)}


def memory(warm: SchedulerState, count: int = 10_000) -> int:
    """Bytes for one more waiting request."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for seq, request in enumerate(jobs(count, 2), 10**9):
        warm.request_put(replace(request, id=f"{seq:032x}", submitted_seq=seq))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for seq in range(10**9, 10**9 + count):
        warm.request_drop(f"{seq:032x}")
    return (after - before) // count


def growth(placing: Placing, sizes: tuple[int, ...] = (12_500, 25_000, 50_000, 100_000)) -> Row:
    """How the filling pass grows with what waits, the pool with it: time over n log n at each size, the least being 1;
    and the exponent of the straight line through the logarithms."""
    rows = [filled(size // 10, size, placing)[1] for size in sizes]
    per = [
        float(row["filling_pass_s"]) / (size * math.log(size)) for row, size in zip(rows, sizes, strict=True)
    ]
    first, last = math.log(sizes[0]), math.log(sizes[-1])
    rise = math.log(float(rows[-1]["filling_pass_s"]) / float(rows[0]["filling_pass_s"]))
    told: Row = {f"n_log_n_{size}": round(each / min(per), 2) for size, each in zip(sizes, per, strict=True)}
    return {"policy": placing.value, **told, "exponent": round(rise / (last - first), 2)}
