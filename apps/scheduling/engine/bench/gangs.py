"""Fragmentation over simulated days: slices that come and go beside gangs of eight whole cards, by each placing.

Told are the nodes that stay whole and how long gangs wait: a card that is nearly idle serves no gang.
"""

from __future__ import annotations

from random import Random

from apps.scheduling.engine.bench.simulation import WHOLE, Job, Simulation
from apps.scheduling.engine.model.types import Placing, Policy
from apps.scheduling.engine.state.scheduler_state import SchedulerState

NODES, CARDS = 32, 8
STEP_S = 300
SLICES = ((10, 3), (20, 3), (30, 3), (40, 2), (50, 2), (70, 1), (100, 2))
"""Percent of a card, and how often."""
SLICE_LOAD, GANG_LOAD = 0.55, 0.25
"""What slices and gangs ask for, as a part of the pool."""
PLACINGS = (
    Placing.FRAGMENTATION, Placing.BEST_FIT, Placing.SPREAD, Placing.NODE_COMPACT, Placing.DEVICE_COMPACT,
)  # fmt: skip


def days(count: int, seed: int) -> list[Job]:
    """Slices of half an hour to twelve hours, gangs of one to four hours, evenly spread."""
    rng = Random(seed)
    jobs, until_s = [], count * 86_400
    cards_s = NODES * CARDS * until_s
    sizes, often = zip(*SLICES, strict=True)
    asked = 0.0
    while asked < SLICE_LOAD * cards_s:
        percent, runs_s = rng.choices(sizes, often)[0], STEP_S * rng.randint(6, 144)
        jobs.append(Job(rng.randrange(until_s), runs_s, f"t{rng.randrange(8)}", percent))
        asked += runs_s * percent / WHOLE
    asked = 0.0
    while asked < GANG_LOAD * cards_s:
        runs_s = STEP_S * rng.randint(12, 48)
        jobs.append(Job(rng.randrange(until_s), runs_s, "gang", WHOLE, CARDS))
        asked += runs_s * CARDS
    return jobs


def whole_cards(warm: SchedulerState) -> int:
    """Idle cards that a gang could use: those of nodes on which nothing runs."""
    return sum(len(server.cards) for server in warm.pool.server_at if not server.used_percent)


def gangs(placing: Placing, *, days_count: int, seed: int) -> dict[str, str | float]:
    """One placing: cards kept whole on average, and how long gangs waited, in minutes."""
    jobs = sorted(days(days_count, seed), key=lambda job: job.at_s)
    policy = Policy(placing=placing, patience_s=None, reserved_starts=0)
    outcome = Simulation(NODES, CARDS, policy, jobs).run(days_count * 86_400, STEP_S, whole_cards)
    end_s = days_count * 86_400
    waits = sorted(
        outcome.waits.get(at, end_s - job.at_s) for at, job in enumerate(jobs) if job.shares == CARDS
    )
    settled = outcome.seen[len(outcome.seen) // 4 :]
    return {
        "placing": placing.value,
        "used_percent": round(sum(outcome.used.values()) / (NODES * CARDS * end_s), 2),
        "cards_whole": round(sum(settled) / len(settled), 1),
        "gang_wait_mean_min": round(sum(waits) / len(waits) / 60, 1),
        "gang_wait_p90_min": round(waits[len(waits) * 9 // 10] / 60, 1),
    }
