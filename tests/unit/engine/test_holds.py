"""Room that is kept: reserved starts, reservations, maintenance; and when work may start at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.scheduling.engine.model.types import (
    EtaBasis,
    HoldKind,
    Policy,
    Queue,
    ReasonCode,
    Reservation,
    RunHistory,
    Snapshot,
    Window,
)
from apps.scheduling.engine.simulate.eta import eta, offer
from tests.unit.engine.pools import ask, holding, placed, pool, reasons, run

NOW = 1_000


def busy(*ends: int | None, percent: int = 100, **more: Any) -> Snapshot:
    """As many single-card nodes as ends, each with work that ends then."""
    running = tuple(holding(f"w{i}", f"n{i}/0", percent, ends_at_s=end) for i, end in enumerate(ends))
    return replace(pool(len(ends)), running=running, **more)


@pytest.mark.req("ELA-704")
def test_the_head_gets_a_start_by_the_known_ends() -> None:
    made = run(busy(1_500, 1_700, None), ask(1, 100, shares=2), now=NOW)
    (hold,) = made.holds
    assert (hold.request_id, hold.start_at_s, hold.kind) == ("r1", 1_700, HoldKind.RESERVED_START)
    assert {grant.node_id for grant in hold.grants} == {"n0", "n1"}


@pytest.mark.req("ELA-704")
@pytest.mark.parametrize(("duration_s", "passes"), [(500, True), (501, False), (None, False)])
def test_what_would_delay_the_head_does_not_pass_it(duration_s: int | None, passes: bool) -> None:
    snapshot = busy(1_500, percent=60)
    made = run(snapshot, ask(1, 100), ask(2, 40, duration_s=duration_s), now=NOW)
    assert placed(made) == (["r2"] if passes else [])
    if not passes:
        assert reasons(made)["r2"].code is ReasonCode.HELD_FOR_OTHERS


@pytest.mark.req("ELA-704")
def test_what_the_head_leaves_over_may_be_used_across_its_start() -> None:
    snapshot = busy(1_500, percent=60)
    made = run(snapshot, ask(1, 70), ask(2, 20), ask(3, 11), ask(4, 10), now=NOW)
    assert placed(made) == ["r2", "r4"], "30 % are left beside the head, and no more"


@pytest.mark.req("ELA-704")
def test_other_devices_are_free_for_all() -> None:
    made = run(
        replace(busy(1_500, None), running=busy(1_500).running),
        ask(1, 100, node_id="n0"),
        ask(2, 100),
        now=NOW,
    )
    assert placed(made) == ["r2"]


@pytest.mark.req("ELA-704")
def test_a_large_one_starts_within_a_bound_under_a_stream_of_small_ones() -> None:
    snapshot = replace(pool(1, 4), policy=Policy(patience_s=None))
    running = tuple(holding(f"w{k}", f"n0/{k}", 100, ends_at_s=NOW + 100 * k + 100) for k in range(4))
    large, at, seq = ask(0, 100, shares=4, duration_s=100), NOW, 1
    while at < NOW + 1_000:
        smalls = [ask(seq + i, 100, duration_s=150) for i in range(3)]
        made = run(replace(snapshot, running=running), large, *smalls, now=at)
        if "r0" in placed(made):
            break
        started = tuple(
            holding(p.request_id, p.grants[0].device_id, 100, ends_at_s=at + 150) for p in made.placements
        )
        at, seq = at + 50, seq + 3
        running = tuple(work for work in (*running, *started) if (work.ends_at_s or 0) > at)
    assert at <= NOW + 400


@pytest.mark.parametrize("starts", [0, 1, 2])
def test_so_many_starts_are_reserved_in_a_queue(starts: int) -> None:
    snapshot = busy(1_500, 1_700, policy=Policy(reserved_starts=starts))
    made = run(snapshot, *(ask(i, 90 + i, duration_s=50) for i in range(4)), now=NOW)
    assert len(made.holds) == starts


# --- reservations -----------------------------------------------------------------------------------------------


def keep(**more: Any) -> Reservation:
    return Reservation(**{"id": "v", "from_s": 2_000, "to_s": 3_000, "tenant_id": "globex", **more})


@pytest.mark.req("ELA-305")
def test_what_is_reserved_is_used_by_its_holder_alone() -> None:
    snapshot = replace(pool(2), reservations=(keep(device_ids=frozenset({"n0/0"})),))
    now = 2_500
    made = run(snapshot, ask(1, 100), ask(2, 100), ask(3, 100, tenant_id="globex", duration_s=500), now=now)
    assert placed(made) == ["r1", "r3"]
    assert {p.request_id: p.grants[0].node_id for p in made.placements} == {"r1": "n1", "r3": "n0"}
    assert placed(run(snapshot, ask(1, 100), ask(2, 100), now=3_000)) == ["r1", "r2"], "it is over"


@pytest.mark.parametrize(("duration_s", "fits"), [(1_000, True), (1_001, False), (None, False)])
def test_before_it_begins_only_what_ends_in_time_starts(duration_s: int | None, fits: bool) -> None:
    snapshot = replace(pool(), reservations=(keep(device_ids=frozenset({"n0/0"})),))
    assert bool(run(snapshot, ask(1, 100, duration_s=duration_s), now=NOW).placements) is fits


def test_a_number_of_devices_is_reserved_where_the_least_runs() -> None:
    snapshot = replace(busy(None, None, None, percent=10), reservations=(keep(count=2, compute_percent=60),))
    snapshot = replace(snapshot, running=snapshot.running[:1])
    made = run(snapshot, *(ask(i, 50) for i in range(1, 5)), now=NOW)
    assert len(made.placements) == 1, "n0 takes one; of n1 and n2 60 % are kept"
    assert len(run(snapshot, *(ask(i, 40) for i in range(1, 5)), now=NOW).placements) == 4


def test_maintenance_keeps_everybody_off() -> None:
    closed = keep(tenant_id=None, closed=True, device_ids=frozenset({"n0/0"}))
    snapshot = replace(pool(), reservations=(closed,))
    for asked in (ask(1, 100), ask(1, 100, reservation_id="v")):
        assert not run(snapshot, asked, now=2_500).placements


def test_who_names_a_reservation_runs_there_or_is_told_why_not() -> None:
    snapshot = replace(pool(2), reservations=(keep(tenant_id=None, device_ids=frozenset({"n0/0"})),))
    made = run(snapshot, *(ask(i, 100, reservation_id="v", duration_s=100) for i in (1, 2)), now=2_500)
    assert placed(made) == ["r1"]
    assert made.placements[0].grants[0].device_id == "n0/0"
    early = reasons(run(snapshot, ask(1, 100, reservation_id="v"), now=NOW))["r1"]
    assert (early.code, early.get("wait_s")) == (ReasonCode.RESERVATION_CLOSED, 1_000)
    assert reasons(run(snapshot, ask(1, reservation_id="x")))["r1"].code is ReasonCode.RESERVATION_UNKNOWN


# --- when work may start at all ---------------------------------------------------------------------------------


@pytest.mark.req("PLAT-AICFG-31")
@pytest.mark.parametrize("of", ["queue", "request"])
@pytest.mark.parametrize(
    ("now", "duration_s", "wait_s"),
    [(100, 10, 100), (200, 100, 0), (200, 101, 300), (299, None, 0), (300, None, 200), (250, 51, 250)],
)
def test_work_starts_inside_the_windows_and_ends_before_they_do(
    of: str, now: int, duration_s: int | None, wait_s: int
) -> None:
    windows = (Window(200, 300), Window(500, 900))
    snapshot = replace(pool(), queues=(Queue("q", windows=windows if of == "queue" else ()),))
    made = run(snapshot, ask(1, duration_s=duration_s, windows=windows if of == "request" else ()), now=now)
    assert bool(made.placements) is (wait_s == 0)
    if wait_s:
        assert reasons(made)["r1"].code is ReasonCode.OUTSIDE_WINDOW
        assert reasons(made)["r1"].get("wait_s") == wait_s


def test_no_window_any_more_is_told_for_good() -> None:
    made = run(replace(pool(), queues=(Queue("q", windows=(Window(0, 10),)),)), ask(1), now=10)
    assert reasons(made)["r1"].code is ReasonCode.WINDOWS_OVER
    assert made.refusals[0].permanent


def test_an_earliest_start_is_waited_for_and_a_deadline_is_kept() -> None:
    early = run(pool(), ask(1, earliest_start_s=NOW + 1), now=NOW)
    assert (reasons(early)["r1"].code, early.refusals[0].permanent) == (ReasonCode.TOO_EARLY, False)
    assert placed(run(pool(), ask(1, earliest_start_s=NOW), now=NOW)) == ["r1"]
    for deadline_s, duration_s, late in ((NOW + 50, 51, 1), (NOW - 7, None, 7)):
        made = run(pool(), ask(1, deadline_s=deadline_s, duration_s=duration_s), now=NOW)
        assert (reasons(made)["r1"].code, reasons(made)["r1"].get("late_s")) == (
            ReasonCode.DEADLINE_PAST,
            late,
        )
        assert made.refusals[0].permanent
    assert placed(run(pool(), ask(1, deadline_s=NOW + 50, duration_s=50), now=NOW)) == ["r1"]


@pytest.mark.req("ELA-507")
@pytest.mark.parametrize(
    "wishes",
    [
        {"device_id": "n0/0", "shares": 2, "distinct_devices": True},
        {"affinity": "a", "anti_affinity": "a"},
        {"earliest_start_s": 2_000, "deadline_s": 2_050, "duration_s": 51},
    ],
)
def test_wishes_that_exclude_each_other_are_refused_at_once(wishes: dict[str, Any]) -> None:
    made = run(pool(2), ask(1, **wishes), now=NOW)
    assert reasons(made)["r1"].code is ReasonCode.CONTRADICTION
    assert made.refusals[0].permanent


# --- expected starts --------------------------------------------------------------------------------------------

HISTORY = (RunHistory(100, 600, 2_000), RunHistory(50, 300, 500, tenant_id="acme"))


def test_unknown_ends_are_guessed_by_history_with_an_interval() -> None:
    snapshot = busy(None, history=HISTORY)
    snapshot = replace(snapshot, running=tuple(replace(work, started_at_s=NOW) for work in snapshot.running))
    told = eta(snapshot, ask(1), now=NOW)
    assert (told.start_at_s, told.basis) == (NOW + 300, EtaBasis.HISTORY)
    assert (told.earliest_s, told.latest_s) == (NOW + 50, NOW + 500)


def test_a_known_end_is_the_latest_and_history_says_how_much_earlier_it_may_be() -> None:
    told = eta(busy(1_500, history=(RunHistory(1_200, 1_300, 9_999),)), ask(1), now=NOW)
    assert (told.start_at_s, told.basis) == (1_500, EtaBasis.KNOWN_ENDS)
    assert (told.earliest_s, told.latest_s) == (1_200, 1_500)


def test_a_dry_run_offers_what_could_start_now() -> None:
    snapshot = replace(busy(1_500, percent=40), policy=Policy(reserved_starts=0))
    told = offer(snapshot, ask(1, 90), now=NOW)
    assert (told.eta.start_at_s, told.percent_now, told.shares_now) == (1_500, 60, 0)
    gang = offer(replace(pool(2), running=snapshot.running), ask(1, 70, shares=2), now=NOW)
    assert (gang.percent_now, gang.shares_now) == (60, 1)
    free = offer(pool(2), ask(1, 70, shares=2), now=NOW)
    assert (free.eta.basis, free.percent_now, free.shares_now) == (EtaBasis.FREE_NOW, 70, 2)
