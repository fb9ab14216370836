"""Quotas of one model beside those of the whole: held of the model where work lands (ELA-308)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.scheduling.engine.cycle.explain import explain
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    Grant,
    Limit,
    Policy,
    Quota,
    ReasonCode,
    RunningWorkload,
    Snapshot,
)
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.unit.engine.pools import ask, device, holding, placed, pool, reasons, run

pytestmark = pytest.mark.req("ELA-308")
CARDS = tuple(device("n0", k, model="xy"[k // 4]) for k in range(8))
"""Four of x, then four of y."""


def bound(*by_model: tuple[str, Limit], most: Limit | None = None, **more: Any) -> Snapshot:
    """One node with the cards, and acme's bounds."""
    quota = Quota(nominal=most or Limit(), by_model=by_model)
    return replace(pool(), devices=CARDS, tenant_quotas=(("acme", quota),), **more)


def of(model: str) -> set[str]:
    return {card.id for card in CARDS if card.model == model}


def test_what_names_no_model_lands_where_there_is_quota_for_it() -> None:
    made = run(bound(("x", Limit(shares=1))), *(ask(n, 100) for n in range(1, 8)))
    assert placed(made) == [f"r{n}" for n in range(1, 6)], "one of x, four of y"
    held = [placement.grants[0].device_id for placement in made.placements]
    assert len(of("x") & set(held)) == 1
    told = explain(made, "r6")
    assert told is not None
    assert told.sentence == (
        "Tenant acme may use 1 of shares on devices of model x: 1 are in use, 1 more are asked."
    )
    assert not told.permanent


def test_another_tenant_and_another_model_are_not_bound_by_it() -> None:
    made = run(
        bound(("x", Limit(compute_percent=0))),
        ask(1, 100, model="x"),
        ask(2, 100, tenant_id="globex", model="x"),
    )
    assert placed(made) == ["r2"]
    assert reasons(made)["r1"].code is ReasonCode.MODEL_QUOTA
    assert placed(run(bound(("x", Limit(compute_percent=0))), ask(1, 100, model="y"))) == ["r1"]


@pytest.mark.parametrize(
    ("limit", "fits"), [(Limit(compute_percent=120), 2), (Limit(memory_mib=3_500), 3), (Limit(shares=1), 1)]
)
def test_each_item_is_bound_by_itself(limit: Limit, fits: int) -> None:
    made = run(bound(("x", limit)), *(ask(n, 50, 1_000, model="x") for n in range(5)))
    assert len(made.placements) == fits


def test_it_bounds_beside_the_quota_of_the_whole() -> None:
    made = run(
        bound(("x", Limit(shares=3)), most=Limit(shares=2)), *(ask(n, 100, model="x") for n in range(3))
    )
    assert len(made.placements) == 2
    assert reasons(made)["r2"].code is ReasonCode.TENANT_QUOTA


def test_a_gang_takes_a_model_that_has_quota_for_all_of_it() -> None:
    snapshot = bound(("x", Limit(shares=2)))
    (start,) = run(snapshot, ask(1, 100, shares=4)).placements
    assert {grant.device_id for grant in start.grants} == of("y")
    assert reasons(run(snapshot, ask(1, 100, shares=4, model="x")))["r1"].code is ReasonCode.MODEL_QUOTA


def test_elastic_work_starts_and_grows_within_it() -> None:
    snapshot = bound(("x", Limit(shares=2)), policy=Policy(hysteresis_s=0))
    (start,) = run(snapshot, ask(1, 100, shares=4, min_shares=1, model="x")).placements
    assert len(start.grants) == 2
    held = (Grant("n0/0", "n0", 100, 1_000),)
    asks = ask(0, 100, shares=4, min_shares=1, model="x", id="e")
    work = RunningWorkload("e", "acme", "q", held, shares=4, min_shares=1, asks=asks)
    (change,) = run(replace(snapshot, running=(work,)), now=99).resizes
    assert change.shares == 2


def test_what_runs_counts_and_what_has_ended_does_not() -> None:
    full = bound(("x", Limit(shares=1)), running=(holding("w", "n0/0", 100),))
    assert reasons(run(full, ask(1, 10, model="x")))["r1"].code is ReasonCode.MODEL_QUOTA
    warm = SchedulerState(replace(full, requests=(ask(1, 10, model="x"),)))
    warm.running_drop("w")
    assert placed(plan_kept(warm, 0, 1)) == ["r1"]
    warm.running_put(holding("w", "n0/0", 50))
    assert placed(plan_kept(warm, 0, 1)) == []
    warm.device_put(replace(CARDS[0], model="y"))
    assert placed(plan_kept(warm, 0, 1)) == ["r1"], "what it runs on is of another model now"


@pytest.mark.req("POOL-12.23")
@pytest.mark.parametrize(("most", "moves"), [(1, 0), (2, 1)])
def test_a_session_is_moved_out_of_the_way_only_to_where_its_tenant_has_quota(most: int, moves: int) -> None:
    """While it moves it is held on both devices; all cards are of one model."""
    session = holding("s", "n0/0", 20, movable=True, asks=ask(50, 20, id="s"))
    whole = holding("w", "n0/1", 60, tenant_id="globex", mib=1)
    quotas = (("acme", Quota(by_model=(("x", Limit(shares=most)),))),)
    cards = tuple(device("n0", k, model="x") for k in range(2))
    snapshot = replace(pool(), devices=cards, running=(session, whole), tenant_quotas=quotas)
    snapshot = replace(snapshot, policy=Policy(consolidate=True))
    made = run(snapshot, ask(1, 100, 0, exclusive=True, tenant_id="globex"))
    assert len(made.moves) == moves


def test_more_than_all_of_it_never_fits() -> None:
    made = run(bound(("x", Limit(shares=1))), ask(1, 10, shares=2, model="x"))
    assert made.refusals[0].permanent


def test_nobody_is_stopped_for_work_that_its_quota_of_the_model_keeps_waiting() -> None:
    victims = tuple(
        holding(f"v{k}", f"n0/{k}", 100, tenant_id="globex", preemptible=True, priority=-1) for k in range(8)
    )
    snapshot = bound(("x", Limit(shares=0)), running=victims, policy=Policy(preemption=True))
    assert run(snapshot, ask(1, 100, model="x")).preemptions == ()
    (stopped,) = run(snapshot, ask(1, 100)).preemptions
    assert stopped.running_id in {f"v{k}" for k in range(4, 8)}, "only where it may run"
