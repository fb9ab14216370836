"""The least cost of a cycle's choice, by the solver HiGHS: the same tasks, the same room, whole assignments."""

from __future__ import annotations

from importlib import import_module

from apps.jointcloud.engine.bench.week import Week, engine, price_of, run
from apps.jointcloud.engine.types import Snapshot, Task


class Compared:
    """What the engine's choices cost by snapshot, and what the cheapest of the same tasks would."""

    def __init__(self, hours: bool) -> None:
        self._hours = hours
        self.ours = self.least = 0
        self.snapshots = self.solved = 0

    def watch(self, snapshot: Snapshot, chosen: list[tuple[str, str]]) -> None:
        """Add one snapshot, in minor currency per hour; with hours times seconds."""
        tasks = {job.tasks[0].id: job.tasks[0] for job in snapshot.jobs}
        rows = [(tasks[name], place) for name, place in chosen]
        ours = sum(_cost(snapshot, task, place, self._hours) for task, place in rows)
        alone = sum(
            min(_cost(snapshot, task, each.id, self._hours) for each in snapshot.centres) for task, _ in rows
        )
        self.snapshots += 1
        self.ours += ours
        # Where each task has the cheapest centre of all nothing can be cheaper.
        if ours == alone:
            self.least += alone
            return
        self.solved += 1
        self.least += least_cost(snapshot, [task for task, _ in rows], self._hours)


def _cost(snapshot: Snapshot, task: Task, place: str, hours: bool) -> int:
    return price_of(snapshot.centres, place, task.spec_id) * ((task.duration_s or 0) if hours else 1)


def least_cost(snapshot: Snapshot, tasks: list[Task], hours: bool) -> int:
    """The least sum of prices, or with hours of what they come to, at which all these tasks have a centre with room."""
    # A package of the development environment alone.
    solver = import_module("highspy").Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 0.0)
    amounts = {spec.id: dict(spec.amounts) for spec in snapshot.specs}
    goes = [[solver.addBinary() for _ in snapshot.centres] for _ in tasks]
    for row in goes:
        solver.addConstr(sum(row) == 1)
    for c, centre in enumerate(snapshot.centres):
        for name, free in centre.free:
            solver.addConstr(
                sum(goes[t][c] * amounts[task.spec_id].get(name, 0) for t, task in enumerate(tasks)) <= free
            )
    cost = [[_cost(snapshot, task, centre.id, hours) for centre in snapshot.centres] for task in tasks]
    solver.minimize(
        sum(goes[t][c] * cost[t][c] for t in range(len(tasks)) for c in range(len(snapshot.centres)))
    )
    values = [[solver.val(each) for each in row] for row in goes]
    return sum(cost[t][c] for t, row in enumerate(values) for c, value in enumerate(row) if value > 0.5)


def by_price(given: Week, hours: bool = False) -> dict[str, int | float]:
    """The week by price alone, and over all its snapshots how many times the least sum of prices it took.

    `hours`: the solver knows how long each task runs too, which no price tells the engine.
    """
    compared = Compared(hours)
    outcome = run(given, engine, (("price", 1000),), compared.watch)
    return {
        "jobs": outcome.jobs,
        "cost": round(outcome.cost_minor),
        "snapshots": compared.snapshots,
        "solved": compared.solved,
        "times_least": round(compared.ours / compared.least, 4),
    }
