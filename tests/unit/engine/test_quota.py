"""Bounds of queues and tenants, the tree, and guarantees kept back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.scheduling.engine.model.types import (
    Amount,
    Device,
    Limit,
    Param,
    Policy,
    Queue,
    Quota,
    Reason,
    ReasonCode,
    Snapshot,
)
from apps.scheduling.engine.queueing.quota import QuotaTree
from tests.unit.engine.pools import ask, device, holding, placed, pool, reasons, run


def bounded(**limits: int) -> Quota:
    """A quota of this nominal bound alone."""
    return Quota(nominal=Limit(**limits))


@pytest.mark.req("ELA-603", "ELA-409", "ELA-308")
@pytest.mark.parametrize(
    ("limits", "dimension", "limit", "used", "asked"),
    [
        ({"compute_percent": 60}, "compute_percent", 60, 30, 40),
        ({"memory_mib": 1_500}, "memory_mib", 1_500, 1_000, 600),
        ({"shares": 1}, "shares", 1, 1, 1),
        ({"shares": 0}, "shares", 0, 1, 1),
    ],
)
@pytest.mark.parametrize("kind", ["queue", "tenant"])
def test_a_quota_stops_what_would_pass_it(
    kind: str, limits: dict[str, int], dimension: str, limit: int, used: int, asked: int
) -> None:
    snapshot = replace(pool(4), running=(holding("w", "n0/0", 30, 1_000),))
    if kind == "queue":
        snapshot = replace(snapshot, queues=(Queue("q", quota=bounded(**limits)),))
    else:
        snapshot = replace(snapshot, tenant_quotas=(("acme", bounded(**limits)),))
    (refusal,) = run(snapshot, ask(1, 40, 600)).refusals
    code, holder = (ReasonCode.QUEUE_QUOTA, "q") if kind == "queue" else (ReasonCode.TENANT_QUOTA, "acme")
    figures: dict[str, Param] = {
        "holder": holder,
        "dimension": dimension,
        "limit": limit,
        "used": used,
        "kept": 0,
        "asked": asked,
    }
    assert refusal.reason == Reason(code, tuple(figures.items()))


@pytest.mark.req("ELA-603")
def test_a_quota_is_used_up_to_its_last_unit() -> None:
    snapshot = replace(pool(4), tenant_quotas=(("acme", bounded(compute_percent=100, memory_mib=2_000)),))
    assert placed(run(snapshot, ask(1), ask(2), ask(3, 1, 0))) == ["r1", "r2"]


@pytest.mark.req("ELA-507")
@pytest.mark.parametrize(("limit", "permanent"), [(79, True), (80, False)])
def test_more_than_the_bound_itself_is_refused_for_good(limit: int, permanent: bool) -> None:
    used = (holding("w", "n0/0", 10),)
    snapshot = replace(pool(4), running=used, tenant_quotas=(("acme", bounded(compute_percent=limit)),))
    (refusal,) = run(snapshot, ask(1, 80)).refusals
    assert refusal.permanent is permanent


def test_a_tenant_at_its_quota_does_not_hold_others_up() -> None:
    snapshot = replace(
        pool(4), running=(holding("w", "n0/0", 50),), policy=Policy(backfill=False),
        tenant_quotas=(("acme", bounded(compute_percent=60)),),
    )  # fmt: skip
    made = run(snapshot, ask(1, 20), ask(2, 20, tenant_id="globex"))
    assert placed(made) == ["r2"]
    assert reasons(made)["r1"].code is ReasonCode.TENANT_QUOTA


@pytest.mark.req("ELA-612")
def test_children_together_stay_within_their_parent() -> None:
    queues = (
        Queue("top", quota=bounded(compute_percent=100)),
        Queue("q", parent_id="top", quota=bounded(compute_percent=80)),
        Queue("r", parent_id="top", quota=bounded(compute_percent=80)),
    )
    made = run(
        replace(pool(4), queues=queues), ask(1, 80), ask(2, 30, queue_id="r"), ask(3, 20, queue_id="r")
    )
    assert placed(made) == ["r1", "r3"]
    assert reasons(made)["r2"].get("holder") == "top"


def test_borrowing_lifts_the_bound() -> None:
    quota = Quota(nominal=Limit(compute_percent=50), borrow=Amount(compute_percent=30))
    made = run(replace(pool(4), queues=(Queue("q", quota=quota),)), ask(1, 80, 0), ask(2, 1, 0))
    assert placed(made) == ["r1"]


def guarded(**lend: int) -> Snapshot:
    """Queue "vip" is guaranteed 100 of the pool's 200 percent; the rest of the tree has no bound."""
    quota = Quota(guaranteed=Amount(compute_percent=100), lend=Limit(**lend))
    return replace(pool(2), queues=(Queue("q"), Queue("vip", quota=quota)))


@pytest.mark.req("ELA-312", "ELA-604")
def test_an_idle_guarantee_is_kept_and_its_holder_gets_it() -> None:
    made = run(guarded(compute_percent=0), ask(1, 60), ask(2, 60))
    assert placed(made) == ["r1"]
    assert reasons(made)["r2"].get("kept") == 100
    made = run(guarded(compute_percent=0), ask(1, 60), ask(2, 60), ask(3, 100, queue_id="vip"))
    assert placed(made) == ["r3", "r1"], "below its guarantee a queue comes first"


def test_a_used_guarantee_is_not_kept_twice() -> None:
    made = run(guarded(compute_percent=0), ask(1, 100, queue_id="vip"), ask(2, 100))
    assert placed(made) == ["r1", "r2"]


@pytest.mark.parametrize(("lend", "expected"), [({}, ["r1", "r2"]), ({"compute_percent": 20}, ["r1", "r2"]),
                                                ({"compute_percent": 19}, ["r1"])])  # fmt: skip
def test_the_lent_part_of_a_guarantee_may_be_used(lend: dict[str, int], expected: list[str]) -> None:
    assert placed(run(guarded(**lend), ask(1, 60), ask(2, 60))) == expected


@pytest.mark.req("ELA-605")
@pytest.mark.parametrize("parents", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "b"}])
def test_a_cycle_of_queues_is_refused(parents: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="another parent"):
        QuotaTree(ReasonCode.QUEUE_QUOTA, {key: Quota() for key in parents}, parents=parents)


@pytest.mark.req("ELA-309", "ELA-405")
def test_use_comes_back_in_full() -> None:
    tree = QuotaTree(ReasonCode.QUEUE_QUOTA, {"a": bounded(shares=1), "b": Quota()}, parents={"a": "b"})
    for _ in range(1_000):
        assert tree.shortage("a", (10, 20, 1)) is None
        tree.add("a", (10, 20, 1))
        assert tree.used("b") == (10, 20, 1)
        tree.add("a", (10, 20, 1), -1)
    assert tree.used("a") == tree.used("b") == (0, 0, 0)


def cards(*sizes_mib: int) -> dict[str, Any]:
    """One node with devices of these sizes."""
    return {"devices": tuple(Device(f"n0/{i}", "n0", mib) for i, mib in enumerate(sizes_mib))}


@pytest.mark.parametrize(("limit_mib", "got"), [(300, ["n0/0"]), (299, ["n0/1"]), (100, ["n0/1"]), (99, [])])
def test_whole_cards_count_with_all_their_memory(limit_mib: int, got: list[str]) -> None:
    snapshot = replace(pool(), **cards(300, 100), tenant_quotas=(("acme", bounded(memory_mib=limit_mib)),))
    made = run(snapshot, ask(1, 100, 50, exclusive=True))
    assert [grant.device_id for placement in made.placements for grant in placement.grants] == got
    assert all(refusal.permanent for refusal in made.refusals)


def test_a_whole_card_beyond_the_quota_leaves_the_pool_as_it_was() -> None:
    quotas = (("acme", bounded(memory_mib=99)),)
    made = run(
        replace(pool(), **cards(300, 100), tenant_quotas=quotas),
        ask(1, 100, 50, exclusive=True), ask(2, 100, 0, shares=2, exclusive=True, tenant_id="globex"),
    )  # fmt: skip
    assert placed(made) == ["r2"]


def test_devices_out_of_service_are_no_capacity_to_guarantee() -> None:
    sick = (device("n0", 0), device("n1", 0, healthy=False))
    made = run(replace(guarded(compute_percent=0), devices=sick), ask(1, 10), ask(2, 100, queue_id="vip"))
    assert placed(made) == ["r2"]


def test_a_quota_that_only_a_broken_card_would_meet_waits_for_its_repair() -> None:
    small = Device("n0/0", "n0", 100, healthy=False)
    snapshot = replace(
        pool(), devices=(small, Device("n0/1", "n0", 300)), policy=Policy(backfill=False),
        queues=(Queue("q", quota=bounded(memory_mib=150)),),
    )  # fmt: skip
    made = run(snapshot, ask(1, 100, 50, exclusive=True), ask(2, 10, 50))
    assert placed(made) == ["r2"]
    assert not made.refusals[0].permanent
