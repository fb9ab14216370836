"""Who comes first among tenants and queues: fair share with memory, dominant share, weights, urgent work."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import (
    Amount,
    Limit,
    Ordering,
    Policy,
    Queue,
    Quota,
    Request,
    Snapshot,
)
from apps.scheduling.engine.queueing.tenant_shares import targets
from tests.unit.engine.pools import ask, device, holding, placed, pool, run

TENANTS = ("acme", "globex", "initech")


def backlog(count: int, *tenants: str, percent: int = 100) -> list[Request]:
    """So many equal requests of each tenant, all of the first before all of the second."""
    names = [name for name in tenants for _ in range(count)]
    return [ask(i, percent, tenant_id=name) for i, name in enumerate(names)]


def fair(cards: int, ordering: Ordering = Ordering.FAIR_SHARE, **more: object) -> Snapshot:
    return replace(pool(cards), policy=Policy(ordering=ordering), **more)  # type: ignore[arg-type]


def by_tenant(made: Plan) -> dict[str, int]:
    return dict(Counter(each.tenant_id for each in made.placements))


@pytest.mark.req("ELA-602", "ELA-1003", "ELA-1001")
@pytest.mark.parametrize("ordering", [Ordering.FAIR_SHARE, Ordering.DOMINANT_SHARE])
def test_tenants_share_by_weight_whoever_came_first(ordering: Ordering) -> None:
    asked = backlog(12, *TENANTS)
    assert by_tenant(run(fair(12, ordering), *asked)) == dict.fromkeys(TENANTS, 4)
    weights = (("acme", 1), ("globex", 2), ("initech", 3))
    made = run(fair(12, ordering, tenant_weights=weights), *asked)
    assert by_tenant(made) == {"acme": 2, "globex": 4, "initech": 6}
    first_come = run(replace(pool(12), policy=Policy()), *asked)
    assert by_tenant(first_come) == {"acme": 12}


@pytest.mark.req("ELA-1008")
def test_past_use_is_made_up_for() -> None:
    policy = Policy(ordering=Ordering.FAIR_SHARE, ahead_s=600)
    snapshot = replace(pool(12), policy=policy, past_use=(("acme", 2_400),))
    assert by_tenant(run(snapshot, *backlog(12, "acme", "globex"))) == {"acme": 4, "globex": 8}


@pytest.mark.req("ELA-1004", "ELA-1005")
def test_an_idle_share_is_lent_and_no_weight_gets_what_is_left() -> None:
    assert by_tenant(run(fair(12), *backlog(20, "acme"))) == {"acme": 12}
    weights = (("acme", 0),)
    made = run(fair(12, tenant_weights=weights), *backlog(8, "acme", "globex"))
    assert by_tenant(made) == {"acme": 4, "globex": 8}


@pytest.mark.req("ELA-1007", "ELA-508")
def test_inside_a_tenant_priority_goes_before_time() -> None:
    asked = [ask(1, 100), ask(2, 100, priority=5), ask(3, 100, priority=5)]
    assert placed(run(fair(2), *asked)) == ["r2", "r3"]


@pytest.mark.req("ELA-1006")
def test_quotas_hold_under_fair_share() -> None:
    quotas = (("globex", Quota(nominal=Limit(shares=2))),)
    made = run(fair(12, tenant_quotas=quotas), *backlog(12, "acme", "globex"))
    assert by_tenant(made) == {"acme": 10, "globex": 2}
    queue = Queue("q", quota=Quota(nominal=Limit(shares=5)))
    assert len(run(fair(12, queues=(queue,)), *backlog(12, "acme", "globex")).placements) == 5


@pytest.mark.req("ELA-1008")
def test_the_dominant_share_regards_memory_and_scarce_models() -> None:
    """One tenant asks for memory, the other for compute: each gets as much of what it mostly needs."""
    asked = [ask(i, 10, 4_000) for i in range(20)] + [
        ask(20 + i, 40, 100, tenant_id="globex") for i in range(20)
    ]
    made = run(fair(4, Ordering.DOMINANT_SHARE), *asked)
    counts = by_tenant(made)
    assert abs(counts["acme"] * 4_000 / 40_000 - counts["globex"] * 40 / 400) <= 0.1
    rare = tuple(device(f"n{i}", 0, model="rare" if i < 2 else "usual") for i in range(8))
    snapshot = fair(8, Ordering.DOMINANT_SHARE, devices=rare, running=(holding("w", "n0/0", 100),))
    asked = [ask(1, 100, model="usual"), ask(2, 100, model="usual", tenant_id="globex")]
    assert placed(run(snapshot, *asked))[0] == "r2", "one of two rare cards is half of them"


@pytest.mark.req("ELA-1003")
def test_places_in_line_take_turns() -> None:
    snapshot = fair(1, running=(holding("w", "n0/0", 100, tenant_id="initech"),))
    made = run(snapshot, *backlog(3, "acme", "globex"))
    assert [refusal.request_id for refusal in made.refusals] == ["r0", "r3", "r1", "r4", "r2", "r5"]
    assert [refusal.position for refusal in made.refusals] == [1, 2, 3, 4, 5, 6]


@pytest.mark.req("ELA-1002", "ELA-1001")
@pytest.mark.parametrize(
    ("capacity", "weights", "expected"),
    [
        (64, {"a": 1, "b": 1, "c": 1}, {"a": 22, "b": 21, "c": 21}),
        (10, {"a": 0, "b": 3}, {"a": 0, "b": 10}),
        (5, {"a": 0}, {"a": 0}),
    ],
)
def test_targets_lose_nothing_to_rounding(
    capacity: int, weights: dict[str, int], expected: dict[str, int]
) -> None:
    assert targets(capacity, weights) == expected


def two(**first: object) -> Snapshot:
    return replace(pool(16), queues=(Queue("q", **first), Queue("p")))  # type: ignore[arg-type]


def by_queue(made: Plan) -> dict[str, int]:
    return dict(Counter(each.queue_id for each in made.placements))


@pytest.mark.req("ELA-606")
@pytest.mark.parametrize(("weight", "expected"), [(1, 8), (3, 12), (7, 14)])
def test_weights_divide_what_is_free(weight: int, expected: int) -> None:
    asked = [ask(i, 100, queue_id="p") for i in range(16)] + [ask(16 + i, 100) for i in range(16)]
    assert by_queue(run(two(weight=weight), *asked))["q"] == expected


@pytest.mark.req("ELA-606", "ELA-612")
def test_weights_divide_at_each_level_of_the_tree() -> None:
    queues = (Queue("a"), Queue("b"), Queue("a1", parent_id="a", weight=3), Queue("a2", parent_id="a"))
    asked = [ask(i, 100, queue_id=("b", "a1", "a2")[i % 3]) for i in range(48)]
    assert by_queue(run(replace(pool(16), queues=queues), *asked)) == {"b": 8, "a1": 6, "a2": 2}


@pytest.mark.req("ELA-604")
def test_a_queue_below_its_guarantee_comes_before_weights() -> None:
    snapshot = two(quota=Quota(guaranteed=Amount(compute_percent=1_200)))
    asked = [ask(i, 100, queue_id="p") for i in range(16)] + [ask(16 + i, 100) for i in range(16)]
    assert by_queue(run(snapshot, *asked))["q"] >= 12


@pytest.mark.req("ELA-611")
def test_the_sample_set_of_three_queues() -> None:
    """64 cards; high-priority (32, guaranteed 16), normal (48, 8), low-priority (64, 0), endless demand of all."""
    rows = (("high-priority", 32, 16, 100), ("normal", 48, 8, 50), ("low-priority", 64, 0, 10))
    queues = tuple(
        Queue(name, priority=priority, quota=Quota(Limit(shares=most), guaranteed=Amount(shares=kept)))
        for name, most, kept, priority in rows
    )
    asked = [ask(i, 100, queue_id=rows[i % 3][0]) for i in range(300)]
    made = run(replace(pool(8, 8), queues=queues), *asked)
    assert by_queue(made) == {"high-priority": 32, "normal": 32}
    only_low = run(
        replace(pool(8, 8), queues=queues), *(each for each in asked if each.queue_id == "low-priority")
    )
    assert by_queue(only_low) == {"low-priority": 64}


def test_urgent_work_goes_first_whatever_the_queue() -> None:
    snapshot = replace(pool(1), queues=(Queue("q"), Queue("top", priority=100)))
    made = run(snapshot, ask(1, 100, queue_id="top", priority=9), ask(2, 100, urgent=True))
    assert placed(made) == ["r2"]
