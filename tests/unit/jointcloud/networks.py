"""Small networks of centres for the tests: what a test does not name does not matter to it."""

from __future__ import annotations

from typing import Any

from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.engine.evaluate import Evaluation, evaluate
from apps.jointcloud.engine.types import (
    Centre,
    Job,
    Network,
    Offer,
    Plan,
    Settings,
    Snapshot,
    Spec,
    Task,
    Weights,
)

NOW = 1_000_000
SPEC = Spec("gpu1", (("gpu", 1), ("memory", 1024)), frozenset({"batch"}), 50, 300)
WAY = Network(1000, 10_000, 100, 0)


def centre(name: str, gpus: int = 8, price: int | None = 100, **more: Any) -> Centre:
    """A centre that offers `SPEC`, seen just now."""
    offer = Offer(
        SPEC.id,
        price,
        more.pop("performance", 1000),
        more.pop("static_w", None),
        more.pop("executing_w", None),
    )
    values: dict[str, Any] = {
        "free": (("gpu", gpus), ("memory", 1024 * gpus)),
        "offers": (offer,),
        "security_grade": 1,
        "network": WAY,
    }
    return Centre(name, more.pop("seen_at_s", NOW), **{**values, **more})


def task(name: str = "t", **more: Any) -> Task:
    """A task of `SPEC`."""
    return Task(name, more.pop("spec_id", SPEC.id), **more)


def job(*tasks: Task, name: str = "j", **more: Any) -> Job:
    """A batch job of these tasks."""
    return Job(name, tasks or (task(),), job_type=more.pop("job_type", "batch"), **more)


def alone(policy: str) -> Weights:
    """All the weight on one policy."""
    return ((policy, 1000),)


def snapshot(
    *centres: Centre, jobs: tuple[Job, ...] = (), weights: Weights | None = None, **more: Any
) -> Snapshot:
    """A network of these centres."""
    settings = Settings(weights=weights) if weights else Settings()
    values: dict[str, Any] = {"specs": (SPEC,), "settings": settings}
    return Snapshot(centres, jobs=jobs, **{**values, **more})


def judged(world: Snapshot, ask: Task | None = None, **more: Any) -> Evaluation:
    """All centres before one task."""
    ask = ask or task()
    return evaluate(world, job(ask, **more), ask, now=NOW)


def planned(world: Snapshot) -> Plan:
    """One cycle."""
    return plan(world, now=NOW, seed=1)


def where(world: Snapshot) -> dict[str, tuple[str, ...]]:
    """To which centres each task goes."""
    return {binding.task_id: binding.centre_ids for binding in planned(world).bindings}


def scores(world: Snapshot, policy: str, ask: Task | None = None, **more: Any) -> dict[str, int]:
    """The scores of the candidates under one policy."""
    told = judged(world, ask, weights=alone(policy), **more)
    return {each.centre_id: each.scores[0].score for each in told.centres if each.is_candidate}
