"""The cycle as a whole: all or nothing, one winner, each request judged once."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import apps.scheduling.engine
from apps.scheduling.engine.bench.speed import speed
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import (
    Limit,
    Placing,
    Queue,
    Quota,
    Reason,
    ReasonCode,
    Snapshot,
)
from apps.scheduling.engine.placement.fit import Fit, View
from apps.scheduling.engine.resources.shapes import Shape
from tests.unit.engine.pools import ask, holding, only, placed, pool, reasons, run

BENCHES = ("bench", "openb", "replay")


def test_nothing_to_do() -> None:
    assert run(Snapshot()) == Plan()


@pytest.mark.req("ELA-109")
@pytest.mark.parametrize("seed", range(5))
def test_of_many_requests_for_the_last_share_exactly_one_wins(seed: int) -> None:
    snapshot = replace(
        pool(3), running=tuple(holding(f"w{i}", f"n{i}/0", 100 - i // 2 * 30) for i in range(3))
    )
    made = run(snapshot, *(ask(i, 30, 9_000, tenant_id=f"t{i}") for i in range(20)), seed=seed)
    assert placed(made) == ["r0"]
    assert len(made.refusals) == 19
    assert {reason.code for reason in reasons(made).values()} == {ReasonCode.COMPUTE_PERCENT}


@pytest.mark.req("ELA-109", "ELA-310")
def test_of_many_requests_for_the_last_of_a_quota_exactly_one_wins() -> None:
    snapshot = replace(pool(9), tenant_quotas=(("acme", Quota(nominal=Limit(shares=1))),))
    made = run(snapshot, *(ask(i) for i in range(20)))
    assert placed(made) == ["r0"]
    assert {reason.code for reason in reasons(made).values()} == {ReasonCode.TENANT_QUOTA}


@pytest.mark.req("ELA-702", "ELA-404")
def test_eight_cards_with_seven_free_wait_and_hold_nothing() -> None:
    snapshot = replace(pool(1, 8), running=(holding("w", "n0/3", 1),))
    made = run(snapshot, ask(1, 100, shares=8, exclusive=True), *(ask(i, 100) for i in range(2, 9)))
    assert placed(made) == [f"r{i}" for i in range(2, 9)]
    assert reasons(made)["r1"].get("free") == 7


@pytest.mark.req("ELA-703")
def test_a_cycle_starts_all_that_fit() -> None:
    made = run(pool(2, 5), *(ask(i, 100) for i in range(10)))
    assert len(made.placements) == 10
    assert not made.refusals


def test_a_granted_share_says_what_was_asked() -> None:
    placement = only(run(pool(), ask(1, 37, 1_234)))
    (grant,) = placement.grants
    assert (placement.request_id, placement.tenant_id, placement.queue_id) == ("r1", "acme", "q")
    assert (grant.device_id, grant.node_id, grant.compute_percent, grant.memory_mib) == (
        "n0/0",
        "n0",
        37,
        1_234,
    )
    assert not grant.exclusive


def test_places_in_line_are_counted_by_queue() -> None:
    queues = (Queue("q"), Queue("other"))
    snapshot = replace(pool(), queues=queues, running=(holding("w", "n0/0", 100),))
    made = run(snapshot, ask(1), ask(2, queue_id="other"), ask(3), ask(4, queue_id="other"))
    assert {refusal.request_id: refusal.position for refusal in made.refusals} == {
        "r1": 1, "r2": 1, "r3": 2, "r4": 2,
    }  # fmt: skip


def test_the_order_of_rows_does_not_matter() -> None:
    snapshot = replace(pool(5, 3), running=(holding("a", "n0/0", 20), holding("b", "n3/1", 60)))
    turned = replace(
        snapshot, nodes=snapshot.nodes[::-1], devices=snapshot.devices[::-1], running=snapshot.running[::-1]
    )
    requests = [ask(i, 40, shares=1 + i % 3, placing=list(Placing)[i % 4]) for i in range(12)]
    assert run(snapshot, *requests) == run(turned, *requests[::-1])


def test_requests_of_one_shape_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    why = Fit.why

    def counted(fit: Fit, shape: Shape, view: View) -> Reason:
        asked.append(shape)
        return why(fit, shape, view)

    monkeypatch.setattr(Fit, "why", counted)
    made = run(pool(), *(ask(i, 100) for i in range(50)), *(ask(i, 90) for i in range(50, 99)))
    assert len(made.refusals) == 98
    assert len(asked) == 2


@pytest.mark.parametrize("twin", ["request", "queue"])
def test_a_contradictory_snapshot_is_refused(twin: str) -> None:
    snapshot = replace(pool(), queues=(Queue("q"),) * (2 if twin == "queue" else 1))
    with pytest.raises(ValueError, match=f"two of the {twin}"):
        run(snapshot, ask(1), *([ask(1)] if twin == "request" else []))


def test_the_engine_reads_no_clock_draws_no_seed_and_imports_nothing_outside() -> None:
    modules = ["__future__", "bisect", "collections", "contextlib", "dataclasses", "enum", "functools", "gc"]
    allowed = {*modules, "heapq", "itertools", "numpy", "operator", "typing", "apps"}
    # The benches read clocks and files, and draw; they are no part of a cycle.
    for path in Path(apps.scheduling.engine.__path__[0]).glob("*.py"):
        if path.name.startswith(BENCHES):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert {name.split(".")[0] for name in names} <= allowed, path.name
            assert all(not n.startswith("apps.") or n.startswith("apps.scheduling.engine.") for n in names)


def test_the_bench_runs_every_policy() -> None:
    rows = speed(nodes=10, cards=2, count=200)
    assert [row["policy"] for row in rows] == [placing.value for placing in Placing]
    assert all(int(row["placed"]) > 0 for row in rows)
