"""What the questions of the page of statistics cost over a week, with a year of 350,000 workloads behind it.

    make bench ARGS="-k statistics -s"

Each workload has three shares and three steps on its time line: 1,050,000 of both. The database does each question in
one process here, so that its processor time is told whole.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from django.db import connection

from apps.console.reports import questions
from apps.console.reports.base import Period, period
from apps.console.reports.stretches import stretches
from apps.fleet.models import Device
from apps.scheduling.models import Allocation, Decision, Workload
from tests.apps.scheduling.pool import node_make, submit
from tests.harness.copied_rows import copied

pytestmark = pytest.mark.django_db
ROWS, HELD, EACH, ROUNDS, MOST_S = 350_000, 300, 3, 5, 0.5
_AGO = "now() - n * interval '90 seconds'"
_BROKEN = "n % 10 = 0"


class Spent(NamedTuple):
    """Seconds: on the clock, of the portal's processor, of the database's; the best of some rounds."""

    wall_s: float
    own_s: float
    database_s: float


def year_make(acme) -> None:
    """A year of work, the newest of which runs still."""
    node_make()
    origin = submit(acme)
    copied(
        origin, f"generate_series(1, {ROWS}) AS n", uid="gen_random_uuid()", order_uid="gen_random_uuid()",
        no="'W-' || 1000000 + n", client_key="''", created_at=_AGO, started_at=f"{_AGO} + interval '60 seconds'",
        ended_at=f"CASE WHEN n > {HELD} THEN {_AGO} + interval '3 hours' END",
        state=f"CASE WHEN n <= {HELD} THEN 'running' WHEN {_BROKEN} THEN 'failed' ELSE 'finished' END",
        reason_code=f"CASE WHEN n > {HELD} AND {_BROKEN} THEN 'crashed' ELSE '' END",
    )  # fmt: skip
    share = Allocation.objects.create(
        workload=origin,
        device=Device.objects.earliest("pk"),
        compute_percent=10,
        memory_mib=64,
        slice_uid=uuid4(),
    )
    each = (
        f"(SELECT * FROM scheduling_workload WHERE started_at IS NOT NULL) w, generate_series(1, {EACH}) AS n"
    )
    copied(
        share, each, workload_id="w.id", slice_uid="gen_random_uuid()", created_at="w.started_at",
        released_at="w.ended_at", state="CASE WHEN w.ended_at IS NULL THEN 'active' ELSE 'released' END",
    )  # fmt: skip
    step = Decision.objects.create(workload=origin, kind="submitted")
    copied(
        step, each, workload_id="w.id", kind="(ARRAY['submitted','waiting','started'])[n]",
        code="(ARRAY['','compute_percent',''])[n]",
        at="w.created_at + (ARRAY[0, 10, 60])[n] * interval '1 second'",
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE scheduling_workload, scheduling_allocation, scheduling_decision")
        cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")


def asked(over: Period) -> dict[str, Callable[[], object]]:
    """The questions whose answers are read of work."""
    cut = stretches(over)
    return {
        "used, and by whom": lambda: questions.use_read(over, cut),
        "waited": lambda: questions.waited_read(over),
        "failed": lambda: questions.failed_read(over),
    }


def spent(ask: Callable[[], object]) -> Spent:
    """What a question costs."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        served_by = cursor.fetchone()[0]
    found = []
    for _round in range(ROUNDS):
        begun = time.perf_counter(), time.process_time(), _processor_s(served_by)
        ask()
        ended = time.perf_counter(), time.process_time(), _processor_s(served_by)
        found.append([end - begin for begin, end in zip(begun, ended, strict=True)])
    return Spent(*(min(part) for part in zip(*found, strict=True)))


def _processor_s(process: int) -> float:
    """Seconds of processor time that a process of this machine has had, to a hundredth."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_week_costs_a_week(acme) -> None:
    year_make(acme)
    found = {name: spent(ask) for name, ask in asked(period()).items()}
    print(f"\n{'question':20} {'wall':>9} {'own':>9} {'database':>9}")
    for name, each in found.items():
        print(f"{name:20}", *(f"{seconds * 1000:6.0f} ms" for seconds in each))
    assert Workload.plain.count() > ROWS
    assert max(each.own_s + each.database_s for each in found.values()) < MOST_S
