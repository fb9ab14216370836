"""What the tutorial's sample code got wrong and no other test here names: sums over unlike things, replicas taken for
cards, limits never read, pools never looked at."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.scheduling.engine.model.types import (
    Grant,
    Limit,
    Policy,
    Quota,
    ReasonCode,
    RunningWorkload,
    Snapshot,
)
from tests.unit.engine.pools import ask, device, placed, pool, reasons, run


@pytest.mark.req("ELA-308")
def test_a_quota_of_compute_is_untouched_by_memory_and_the_other_way_round() -> None:
    quotas = (("acme", Quota(nominal=Limit(compute_percent=100, memory_mib=10_000))),)
    snapshot = pool(1, 4, tenant_quotas=quotas)
    made = run(snapshot, ask(1, 1, 9_000), ask(2, 99, 1_000), ask(3, 1, 1))
    assert placed(made) == ["r1", "r2"], "together exactly 100 percent and 10,000 MiB"
    assert reasons(made)["r3"].code is ReasonCode.TENANT_QUOTA


def elastic(percent: int, held: int, least: int, most: int) -> RunningWorkload:
    """Elastic work with a card of n0 for each of the shares it has now."""
    grants = tuple(Grant(f"n0/{k}", "n0", percent, 1_000) for k in range(held))
    asks = ask(0, percent, shares=most, min_shares=least, distinct_devices=True, id="e")
    return RunningWorkload("e", "acme", "q", grants, shares=most, min_shares=least, asks=asks)


@pytest.mark.req("ELA-505")
@pytest.mark.parametrize(("percent", "fits"), [(100, 3), (50, 6), (25, 12)])
def test_replicas_are_counted_and_what_each_needs_is_another_number(percent: int, fits: int) -> None:
    """The bound is three cards: how many replicas that is depends on what a replica takes."""
    bound = (("acme", Quota(nominal=Limit(compute_percent=300))),)
    made = run(
        pool(1, 12, tenant_quotas=bound), ask(1, percent, shares=12, min_shares=2, distinct_devices=True)
    )
    (start,) = made.placements
    assert len(start.grants) == fits
    assert sum(grant.compute_percent for grant in start.grants) == fits * percent
    assert not run(
        pool(1, 12, tenant_quotas=bound), ask(1, percent, shares=12, min_shares=fits + 1)
    ).placements


@pytest.mark.req("ELA-505", "ELA-501")
@pytest.mark.parametrize(("replicas", "cards"), [(2, 8), (8, 2), (1, 16), (16, 1)])
def test_what_is_used_is_replicas_times_cards_of_each(replicas: int, cards: int) -> None:
    """The sample set the replicas to the number of cards: 2 replicas of 8 cards are 16, on a node each."""
    request = ask(
        1, 100, 0, shares=replicas * cards, shares_per_replica=cards, min_shares=cards, exclusive=True
    )
    (start,) = run(pool(2, 16), request).placements
    assert len(start.grants) == 16
    parts = [start.grants[i : i + cards] for i in range(0, 16, cards)]
    assert len(parts) == replicas
    assert all(len({grant.node_id for grant in part}) == 1 for part in parts)
    bound = (("acme", Quota(nominal=Limit(shares=15))),)
    (less,) = run(pool(2, 16, tenant_quotas=bound), request).placements or (None,)
    most = {8: 8, 2: 14, 16: None, 1: 15}[cards]
    assert (less and len(less.grants)) == most, "the bound counts cards, and a replica is had whole or not"


@pytest.mark.req("ELA-506")
def test_scaling_stops_at_the_limit_of_the_job_though_more_is_free() -> None:
    snapshot: Snapshot = replace(pool(1, 12), running=(elastic(100, 2, 2, 5),), policy=Policy(hysteresis_s=0))
    (change,) = run(snapshot, now=10_000).resizes
    assert (change.shares, len(change.grants)) == (5, 3)
    full = replace(snapshot, running=(elastic(100, 5, 2, 5),))
    assert run(full, now=10_000).resizes == ()


@pytest.mark.req("ELA-402", "ELA-401")
def test_a_pool_that_there_is_not_gives_nothing() -> None:
    cards = (device("n0", 0, resource_group="lab"), device("n0", 1))
    made = run(replace(pool(), devices=cards), ask(1, resource_group="nowhere"), ask(2, queue_id="nowhere"))
    assert not made.placements
    assert {refusal.request_id for refusal in made.refusals} == {"r1", "r2"}
