"""What a what-if costs: a simulated past of mixed work, replayed with all that the engine may do.

Slices, whole cards and elastic gangs of a few tenants, some of them preemptible, some sessions that may move. The
seconds are of the processor: the pages say how many days may be asked for.
"""

from __future__ import annotations

from random import Random
from time import process_time

from apps.scheduling.engine.bench.simulation import CARD_MIB, QUEUE, WHOLE, pool
from apps.scheduling.engine.model.types import Ordering, Policy, Queue, Request, Snapshot
from apps.scheduling.engine.simulate.replay import Past, percentile, replay

NODES, CARDS, TENANTS = 50, 8, 8
LOAD = 0.8
DAY_S = 86_400
SIZES = ((10, 1), (25, 1), (50, 1), (WHOLE, 1), (WHOLE, 2), (WHOLE, 4))
"""Percent of a card, and shares."""
LIMITS_S = (None, 4 * 3600, DAY_S)
"""How long it may run; so long at the most it does."""


def past(count: int, days: int, seed: int) -> list[Past]:
    """So many submissions, evenly spread, that ask for LOAD of the pool."""
    rng = Random(seed)
    rows = [(*rng.choice(SIZES), rng.expovariate(1)) for _each in range(count)]
    asked = sum(percent * shares * runs for percent, shares, runs in rows)
    mean_s = LOAD * NODES * CARDS * WHOLE * days * DAY_S / asked
    return [
        _one(rng, at, percent, shares, runs * mean_s, days) for at, (percent, shares, runs) in enumerate(rows)
    ]


def _one(rng: Random, at: int, percent: int, shares: int, runs: float, days: int) -> Past:
    is_whole, runs_s = percent == WHOLE, max(1, int(runs))
    limit_s = rng.choice([each for each in LIMITS_S if each is None or each >= runs_s])
    request = Request(
        f"r{at:06}", f"t{rng.randrange(TENANTS)}", QUEUE, at, percent, CARD_MIB * percent // WHOLE, shares,
        exclusive=is_whole, single_node=shares > 1, min_shares=1 if shares > 1 and at % 2 else None,
        priority=rng.randrange(3), preemptible=at % 3 == 0, submitted_at_s=rng.randrange(days * DAY_S),
        duration_s=limit_s,
    )  # fmt: skip
    return Past(request, runs_s, 1_000_000, movable=not is_whole and at % 4 == 0)


def replayed(count: int, days: int, seed: int) -> dict[str, int | float]:
    """One replay: what it took and what came of it."""
    nodes, devices = pool(NODES, CARDS)
    policy = Policy(ordering=Ordering.FAIR_SHARE, preemption=True, consolidate=True)
    work = past(count, days, seed)
    began_s = process_time()
    found = replay(Snapshot(nodes, devices, (Queue(QUEUE),), policy=policy), work, until_s=days * DAY_S)
    seconds = process_time() - began_s
    return {
        "submissions": count,
        "days": days,
        "seconds": round(seconds, 1),
        "moments": len(found.use),
        "ms_a_moment": round(1000 * seconds / len(found.use), 2),
        "wait_p95_s": percentile(list(found.waits.values()), 95),
        "unstarted": len(found.unstarted),
        "preemptions": found.preemptions,
        "resizes": found.resizes,
        "moves": found.moves,
    }
