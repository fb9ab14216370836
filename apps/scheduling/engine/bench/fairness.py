"""Fairness over a simulated week: bursty tenants of different weight on one pool, by each order of the queue.

A tenant's entitlement is the max-min fair part of what the pool gave out: each gets what it asked for or, where that
is more than its part by weight, its part of what the others leave. Backlogged is who asked for more than it was
entitled to.
"""

from __future__ import annotations

from random import Random

from apps.scheduling.engine.bench.simulation import WHOLE, Job, Simulation
from apps.scheduling.engine.model.types import Ordering, Placing, Policy

WEEK_S = 7 * 86_400
STEP_S = 300
NODES, CARDS = 4, 8
WEIGHTS = {"atlas": 4, "boreas": 2, "ceres": 1, "dione": 1, "eos": 2}
ASKED_PERCENT = {"atlas": 80, "boreas": 60, "ceres": 60, "dione": 30, "eos": 8}
"""What each tenant asks for over the week, in percent of the pool."""
PRIORITY = {"atlas": 1, "boreas": 3, "ceres": 2, "dione": 1, "eos": 2}
BURST_EVERY_S = {"atlas": 43_200, "boreas": 28_800, "ceres": 86_400, "dione": 21_600, "eos": 86_400}

Row = dict[str, str | float | dict[str, float]]


def week(seed: int) -> list[Job]:
    """The week's jobs: each tenant's asked amount in bursts, jobs of half an hour to three hours on a whole card."""
    rng = Random(seed)
    jobs = []
    for tenant, percent in ASKED_PERCENT.items():
        bursts = WEEK_S // BURST_EVERY_S[tenant]
        for burst in range(bursts):
            left = WEEK_S * NODES * CARDS * percent // 100 // bursts
            while left > 0:
                runs_s = STEP_S * rng.randint(6, 36)
                at_s = burst * BURST_EVERY_S[tenant] + rng.randrange(3600)
                jobs.append(Job(at_s, runs_s, tenant, priority=PRIORITY[tenant]))
                left -= runs_s
    return jobs


def entitlements(given: float, asked: dict[str, float], weights: dict[str, int]) -> dict[str, float]:
    """The weighted max-min fair parts of `given`."""
    parts: dict[str, float] = {}
    open_ones = set(asked)
    while open_ones:
        unit = (given - sum(parts.values())) / sum(weights[tenant] for tenant in open_ones)
        content = {tenant for tenant in open_ones if asked[tenant] <= unit * weights[tenant]}
        if not content:
            return parts | {tenant: unit * weights[tenant] for tenant in open_ones}
        parts |= {tenant: asked[tenant] for tenant in content}
        open_ones -= content
    return parts


def jain(values: list[float]) -> float:
    """Jain's index: 1 where all are equal, 1/n where one has everything."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def fairness(ordering: Ordering, *, seed: int, until_s: int = WEEK_S) -> Row:
    """One order: each backlogged tenant's use over its entitlement, the furthest off in percent, Jain's index."""
    jobs = week(seed)
    policy = Policy(ordering=ordering, placing=Placing.FRAGMENTATION, patience_s=None, reserved_starts=0)
    outcome = Simulation(NODES, CARDS, policy, jobs, WEIGHTS).run(until_s, STEP_S)
    asked = {
        tenant: float(
            WHOLE * sum(job.runs_s for job in jobs if job.tenant_id == tenant and job.at_s < until_s)
        )
        for tenant in WEIGHTS
    }
    entitled = entitlements(float(sum(outcome.used.values())), asked, WEIGHTS)
    backlogged = [tenant for tenant in WEIGHTS if asked[tenant] > 1.01 * entitled[tenant]]
    met = {tenant: outcome.used[tenant] / entitled[tenant] for tenant in WEIGHTS}
    return {
        "ordering": ordering.value,
        "used_percent": round(sum(outcome.used.values()) / (NODES * CARDS * until_s), 2),
        "use_of_entitlement": {tenant: round(met[tenant], 4) for tenant in backlogged},
        "furthest_percent": round(100 * max(abs(met[tenant] - 1) for tenant in backlogged), 2),
        "jain": round(jain([met[tenant] for tenant in WEIGHTS]), 4),
    }


ORDERINGS = (Ordering.FAIR_SHARE, Ordering.FIRST_COME, Ordering.PRIORITY)
