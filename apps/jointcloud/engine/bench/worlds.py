"""Made-up networks of centres for the measurements: the seed decides them whole."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from apps.jointcloud.engine.types import (
    Centre,
    Data,
    Image,
    Job,
    Network,
    Offer,
    Settings,
    Snapshot,
    Spec,
    Task,
)

NOW = 1_000_000
SPECS = tuple(
    Spec(
        f"s{i:02}",
        (("cpu", 4 * gpus), ("gpu", gpus), ("memory", 16_384 * gpus)),
        frozenset({"batch"}),
        30 * gpus,
        300 * gpus,
    )
    for i, gpus in enumerate((1, 1, 2, 2, 4, 4, 8, 8, 1, 2))
)


def centre(rng: Random, i: int, gpus: int) -> Centre:
    """A centre of so many free GPUs, with its own prices, powers, speeds and way."""
    dear, fast, hot = rng.randint(70, 150), rng.randint(60, 140), rng.randint(80, 130)
    offers = tuple(
        Offer(
            spec.id,
            dict(spec.amounts)["gpu"] * 1000 * dear // 100 + rng.randint(0, 90),
            fast * 10 + rng.randint(0, 9),
            dict(spec.amounts)["gpu"] * 30 * hot // 100,
            dict(spec.amounts)["gpu"] * 300 * hot // 100,
        )
        for spec in SPECS
    )
    way = Network(
        rng.choice((1000, 10_000, 25_000)), rng.randint(500, 40_000), rng.randint(0, 900), rng.randint(0, 900)
    )
    free = (("cpu", gpus * 6), ("gpu", gpus), ("memory", gpus * 20_000))
    return Centre(
        f"c{i:03}",
        NOW,
        free,
        offers,
        takes_images=True,
        running_tasks=rng.randint(0, 300),
        waiting_tasks=rng.randint(0, 20),
        security_grade=rng.randint(1, 4),
        network=way,
        expected_wait_s=rng.randint(0, 600),
    )


def sets(rng: Random, count: int, names: list[str]) -> tuple[Data, ...]:
    """Data of 1 GB to 150 GB, each in two to four centres."""
    return tuple(
        Data(
            f"d{i:02}",
            rng.randint(1, 150) * 10**9,
            frozenset(rng.sample(names, min(len(names), rng.randint(2, 4)))),
        )
        for i in range(count)
    )


def network(seed: int, *, centres: int, tasks: int, gpus: int) -> Snapshot:
    """Centres of so many free GPUs and so many waiting tasks of 48 kinds: one to 32 equal ones a job, a tenth of the
    jobs gangs, a third of the kinds with data, a tenth with a deadline, of 10 specifications, 20 images and 30
    sets of data."""
    rng = Random(seed)
    rows = tuple(centre(rng, i, gpus) for i in range(centres))
    names = [row.id for row in rows]
    images = tuple(Image(f"i{i:02}", frozenset(rng.sample(names, max(1, centres // 3)))) for i in range(20))
    data = sets(rng, 30, names)
    kinds = [_task(rng, "") for _ in range(48)]
    jobs: list[Job] = []
    made = 0
    while made < tasks:
        size = min(tasks - made, rng.choice((1, 1, 2, 4, 8, 32)))
        number, kind = len(jobs), rng.choice(kinds)
        jobs.append(
            Job(
                f"j{number:05}",
                tuple(replace(kind, id=f"t{made + i:05}") for i in range(size)),
                priority=rng.randint(0, 3),
                submitted_at_s=NOW - rng.randint(0, 7200),
                submitted_seq=number,
                is_gang=rng.random() < 0.1,
                is_distributed=rng.random() < 0.3,
                job_type="batch",
            )
        )
        made += size
    places = [(rng.random(), rng.random()) for _ in names]
    distances = tuple(
        (
            one,
            two,
            round(1000 * ((places[i][0] - places[k][0]) ** 2 + (places[i][1] - places[k][1]) ** 2) ** 0.5),
        )
        for i, one in enumerate(names)
        for k, two in enumerate(names[:i])
    )
    return Snapshot(rows, SPECS, images, data, tuple(jobs), distances, Settings(move_bytes=150 * 10**9))


def _task(rng: Random, name: str) -> Task:
    return Task(
        name,
        rng.choice(SPECS).id,
        f"i{rng.randint(0, 19):02}",
        (f"d{rng.randint(0, 29):02}",) if rng.random() < 1 / 3 else (),
        duration_s=rng.choice((1800, 3600, 7200, 14_400)),
        deadline_s=NOW + 20_000 if rng.random() < 0.1 else None,
    )
