"""The policies of `bench openb` by name: the engine's own placings, and the published ones in our form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import perf_counter

from apps.scheduling.engine.bench.openb import (
    Contender,
    Host,
    Task,
    Weir,
    arrivals,
    capacity_milli,
    run,
    shuffled,
)
from apps.scheduling.engine.bench.openb_baselines import (
    BestFit,
    DotProduct,
    Fgd,
    GpuClustering,
    GpuPacking,
    RandomNode,
)
from apps.scheduling.engine.model.types import Placing

OURS = "fragmentation"
ALIASES = {"dotprod": "dotproduct", "clustering": "gpuclustering", "packing": "gpupacking", "weir": OURS}
PUBLISHED: dict[str, Callable[[Sequence[Host], Sequence[Task], int], Contender]] = {
    "random": lambda hosts, tasks, seed: RandomNode(hosts, seed),
    "dotproduct": lambda hosts, tasks, seed: DotProduct(hosts),
    "gpuclustering": lambda hosts, tasks, seed: GpuClustering(hosts),
    "gpupacking": lambda hosts, tasks, seed: GpuPacking(hosts),
    "bestfit": lambda hosts, tasks, seed: BestFit(hosts),
    "fgd": lambda hosts, tasks, seed: Fgd(hosts, tasks),
}
ENGINE = {OURS: Placing.FRAGMENTATION} | {
    "weir" + placing.value.replace("_", ""): placing
    for placing in Placing
    if placing not in (Placing.LOCAL, Placing.LOCAL_FIRST, Placing.FRAGMENTATION)
}
"""The platform's best fit is `weirbestfit`, since the study has one of its own."""


def known_policy(name: str) -> str:
    """The policy that is meant; case, blanks and dashes do not matter. Raises ValueError where there is none."""
    plain = "".join(filter(str.isalpha, name.lower()))
    plain = ALIASES.get(plain, plain)
    if plain not in PUBLISHED and plain not in ENGINE:
        raise ValueError(f"There is no policy {name!r}: take one of {', '.join([*ENGINE, *PUBLISHED])}.")
    return plain


def study(
    hosts: Sequence[Host], tasks: Sequence[Task], *, seed: int, arrived: float, policy: str
) -> dict[str, str | float | dict[str, float]]:
    """One run of the study: the policy, percent allocated by percent arrived, and the seconds it took."""
    name = known_policy(policy)
    rng = Random(seed)
    capacity = capacity_milli(hosts)
    queue = arrivals(tasks, int(arrived * capacity), rng)
    order = shuffled(hosts, rng)
    started = perf_counter()
    contender = Weir(order, ENGINE[name], seed) if name in ENGINE else PUBLISHED[name](order, tasks, seed)
    at = run(contender, queue, capacity, arrived)
    return {"policy": name, "allocated_percent_at": at, "seconds": round(perf_counter() - started, 3)}
