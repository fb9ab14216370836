"""Who may lie beside whom: NO, EXCLUSIVE, YES and FORCE of the queues, as terms of the work (decision 9)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.scheduling.engine.cycle.explain import TEXTS
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    Alone,
    HoldKind,
    Ordering,
    Placing,
    Policy,
    ReasonCode,
    RunningWorkload,
    Snapshot,
)
from apps.scheduling.engine.state.scheduler_state import SchedulerState
from tests.unit.engine.pools import ask, holding, on_nodes, placed, pool, reasons, run

NOW = 1_000
PREEMPTS = Policy(preemption=True, ordering=Ordering.PRIORITY, patience_s=None)


def on(device_id: str, percent: int = 20, **terms: object) -> Snapshot:
    """One device per node, two nodes of two; work with these terms is on one of them."""
    work = holding("w", device_id, percent)
    grants = tuple(grant._replace(**terms) for grant in work.grants)
    return replace(pool(2, 2), running=(replace(work, grants=grants),))


def told(made: Plan, request_id: str) -> str:
    reason = reasons(made)[request_id]
    return TEXTS[reason.code] % dict(reason.params)


@pytest.mark.req("PLAT-CLU-54")
def test_two_jobs_that_are_alone_run_one_after_the_other() -> None:
    made = run(pool(), ask(1, 10, alone=Alone.DEVICE), ask(2, 10, alone=Alone.DEVICE))
    assert placed(made) == ["r1"]
    assert reasons(made)["r2"].code is ReasonCode.ALONE_DEVICE
    assert told(made, "r2").endswith("on each of the 1 suitable ones other work runs.")


@pytest.mark.req("PLAT-CLU-54")
@pytest.mark.parametrize("placing", list(Placing))
def test_nothing_joins_work_that_is_alone_and_it_joins_nothing(placing: Placing) -> None:
    taken = replace(pool(), running=on("n0/0", alone=Alone.DEVICE).running)
    made = run(taken, ask(1, 10, placing=placing), now=NOW)
    assert reasons(made)["r1"].code is ReasonCode.SHARED_OUT
    shared = replace(pool(1, 2), running=(holding("w", "n0/0", 20),))
    made = run(shared, *(ask(seq, 10, placing=placing, alone=Alone.DEVICE) for seq in (1, 2)), now=NOW)
    assert [grant.device_id for each in made.placements for grant in each.grants] == ["n0/1"]


@pytest.mark.req("PLAT-CLU-54")
def test_shares_of_one_job_lie_on_one_device_all_the_same() -> None:
    made = run(pool(), ask(1, 30, shares=3, alone=Alone.DEVICE))
    assert [grant.device_id for grant in made.placements[0].grants] == ["n0/0"] * 3


@pytest.mark.req("PLAT-CLU-58")
def test_exclusive_work_has_its_node_alone_and_no_more_of_it_than_it_asked() -> None:
    made = run(pool(1, 4), ask(1, 10, 500, alone=Alone.NODE), ask(2, 10))
    assert placed(made) == ["r1"]
    (grant,) = made.placements[0].grants
    assert (grant.compute_percent, grant.memory_mib) == (10, 500), "its memory limit stays as asked"
    assert reasons(made)["r2"].code is ReasonCode.SHARED_OUT
    host = run(on("n0/0", alone=Alone.NODE), ask(1, 0, 0, host_cpu_milli=500, node_id="n0"), now=NOW)
    assert not host.placements, "nor work on its host alone"


@pytest.mark.req("PLAT-CLU-58")
def test_exclusive_work_waits_for_a_node_on_which_nothing_runs() -> None:
    made = run(on("n0/0"), ask(1, 10, alone=Alone.NODE), ask(2, 10, alone=Alone.NODE), now=NOW)
    assert on_nodes(made) == ["n1"]
    assert reasons(made)["r2"].code is ReasonCode.ALONE_NODE
    both = run(pool(2, 2), ask(1, 60, shares=4, alone=Alone.NODE))
    assert sorted(on_nodes(both)) == ["n0", "n0", "n1", "n1"], "several nodes, each its own"


@pytest.mark.req("PLAT-CLU-56", "PLAT-CLU-59", "PLAT-CLU-60")
def test_a_fifth_job_waits_where_four_may_share() -> None:
    made = run(pool(), *(ask(seq, 10, max_on_device=4) for seq in range(1, 6)))
    assert placed(made) == ["r1", "r2", "r3", "r4"]
    assert reasons(made)["r5"].code is ReasonCode.SHARED_OUT
    assert told(made, "r5") == "On each of the 1 suitable devices is as much work already as may share it."


@pytest.mark.req("PLAT-CLU-55", "PLAT-CLU-60")
def test_the_least_number_of_those_on_a_device_counts_for_whoever_comes() -> None:
    two = replace(pool(), running=on("n0/0", max_on_device=2).running)
    made = run(two, ask(1, 10), ask(2, 10), now=NOW)
    assert placed(made) == ["r1"], "work of a queue without a number counts too"
    assert placed(run(two, ask(1, 10, shares=2), now=NOW)) == [], "with all its shares, or not at all"
    assert placed(run(two, ask(1, 10, max_on_device=1), now=NOW)) == []
    assert placed(run(pool(), ask(1, 10, shares=3, max_on_device=2))) == [], (
        "a share is a job of its own here"
    )


@pytest.mark.req("PLAT-CLU-57")
@pytest.mark.parametrize(
    ("terms", "starts"), [({"max_on_device": 1}, True), ({"alone": Alone.DEVICE}, False)]
)
def test_beside_work_that_is_being_stopped_force_1_starts_and_no_does_not(terms: dict, starts: bool) -> None:
    snapshot = replace(pool(policy=PREEMPTS), running=on("n0/0", 30, **terms).running)
    victim = replace(snapshot.running[0], preemptible=True)
    asks = ask(1, 50, priority=9, **terms)
    first = run(replace(snapshot, running=(victim,)), asks, now=NOW)
    assert [each.running_id for each in first.preemptions] == ["w"]
    leaving = replace(snapshot, running=(replace(victim, preempted=True),), holds=first.nominated_holds)
    second = run(leaving, asks, now=NOW + 1)
    assert placed(second) == (["r1"] if starts else [])
    assert not second.preemptions
    assert placed(run(replace(leaving, running=()), asks, now=NOW + 2)) == ["r1"]


@pytest.mark.req("PLAT-CLU-54", "PLAT-CLU-58", "ELA-704")
@pytest.mark.parametrize("terms", [{"alone": Alone.DEVICE}, {"alone": Alone.NODE}, {"max_on_device": 1}])
def test_what_passes_such_work_does_not_delay_its_reserved_start(terms: dict) -> None:
    snapshot = replace(pool(1, 2), running=(holding("a", "n0/0", 20, ends_at_s=1_500),
                                            holding("b", "n0/1", 20, ends_at_s=9_000)))  # fmt: skip
    snapshot = replace(snapshot, running=snapshot.running if terms.get("alone") is not Alone.NODE else (
        snapshot.running[0],))  # fmt: skip
    pinned = ask(1, 10, device_id="n0/0", **terms)
    passing = [ask(seq, 10, device_id="n0/0", duration_s=span) for seq, span in ((2, 501), (3, 500))]
    made = run(snapshot, pinned, *passing, now=NOW)
    (hold,) = [
        each for each in made.holds if each.kind is HoldKind.RESERVED_START and each.request_id == "r1"
    ]
    assert hold.start_at_s == 1_500
    assert placed(made) == ["r3"]
    assert reasons(made)["r2"].code is ReasonCode.HELD_FOR_OTHERS


@pytest.mark.req("PLAT-CLU-54", "PLAT-CLU-58", "ELA-902")
@pytest.mark.parametrize(
    ("alone", "distinct", "others", "grown"),
    [
        (Alone.DEVICE, False, [], ["n0/0", "n0/0"]),
        (Alone.DEVICE, True, [], ["n0/1"]),
        (Alone.DEVICE, False, ["n0/0"], ["n0/1", "n0/1"]),
        (Alone.NODE, False, [], ["n0/0", "n0/1"]),
        (Alone.NODE, True, [], ["n0/1"]),
        (Alone.NODE, False, ["n0/1"], []),
    ],
)
def test_elastic_work_that_is_alone_grows_beside_itself(
    alone: Alone, distinct: bool, others: list[str], grown: list[str]
) -> None:
    asks = ask(1, 30, shares=3, min_shares=1, alone=alone, distinct_devices=distinct)
    (grant,) = holding("w", "n0/0", 30).grants
    work = RunningWorkload(
        "w", "acme", "q", (grant._replace(alone=alone),), shares=3, min_shares=1, asks=asks
    )
    beside = tuple(holding(f"o{i}", each, 10) for i, each in enumerate(others))
    warm = SchedulerState(replace(pool(1, 2), running=(work, *beside), policy=Policy(hysteresis_s=0)))
    made = plan_kept(warm, NOW, seed=1)
    assert sorted(each.device_id for change in made.resizes for each in change.grants) == grown
    assert plan_kept(warm, NOW, seed=1) == made, "it leaves all as it was"


@pytest.mark.req("PLAT-CLU-58")
def test_a_node_opens_again_when_its_one_job_has_gone() -> None:
    warm = SchedulerState(on("n0/0", alone=Alone.NODE))
    for seq, placing in enumerate(Placing):
        warm.request_put(ask(seq, 100, placing=placing, node_id="n0", local_node_id="n0"))
    assert not plan_kept(warm, NOW, seed=1).placements
    warm.running_drop("w")
    made = plan_kept(warm, NOW, seed=1)
    assert len(made.placements) == 2, "both its devices"
    assert made == plan_kept(SchedulerState(warm.snapshot()), NOW, seed=1)
