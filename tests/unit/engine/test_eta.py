"""The expected start shown before submitting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.scheduling.engine.model.types import (
    Eta,
    EtaBasis,
    Limit,
    Policy,
    Queue,
    QueueState,
    Quota,
    ReasonCode,
    Request,
    Snapshot,
)
from apps.scheduling.engine.simulate.eta import STEPS, eta
from tests.unit.engine.pools import ask, holding, pool

NOW = 1_000


def quote(snapshot: Snapshot, request: Request, *waiting: Request) -> tuple[int | None, EtaBasis]:
    """Start and basis, with these requests already waiting."""
    told = eta(replace(snapshot, requests=waiting), request, now=NOW)
    return told.start_at_s, told.basis


def busy(*ends: int | None, percent: int = 100) -> Snapshot:
    """As many single-card nodes as ends, each with work that ends then."""
    running = tuple(holding(f"w{i}", f"n{i}/0", percent, ends_at_s=end) for i, end in enumerate(ends))
    return replace(pool(len(ends)), running=running)


def test_free_now() -> None:
    assert eta(pool(), ask(1), now=NOW) == Eta(NOW, EtaBasis.FREE_NOW)


def test_it_starts_when_the_first_card_is_free() -> None:
    told = eta(busy(1_900, 1_500, None), ask(1), now=NOW)
    assert (told.start_at_s, told.basis) == (1_500, EtaBasis.KNOWN_ENDS)
    assert told.reason is not None
    assert told.reason.code is ReasonCode.COMPUTE_PERCENT


def test_several_shares_wait_for_the_last_they_need() -> None:
    assert quote(busy(1_900, 1_500, 1_700), ask(1, 100, shares=2)) == (1_700, EtaBasis.KNOWN_ENDS)


def test_those_before_it_go_first_and_give_back_in_their_time() -> None:
    ahead = ask(1, 100, duration_s=300)
    assert quote(busy(1_500), ask(2, 100), ahead) == (1_800, EtaBasis.KNOWN_ENDS)


def test_those_before_it_without_a_known_end_leave_no_estimate() -> None:
    assert quote(busy(1_500), ask(2, 100), ask(1, 100)) == (None, EtaBasis.UNKNOWN_ENDS)


def test_a_smaller_one_may_pass_those_before_it() -> None:
    snapshot = replace(busy(1_500, 2_500, percent=60))
    small = ask(2, 40, duration_s=300)
    assert quote(snapshot, small, ask(1, 100, shares=2)) == (NOW, EtaBasis.FREE_NOW)


@pytest.mark.req("ELA-704")
def test_a_smaller_one_that_would_delay_those_before_it_waits() -> None:
    snapshot = replace(busy(1_500, 2_500, percent=60))
    for small in (ask(2, 40), ask(2, 40, duration_s=1_501)):
        told = eta(replace(snapshot, requests=(ask(1, 100, shares=2, duration_s=60),)), small, now=NOW)
        assert told.reason is not None
        assert told.reason.code is ReasonCode.HELD_FOR_OTHERS


def test_a_waiting_request_is_not_counted_twice() -> None:
    waiting = ask(1, 60)
    assert quote(busy(1_500), waiting, waiting) == (1_500, EtaBasis.KNOWN_ENDS)


def test_work_past_its_end_counts_as_ending_now() -> None:
    assert quote(busy(NOW - 50), ask(1)) == (NOW, EtaBasis.KNOWN_ENDS)


def test_a_quota_frees_with_the_work_that_uses_it() -> None:
    snapshot = replace(busy(1_500, percent=10), tenant_quotas=(("acme", Quota(nominal=Limit(shares=1))),))
    assert quote(snapshot, ask(1, 10)) == (1_500, EtaBasis.KNOWN_ENDS)


@pytest.mark.parametrize(
    ("snapshot", "request_", "basis"),
    [
        (busy(None), ask(1), EtaBasis.UNKNOWN_ENDS),
        (busy(1_500), ask(1, 100, shares=2), EtaBasis.NEVER_FITS),
        (busy(1_500), ask(1, model="none"), EtaBasis.NEVER_FITS),
        (busy(1_500), ask(1, queue_id="none"), EtaBasis.NEVER_FITS),
        (busy(1_500), ask(1, 0), EtaBasis.NEVER_FITS),
        (replace(pool(), queues=(Queue("q", tenants=frozenset()),)), ask(1), EtaBasis.NEVER_FITS),
        (replace(pool(), queues=(Queue("q", state=QueueState.DOWN),)), ask(1), EtaBasis.QUEUE_STOPPED),
        (
            replace(pool(), devices=tuple(replace(d, healthy=False) for d in pool().devices)),
            ask(1),
            EtaBasis.NEEDS_REPAIR,
        ),
    ],
)
def test_no_promise_without_ground(snapshot: Snapshot, request_: Request, basis: EtaBasis) -> None:
    told = eta(snapshot, request_, now=NOW)
    assert (told.start_at_s, told.basis) == (None, basis)
    assert told.reason is not None


def test_patience_holds_the_line_for_a_large_head() -> None:
    """Small work that would pass the head for ever does not, once the head has waited long enough."""
    snapshot = replace(busy(1_500, 1_600), policy=Policy(patience_s=0))
    smalls = [ask(i, 100, duration_s=500) for i in range(2, 6)]
    assert quote(snapshot, ask(1, 100, shares=2), *smalls) == (1_600, EtaBasis.KNOWN_ENDS)
    eager = replace(snapshot, policy=Policy(patience_s=None, reserved_starts=0))
    assert quote(eager, ask(1, 100, shares=2), *smalls) != (1_600, EtaBasis.KNOWN_ENDS)


def test_many_ends_are_taken_together_and_the_promise_is_late_not_early() -> None:
    ends = [NOW + 10 * i for i in range(1, 641)]
    start, basis = quote(busy(*ends), ask(1, 100, shares=101))
    assert basis is EtaBasis.KNOWN_ENDS
    assert start is not None
    exact = ends[100]
    assert exact <= start <= exact + 10 * (len(ends) // STEPS + 1)
