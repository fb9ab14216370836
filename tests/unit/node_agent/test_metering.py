"""Whole, contiguous, vouched seconds; and shares that come out exactly."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.runtime.records.meter import GAP_NS, NS, Meter, Span
from node_agent.runtime.records.usage_journal import JournalReader, JournalWriter
from node_agent.runtime.shim.sharing.throttle import Throttle

pytestmark = pytest.mark.req("PLAT-OPS-22")
T0 = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)


def run(meter: Meter, steps_ns: list[int]) -> tuple[list[Span], int]:
    now_ns, spans = 1000, []
    for step_ns in steps_ns:
        now_ns += step_ns
        span = meter.see(now_ns)
        spans += [span] if span else []
    last = meter.close(now_ns)
    return spans + ([last] if last else []), now_ns


@given(st.lists(st.integers(1, GAP_NS), max_size=60), st.integers(1, 7))
def test_spans_are_whole_contiguous_and_complete(steps_ns: list[int], period_s: int) -> None:
    spans, end_ns = run(Meter(T0, 1000, period_s=period_s, run_timeout_s=None), steps_ns)
    assert sum(span.seconds for span in spans) == (end_ns - 1000) // NS
    assert all(earlier.end_at == later.start_at for earlier, later in pairwise(spans))
    assert not spans or spans[0].start_at == T0


@given(st.lists(st.integers(1, 3 * GAP_NS), max_size=60), st.integers(1, 40))
def test_no_more_than_the_run_time_is_metered_and_no_gap_counts(steps_ns: list[int], timeout_s: int) -> None:
    spans, _ = run(Meter(T0, 1000, period_s=5, run_timeout_s=timeout_s), steps_ns)
    watched_ns = sum(step for step in steps_ns if step <= GAP_NS)
    assert sum(span.seconds for span in spans) <= min(timeout_s, watched_ns // NS)
    assert all(earlier.end_at <= later.start_at for earlier, later in pairwise(spans))


def test_an_overrun_ends_at_exactly_the_run_time() -> None:
    meter = Meter(T0, 0, period_s=5, run_timeout_s=7)
    assert [meter.see(second * NS) for second in range(1, 6)] == [None] * 4 + [Span(T0, 5)]
    assert meter.remaining_ns(7 * NS + 12345) == -12345
    assert meter.close(8 * NS) == Span(T0 + timedelta(seconds=5), 2)
    assert meter.is_used_up
    assert meter.close(9 * NS) is None


def test_after_a_gap_the_next_span_starts_after_it() -> None:
    meter = Meter(T0, 0, period_s=5, run_timeout_s=None)
    assert meter.see(2 * NS + 5) is None
    assert meter.see(62 * NS) == Span(T0, 2)
    assert meter.see(64 * NS) is None
    assert meter.close(64 * NS) == Span(T0 + timedelta(seconds=62), 2)


@given(st.integers(1, 100), st.integers(0, 10_000))
def test_duty_cycle_gives_the_share(percent: int, seed: int) -> None:
    """A work that always wants one core of a one-core device, looked at late by up to 5 ms."""
    chance = random.Random(seed)
    throttle = Throttle(percent, speed=1.0, now_s=0.0, used_s=0.0)
    now_s = used_s = 0.0
    while now_s < 30:
        verdict = throttle.step(now_s, used_s)
        passed_s = verdict.ask_again_s + chance.random() * 0.005
        now_s += passed_s
        used_s += passed_s if verdict.may_run else 0.0
    assert abs(100 * used_s / now_s - percent) < 1


def test_unused_share_is_not_saved_up() -> None:
    throttle = Throttle(10, speed=1.0, now_s=0.0, used_s=0.0)
    for second in range(1, 100):
        assert throttle.step(float(second), 0.0).may_run
    assert not throttle.step(99.02, 0.02).may_run


def write(path: Path, count: int) -> JournalWriter:
    writer = JournalWriter(path)
    for index in range(count):
        span = Span(T0 + timedelta(seconds=index), 1)
        writer.append(span, compute_percent=5, memory_mib=9, cpu_seconds=0.5, memory_peak_mib=3, final=False)
    return writer


def test_the_journal_is_followed_acknowledged_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    reader = JournalReader(path)
    reader.poll()
    assert reader.last_seq == 0
    write(path, 5)
    reader.poll()
    assert [segment.seq for segment in reader.after(0, 3)] == [1, 2, 3]
    assert [segment.seq for segment in reader.after(4, 9)] == [5]
    assert (reader.after(5, 9), reader.last_seq) == ((), 5)
    assert reader.after(99, 9) == ()
    assert [segment.seq for segment in reader.after(1, 9)] == [2, 3, 4, 5]


@pytest.mark.parametrize("torn", [b'{"seq":3,"start', b"\xff\xfe\n", b"null\n", b'{"seq":9}\n'])
def test_a_torn_or_senseless_line_is_not_vouched_for(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, 2)
    with path.open("ab") as file:
        file.write(torn)
    reader = JournalReader(path)
    reader.poll()
    reader.poll()
    assert reader.last_seq == 2
    assert [segment.seq for segment in reader.after(0, 9)] == [1, 2]


@given(st.integers(1, 100), st.integers(0, 10_000))
def test_a_work_in_fits_and_starts_gets_no_more_than_its_share_and_costs_few_looks(
    percent: int, seed: int
) -> None:
    """Rests and works by turns of seconds; over any turn it gets its share and one burst at most."""
    chance = random.Random(seed)
    throttle = Throttle(percent, speed=2.0, now_s=0.0, used_s=0.0)
    now_s = used_s = 0.0
    for turn in range(4):
        began_s, began_used_s, looks = now_s, used_s, 0
        while now_s < began_s + 10:
            verdict = throttle.step(now_s, used_s)
            passed_s = verdict.ask_again_s + chance.random() * 0.005
            now_s += passed_s
            used_s += 2 * passed_s if turn % 2 and verdict.may_run else 0.0
            looks += 1
        if turn % 2:
            got = 100 * (used_s - began_used_s) / (now_s - began_s)
            assert percent - 1 < got < percent + 2.5
        else:
            assert looks < 300


def test_what_is_given_more_time_runs_on_and_never_less_than_it_ran() -> None:
    meter = Meter(T0, 0, period_s=60, run_timeout_s=10)
    meter.extend(25)
    assert (meter.run_timeout_s, meter.remaining_ns(12 * NS)) == (25, 13 * NS)
    for second in range(1, 13):
        meter.see(second * NS)
    span = meter.close(12 * NS)
    assert span is not None
    meter.extend(5)
    assert (meter.run_timeout_s, meter.is_used_up) == (12, True)
